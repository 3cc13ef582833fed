"""A small host for tests: starts a real guest process and talks to it as a host does."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parent / "src"
ROOT = HERE.parents[2]
if str(SOURCES) not in sys.path:
    sys.path.insert(0, str(SOURCES))

# Seconds that anything may take which takes milliseconds; the machine may be slow, a test may not hang.
PATIENCE = 60.0

Json = Any
Answer = Callable[[str, dict[str, Json]], Json]


class Failing(Exception):
    """Raised by a test's tool: the call is answered with this error."""

    def __init__(self, **error: Json) -> None:
        super().__init__(error)
        self.error = error


@dataclass
class Block:
    """What a host has heard of one block when it is over."""

    exit_code: int = 0
    background_work: bool = False
    stdout: str = ""
    stderr: str = ""
    result: Json = None
    images: list[dict[str, Json]] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Json]]] = field(default_factory=list)


def echo(name: str, args: dict[str, Json]) -> Json:
    """The tool that most tests call: gives back what it got."""
    return {"name": name, "args": args}


CANCELLED = {"type": "Cancelled", "message": "the code was stopped"}


def cancel(name: str, args: dict[str, Json]) -> Json:
    """Every tool, while a block is being stopped."""
    raise Failing(**CANCELLED)


class Guest:
    """A guest process and the host's end of its channel.

    ``kind`` is ``standalone``, for ``python -m codehatch_guest``, or ``piped``: as in the local sandbox,
    where the host reads descriptors 1 and 2, an interrupt comes with a signal, and closed descriptors are
    given back.
    """

    def __init__(
        self,
        kind: str = "standalone",
        tools: Path | None = None,
        connect: str = "fd",
        environment: dict[str, str] | None = None,
        cwd: str | None = None,
        module: str = "codehatch_guest",
        ready: bool = True,
    ) -> None:
        self.kind = kind
        self.directory = Path(tempfile.mkdtemp(prefix="guest-"))
        self.workspace = self.directory / "workspace"
        self.workspace.mkdir()
        self.tools = tools or self.directory / "no-tools"
        self.answer: Answer = echo
        self.seen: list[str] = []
        self._received = bytearray()
        self._block = Block()
        self._pending: dict[str, dict[str, Json]] = {}
        self._pipes: dict[int, bytearray] = {}
        self._open: list[int] = []
        self.token = ""
        try:
            self._start(connect, environment or {}, cwd, module)
            self.ready = self.expect("ready") if ready else {}
        except BaseException:
            self.close()
            raise

    # Life.

    def _start(self, connect: str, extra: dict[str, str], cwd: str | None, module: str) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.directory),
            "PYTHONPATH": str(SOURCES),
            "LC_ALL": "C.UTF-8",
            "ADK_CODE_MODE_TOOLS_DIR": str(self.tools),
            "ADK_CODE_MODE_WORKDIR": str(self.workspace),
            **extra,
        }
        keep: list[socket.socket] = []
        listener: socket.socket | None = None
        if connect == "tcp":
            listener = socket.create_server(("127.0.0.1", 0))
            environment["ADK_CODE_MODE_CONTROL_TCP"] = f"127.0.0.1:{listener.getsockname()[1]}"
            environment["ADK_CODE_MODE_CONTROL_TOKEN"] = "a-secret-token"
        elif connect == "unix":
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            path = str(self.directory / "control")
            listener.bind(path)
            listener.listen()
            environment["ADK_CODE_MODE_CONTROL_SOCKET"] = path
        else:
            self.connection, inner = socket.socketpair()
            keep.append(inner)
            environment["ADK_CODE_MODE_CONTROL_FD"] = str(inner.fileno())
        if self.kind == "piped":
            command = [sys.executable, "-s", str(HERE / "piped_guest.py")]
        else:
            command = [sys.executable, "-s", "-m", module]
        self.process = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd or str(self.directory),
            pass_fds=[inner.fileno() for inner in keep],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._pipes[stream.fileno()] = bytearray()
        self._open = list(self._pipes)
        for inner in keep:
            inner.close()
        if listener is not None:
            with listener:
                listener.settimeout(PATIENCE)
                self.connection, _ = listener.accept()
            if connect == "tcp":
                while b"\n" not in self._received:
                    self._receive(time.monotonic() + PATIENCE)
                line, _, rest = bytes(self._received).partition(b"\n")
                self.token = line.decode()
                self._received = bytearray(rest)

    def close(self) -> None:
        """End the guest and everything that it started."""
        connection = getattr(self, "connection", None)
        if connection is not None:
            connection.close()
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(PATIENCE)
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def wait_exit(self) -> int:
        """The exit code, once the guest has ended; negative for a signal."""
        assert self.process is not None
        deadline = time.monotonic() + PATIENCE
        ended = os.pidfd_open(self.pid)
        try:
            while not self._read_pipes(deadline, ended):
                if time.monotonic() > deadline:
                    raise AssertionError(f"the guest does not end; {self.describe()}")
        finally:
            os.close(ended)
        return self.process.wait(PATIENCE)

    def real_output(self) -> tuple[str, str]:
        """What the process has written to its own stdout and stderr and no block has taken."""
        self._read_pipes(0)
        out, err = (bytes(buffer).decode("utf-8", "replace") for buffer in self._pipes.values())
        return out, err

    def describe(self) -> str:
        """What was seen, for a test that fails."""
        out, err = self.real_output()
        assert self.process is not None
        state = self.process.poll()
        lines = "\n".join(line[:500] for line in self.seen[-20:])
        return (
            f"exit status: {state}\nframes:\n{lines}\nnot a whole frame: {bytes(self._received)[:500]!r}"
            f"\nstdout: {out[-2000:]}\nstderr: {err[-4000:]}"
        )

    # Frames.

    def send(self, frame: dict[str, Json]) -> None:
        self.send_line(json.dumps(frame).encode())

    def send_line(self, line: bytes) -> None:
        self.send_bytes(line + b"\n")

    def send_bytes(self, data: bytes) -> None:
        view = memoryview(data)
        deadline = time.monotonic() + PATIENCE
        while view:
            # The guest may be writing too: whoever only writes can wait for ever.
            readable, writable, _ = select.select(
                [self.connection, *self._open], [self.connection], [], PATIENCE
            )
            if not writable and time.monotonic() > deadline:
                raise AssertionError(f"the guest does not read; {self.describe()}")
            if readable:
                self._receive(time.monotonic(), None)
            if writable:
                view = view[self.connection.send(view, socket.MSG_DONTWAIT) :]

    def _receive(self, deadline: float, waiting_for: str | None = "anything") -> bool:
        """Take what has arrived, on the channel and on the pipes. False at the end of the channel."""
        timeout = max(0.0, deadline - time.monotonic())
        readable, _, _ = select.select([self.connection, *self._open], [], [], timeout)
        if not readable and waiting_for is not None:
            raise AssertionError(f"waited for {waiting_for}; {self.describe()}")
        for fd in readable:
            if isinstance(fd, int):
                self._read_pipe(fd)
                continue
            try:
                data = self.connection.recv(1 << 20)
            except ConnectionResetError:
                data = b""
            if not data:
                return False
            self._received += data
        return True

    def _read_pipes(self, deadline: float, other: int | None = None) -> bool:
        """Take what is in the pipes. Whether ``other`` has become readable."""
        timeout = max(0.0, deadline - time.monotonic())
        fds = self._open if other is None else [*self._open, other]
        readable, _, _ = select.select(fds, [], [], timeout)
        for fd in readable:
            if fd != other:
                self._read_pipe(fd)
        return other in readable

    def _read_pipe(self, fd: int) -> None:
        with contextlib.suppress(BlockingIOError):
            data = os.read(fd, 1 << 20)
            self._pipes[fd] += data
            if not data:
                # A closed pipe is always readable, and would keep others from waiting.
                self._open.remove(fd)

    def next_line(self, waiting_for: str = "a line", patience: float = PATIENCE) -> bytes:
        """The next line that is not blank, which hosts skip."""
        deadline = time.monotonic() + patience
        line = b""
        while not line:
            at = 0
            while (end := self._received.find(b"\n", at)) < 0:
                at = len(self._received)
                if not self._receive(deadline, waiting_for):
                    raise AssertionError(
                        f"the channel ended before {waiting_for}; {self.describe()}"
                    )
            line = bytes(self._received[:end])
            del self._received[: end + 1]
        self.seen.append(line[:2000].decode("utf-8", "replace"))
        return line

    def next_frame(
        self, waiting_for: str = "a frame", patience: float = PATIENCE
    ) -> dict[str, Json]:
        frame = json.loads(self.next_line(waiting_for, patience))
        if not isinstance(frame, dict):
            raise AssertionError(f"not an object: {self.seen[-1][:500]}")
        return frame

    def expect(self, kind: str, patience: float = PATIENCE) -> dict[str, Json]:
        frame = self.next_frame(f"a frame {kind!r}", patience)
        if frame["kind"] != kind:
            raise AssertionError(f"expected {kind!r}, got {frame}; {self.describe()}")
        return frame

    def wait_closed(self) -> None:
        """Wait until the guest has closed the channel, whatever it still sends."""
        deadline = time.monotonic() + PATIENCE
        while self._receive(deadline, "the end of the channel"):
            self._received.clear()

    # Blocks.

    def start(self, code: str, extensions: Any = ("result", "image")) -> None:
        """Send a block."""
        self._block = Block()
        self._pending = {}
        frame: dict[str, Json] = {"code": textwrap.dedent(code), "kind": "run"}
        if extensions:
            frame["extensions"] = list(extensions)
        self.send(frame)

    def next_call(self) -> dict[str, Json]:
        """The next call, unanswered."""
        call = self.expect("tool_call")
        self._block.calls.append((call["name"], call["args"]))
        self._pending[call["id"]] = call
        return call

    def reply(self, call: dict[str, Json], value: Json = None) -> None:
        self._pending.pop(call["id"], None)
        self.send(
            {"id": call["id"], "ok": True, "value": value, "error": None, "kind": "tool_result"}
        )

    def reply_error(self, call: dict[str, Json], **error: Json) -> None:
        self._pending.pop(call["id"], None)
        self.send(
            {"id": call["id"], "ok": False, "value": None, "error": error, "kind": "tool_result"}
        )

    def interrupt(self, message: str = "stopped by the test") -> None:
        """Ask the block to stop, without a word to the calls that wait."""
        self.send({"message": message, "kind": "interrupt"})
        if self.kind == "piped":
            os.kill(self.pid, signal.SIGINT)

    def stop(self, message: str = "stopped by the test") -> Block:
        """Stop the block as hosts do: every call that waits, or comes now, is answered with an error."""
        self.interrupt(message)
        for call in list(self._pending.values()):
            self.reply_error(call, **CANCELLED)
        answer, self.answer = self.answer, cancel
        try:
            return self.finish()
        finally:
            self.answer = answer

    def finish(self, patience: float = PATIENCE) -> Block:
        """Answer the block's calls until it has ended."""
        block = self._block
        while True:
            frame = self.next_frame("the end of the block", patience)
            kind = frame["kind"]
            if kind == "tool_call":
                block.calls.append((frame["name"], frame["args"]))
                try:
                    value = self.answer(frame["name"], frame["args"])
                except Failing as failing:
                    self.reply_error(frame, **failing.error)
                else:
                    self.reply(frame, value)
            elif kind == "image":
                block.images.append(frame)
            elif kind == "done":
                block.exit_code = frame["exit_code"]
                block.background_work = frame["background_work"]
                block.result = frame.get("result")
                break
            else:
                raise AssertionError(f"unexpected frame {frame}; {self.describe()}")
        if self.kind == "piped":
            self._read_pipes(0)
            out, err = self.real_output()
            for buffer in self._pipes.values():
                buffer.clear()
            block.stdout, block.stderr = out, err
        else:
            output = self.expect("output")
            if output["exit_code"] != block.exit_code:
                raise AssertionError(f"two exit codes; {self.describe()}")
            block.stdout, block.stderr = output["stdout"], output["stderr"]
        return block

    def run(self, code: str, extensions: Any = ("result", "image")) -> Block:
        """Run a block to its end."""
        self.start(code, extensions)
        return self.finish()

    def print_of(self, code: str) -> str:
        """What a block prints that must not fail."""
        block = self.run(code)
        if block.exit_code or block.stderr:
            raise AssertionError(f"the block failed: {block}; {self.describe()}")
        return block.stdout


