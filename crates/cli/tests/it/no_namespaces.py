"""Runs a program under a seccomp filter that refuses new namespaces, as container runtimes do.

Usage: no_namespaces.py PROGRAM [ARGUMENT …]. Standard library only.
"""

import ctypes
import os
import platform
import struct
import sys

# unshare, clone and clone3.
UNSHARE, CLONE, CLONE3 = {"x86_64": (272, 56, 435), "aarch64": (97, 220, 435)}[platform.machine()]
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
NAMESPACES = 0x7E020000
LOAD, EQUAL, ANY_SET, RETURN = 0x20, 0x15, 0x45, 0x06
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22
NUMBER, FIRST_ARGUMENT = 0, 16


def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    """One instruction of the kernel's `struct sock_filter`."""
    return struct.pack("HBBI", code, yes, no, value)


PROGRAM = [
    step(LOAD, NUMBER),
    step(EQUAL, UNSHARE, yes=5),
    # Its flags are in memory, where a filter cannot look.
    step(EQUAL, CLONE3, yes=5),
    step(EQUAL, CLONE, no=2),
    step(LOAD, FIRST_ARGUMENT),
    step(ANY_SET, NAMESPACES, yes=1),
    step(RETURN, ALLOW),
    step(RETURN, EPERM),
    step(RETURN, ENOSYS),
]


class Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_void_p))


def main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    program = ctypes.create_string_buffer(b"".join(PROGRAM))
    loaded = Filter(len(PROGRAM), ctypes.addressof(program))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no new privileges")
    if libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(loaded), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    os.execv(sys.argv[1], sys.argv[1:])


main()
