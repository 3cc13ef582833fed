"""Runs inside a sandbox: tries what must not be possible, and tells what it saw."""

import ctypes
import errno
import os
import resource
import site
import socket
import sys

libc = ctypes.CDLL(None, use_errno=True)
tried = {}


def attempt(what, action):
    try:
        action()
        tried[what] = None
    except OSError as error:
        tried[what] = errno.errorcode.get(error.errno, str(error.errno))


def system_call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


attempt("write to /usr", lambda: open("/usr/codehatch-probe", "w"))
attempt("read the host's /etc/shadow", lambda: open("/etc/shadow"))
attempt("write outside, where the kernel would allow it", lambda: open("/proc/self/comm", "w"))
attempt("open an internet socket", lambda: socket.socket(socket.AF_INET))
attempt("mount", lambda: system_call("mount", b"none", b"/tmp", b"tmpfs", 0, None))
attempt("unshare", lambda: system_call("unshare", 0x10000000))


def is_unreadable(place):
    try:
        os.listdir(place)
    except PermissionError:
        return True
    except OSError:
        pass
    return False


status = dict(line.split(":\t", 1) for line in open("/proc/self/status") if ":\t" in line)
names = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
{
    "uid": os.getuid(),
    "capabilities": status["CapEff"].strip(),
    "no_new_privileges": status["NoNewPrivs"].strip() == "1",
    "seccomp": int(status["Seccomp"]),
    "namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in names},
    "tried": tried,
    "processes_seen": sum(name.isdigit() for name in os.listdir("/proc")),
    "processes_limit": resource.getrlimit(resource.RLIMIT_NPROC)[0],
    "memory_limit": resource.getrlimit(resource.RLIMIT_DATA)[0],
    "environment": sorted(os.environ),
    "unreadable": sorted(filter(is_unreadable, {*sys.path, *site.getsitepackages()})),
}