class GuestCase(unittest.TestCase):
    """A test with a guest of its own, made when it is first used."""

    kind = "standalone"
    maxDiff = None

    def setUp(self) -> None:
        self._guest: Guest | None = None

    def tearDown(self) -> None:
        if self._guest is not None:
            self._guest.close()

    def start_guest(self, **options: Any) -> Guest:
        if self._guest is not None:
            self._guest.close()
        options.setdefault("kind", self.kind)
        self._guest = Guest(**options)
        return self._guest

    @property
    def guest(self) -> Guest:
        return self._guest if self._guest is not None else self.start_guest()

    def prints(self, code: str, expected: str) -> None:
        self.assertEqual(self.guest.print_of(code), expected)


@contextlib.contextmanager
def tree(files: dict[str, str]) -> Generator[Path]:
    """A directory ``tools`` with these files."""
    with tempfile.TemporaryDirectory(prefix="tools-") as directory:
        root = Path(directory) / "tools"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        yield root


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that sends no word of itself, such as the state of a process."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited for {what}")
        time.sleep(0.005)


def sleeps(pid: int) -> bool:
    """Whether the main thread of a process waits for something."""
    status = Path(f"/proc/{pid}/stat").read_text()
    return status.rpartition(")")[2].split()[0] == "S"
