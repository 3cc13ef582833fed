"""A guest that lives as in the local sandbox, without one.

The host reads descriptors 1 and 2, an interrupt comes with a signal, and descriptors that model code has
closed come back from a process that holds them: here one that was forked before the first block.
"""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import sys
import tempfile

import adk_code_mode_sandbox._rpc_client as stubs
from codehatch_guest import session, tools_import
from codehatch_guest.channel import Channel
from codehatch_guest.streams import Streams


def hold(path: str, fds: list[int]) -> None:
    """Fork a process that gives ``fds`` to whoever connects, for as long as this one lives."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen()
    alive, ours = os.pipe()
    child = os.fork()
    if child == 0:
        # A grandchild holds, so that model code has no children but its own.
        if os.fork():
            os._exit(0)
    else:
        os.waitpid(child, 0)
        listener.close()
        os.close(alive)
        # Out of reach of what the tests close.
        fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 2000)
        os.close(ours)
        return
    os.close(ours)
    while True:
        readable, _, _ = select.select([alive, listener], [], [])
        if alive in readable:
            os._exit(0)
        peer, _ = listener.accept()
        with peer:
            peer.sendmsg([b"!"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("3i", *fds))])


def main() -> None:
    control = int(os.environ["ADK_CODE_MODE_CONTROL_FD"])
    tools = os.environ["ADK_CODE_MODE_TOOLS_DIR"]
    path = os.path.join(tempfile.mkdtemp(dir=os.environ["HOME"]), "holder")
    hold(path, [control, 1, 2])

    def take() -> tuple[int, int, int]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as holder:
            holder.connect(path)
            _, ancillary, _, _ = holder.recvmsg(1, socket.CMSG_SPACE(12))
        return struct.unpack("3i", ancillary[0][2][:12])

    def restore_control() -> int:
        fd, out, err = take()
        os.close(out)
        os.close(err)
        return fd

    def restore_streams() -> None:
        fd, out, err = take()
        os.close(fd)
        for target, source in ((1, out), (2, err)):
            if source != target:
                os.dup2(source, target)
                os.close(source)

    os.set_inheritable(control, False)
    os.chdir(os.environ["ADK_CODE_MODE_WORKDIR"])
    sys.path.append(os.getcwd())
    channel = Channel(control, control, restore_control)
    stubs.install(channel)
    streams = Streams(restore_streams)
    tools_import.install(tools)
    tools_import.publish(tools_import.find(tools))
    channel.send(session.ready_frame())
    session.Session(channel, streams).run()
    os._exit(0)


if __name__ == "__main__":
    main()
