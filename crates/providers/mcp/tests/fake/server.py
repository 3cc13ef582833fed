"""An MCP server that does what a scenario tells it, mostly wrong. Standard library only.

Usage: server.py SCENARIO, a JSON object. Over stdio, or over HTTP when it has a `port`.
Every message that arrives is appended to the file `log`, if the scenario names one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable

SCENARIO: dict[str, Any] = json.loads(sys.argv[1])
LOCK = threading.Lock()
TOOLS: list[Any] = SCENARIO.get("tools", [{"name": "echo", "inputSchema": {"type": "object"}}])
STATE: dict[str, Any] = {"calls": 0, "tools": TOOLS, "waiting": []}
Send = Callable[[str], None]


def log(text: str) -> None:
    if "log" in SCENARIO:
        with LOCK, open(SCENARIO["log"], "a", encoding="utf-8") as file:
            file.write(text + "\n")


def answer(request_id: Any, result: str) -> str:
    return f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},"result":{result}}}'


def failure(request_id: Any, code: int, message: str) -> str:
    error = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})


def arguments_text(line: str) -> str:
    """The arguments to the letter."""
    start = line.index('"arguments":') + len('"arguments":')
    _, end = json.JSONDecoder().raw_decode(line, start)
    return line[start:end]


def text_result(text: str) -> str:
    return json.dumps({"content": [{"type": "text", "text": text}]})


def era_answer(message: dict[str, Any]) -> str | None:
    """Answers `server/discover` and `initialize`, or None if the message is neither."""
    era, request_id = SCENARIO.get("era", "handshake"), message.get("id")
    listed = SCENARIO.get("capabilities", {"tools": {"listChanged": True}})
    if message["method"] == "server/discover":
        if era == "handshake":
            return failure(request_id, -32601, "Method not found")
        if era == "dies-on-discover":
            os._exit(9)
        if era == "ignores-discover":
            return ""
        with open(SCENARIO["log"], encoding="utf-8") as file:
            is_first = file.read().count("START") == 1
        if era == "answers-late" and is_first and "late" not in STATE:
            STATE["late"] = message
            return ""
        discovered = {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": listed,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {
                "io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "1"},
            },
        }
        return answer(request_id, json.dumps(discovered))
    if message["method"] == "initialize":
        if era == "answers-late":
            early = era_answer(STATE["late"])
            return f"{early}\n" + failure(request_id, -32601, "Method not found")
        if era == "stateless":
            return failure(request_id, -32601, "Method not found")
        result = {
            "protocolVersion": SCENARIO.get("version", "2025-11-25"),
            "capabilities": listed,
            "serverInfo": {"name": "fake", "version": "1"},
        }
        return answer(request_id, json.dumps(result))
    return None


def tool_list(message: dict[str, Any]) -> str:
    pages = SCENARIO.get("pages")
    params = message.get("params") or {}
    if pages is None:
        return json.dumps({"tools": STATE["tools"]})
    if pages == "endless":
        number = int(params.get("cursor", "0"))
        return json.dumps({"tools": [], "nextCursor": str(number + 1)})
    if isinstance(pages, int):
        size = 500
        first = int(params.get("cursor", "0"))
        names = [f"tool_{number}" for number in range(first, min(first + size, pages))]
        page = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]}
        if first + size < pages:
            page["nextCursor"] = str(first + size)
        return json.dumps(page)
    return pages[params.get("cursor", "first")]


def call(message: dict[str, Any], line: str, send: Send) -> None:
    params, request_id = message["params"], message["id"]
    name, arguments = params["name"], params.get("arguments", {})
    tool = BEHAVIOURS.get(name)
    if tool is None:
        send(failure(request_id, -32602, f"Unknown tool: {name}"))
    else:
        tool(request_id, arguments, line, send)


def echo(request_id: Any, _arguments: Any, line: str, send: Send) -> None:
    send(answer(request_id, f'{{"content":[],"structuredContent":{arguments_text(line)}}}'))


def raw(request_id: Any, arguments: Any, _line: str, send: Send) -> None:
    send(answer(request_id, arguments["result"]))


def line_of(request_id: Any, arguments: Any, _line: str, send: Send) -> None:
    """Writes a line as it is, with `$id` replaced."""
    send(arguments["line"].replace("$id", json.dumps(request_id)))


def big(request_id: Any, arguments: Any, _line: str, send: Send) -> None:
    text = "é" * (arguments["bytes"] // 2)
    send(answer(request_id, f'{{"content":[{{"type":"text","text":"{text}"}}]}}'))


def die(_request_id: Any, arguments: Any, _line: str, _send: Send) -> None:
    sys.stderr.write(arguments.get("words", ""))
    sys.stderr.flush()
    os._exit(arguments.get("code", 3))


def half(request_id: Any, _arguments: Any, _line: str, _send: Send) -> None:
    sys.stdout.write(answer(request_id, text_result("x"))[:40])
    sys.stdout.flush()
    os._exit(3)


def hang(request_id: Any, _arguments: Any, _line: str, _send: Send) -> None:
    STATE["hangs"] = request_id


def slow(request_id: Any, arguments: Any, _line: str, send: Send) -> None:
    """Answers when `of` such calls have come, the last first."""
    with LOCK:
        STATE["waiting"].append((request_id, arguments["number"]))
        ready = STATE["waiting"] if len(STATE["waiting"]) == arguments["of"] else []
        STATE["waiting"] = [] if ready else STATE["waiting"]
    for waiting_id, number in reversed(ready):
        send(answer(waiting_id, f'{{"structuredContent":{number}}}'))


def ask(request_id: Any, arguments: Any, _line: str, send: Send) -> None:
    """Asks the client something; its answer becomes the result."""
    STATE["asked"] = request_id
    asked = {"jsonrpc": "2.0", "id": "ask", "method": arguments["method"]}
    if "params" in arguments:
        asked["params"] = arguments["params"]
    send(json.dumps(asked))


def progress(request_id: Any, _arguments: Any, line: str, send: Send) -> None:
    token = json.loads(line)["params"]["_meta"]["progressToken"]
    for number in range(3):
        params = {"progressToken": token, "progress": number}
        send(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
    logged = {"level": "info", "data": "working"}
    send(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": logged}))
    send(answer(request_id, text_result("done")))


def noise(request_id: Any, _arguments: Any, _line: str, _send: Send) -> None:
    with LOCK:
        out = sys.stdout.buffer
        out.write("Loading… ✓\n\n\r\n".encode() + b"\xff\xfe broken\n" + b'{"level":"info"}\n')
        out.write(answer(request_id, text_result("after")).encode() + b"\r\n")
        out.flush()


def change(request_id: Any, arguments: Any, _line: str, send: Send) -> None:
    STATE["tools"] = arguments["tools"]
    listening = STATE.get("listening")
    meta = {"io.modelcontextprotocol/subscriptionId": listening}
    params = {} if listening is None else {"_meta": meta}
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": params}
    STATE.get("listener", send)(json.dumps(changed))
    send(answer(request_id, text_result("changed")))


def environment(request_id: Any, _arguments: Any, _line: str, send: Send) -> None:
    send(answer(request_id, json.dumps({"structuredContent": dict(os.environ)})))


def family(request_id: Any, _arguments: Any, _line: str, send: Send) -> None:
    """Starts a child that ignores every polite request to leave."""
    script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.DEVNULL)
    pids = {"server": os.getpid(), "child": child.pid}
    send(answer(request_id, json.dumps({"structuredContent": pids})))


BEHAVIOURS: dict[str, Callable[[Any, Any, str, Send], None]] = {
    "echo": echo,
    "raw": raw,
    "line": line_of,
    "big": big,
    "die": die,
    "half": half,
    "hang": hang,
    "slow": slow,
    "ask": ask,
    "progress": progress,
    "noise": noise,
    "change": change,
    "environment": environment,
    "family": family,
}


def listen(message: dict[str, Any], send: Send) -> None:
    request_id = message["id"]
    STATE["listening"], STATE["listener"] = request_id, send
    params = {
        "_meta": {"io.modelcontextprotocol/subscriptionId": request_id},
        "notifications": {"toolsListChanged": True},
    }
    method = "notifications/subscriptions/acknowledged"
    send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))


def handle(line: str, send: Send) -> None:
    log(line)
    message = json.loads(line)
    if "method" not in message:
        if message.get("id") == "ask":
            outcome = json.dumps(message.get("error") or message.get("result"))
            send(answer(STATE["asked"], text_result(outcome)))
        return
    lifecycle = era_answer(message)
    if lifecycle is not None:
        if lifecycle:
            send(lifecycle)
    elif message["method"] == "tools/list" and "capabilities" not in SCENARIO:
        send(answer(message["id"], tool_list(message)))
    elif message["method"] == "tools/call":
        call(message, line, send)
    elif message["method"] == "subscriptions/listen":
        listen(message, send)
    elif message["method"] == "ping":
        send(answer(message["id"], "{}"))
    elif "id" in message:
        send(failure(message["id"], -32601, "Method not found"))


def serve_stdio() -> None:
    def send(text: str) -> None:
        with LOCK:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    for line in sys.stdin:
        handle(line.rstrip("\n"), send)


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def refuse(self, status: int, body: str = "", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self) -> None:
        self.refuse(405)

    def do_DELETE(self) -> None:
        log("DELETE " + self.headers.get("Mcp-Session-Id", ""))
        self.refuse(200)

    def do_POST(self) -> None:
        line = self.rfile.read(int(self.headers["Content-Length"])).decode()
        log("HEADERS " + json.dumps({name.lower(): value for name, value in self.headers.items()}))
        if self.path != "/mcp":
            return self.refuse(404, "no such page")
        if SCENARIO.get("redirect"):
            return self.refuse(307, "", {"Location": SCENARIO["redirect"]})
        message = json.loads(line)
        status = SCENARIO.get("status", {}).get(message.get("method", ""))
        if status:
            log(line)
            return self.refuse(status, "go away")
        session = SCENARIO.get("session")
        starts = message.get("method") in ("initialize", "server/discover")
        if session and not starts and self.headers.get("Mcp-Session-Id") != session:
            return self.refuse(404, "no such session")
        if message.get("method") == "tools/call" and message["params"]["name"] == "cut":
            log(line)
            self.close_connection = True
            self.wfile.flush()
            self.connection.shutdown(2)
            return None
        if "id" not in message or "method" not in message:
            handle(line, lambda text: None)
            return self.refuse(202)
        return self.reply(line, session)

    def reply(self, line: str, session: str | None) -> None:
        self.send_response(200)
        if session:
            self.send_header("Mcp-Session-Id", session)
        stays = '"subscriptions/listen"' in line or '"name":"hang"' in line
        if SCENARIO.get("stream") or stays:
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            handle(line, lambda text: self.chunk(f"event: message\ndata: {text}\n\n"))
            while stays:
                time.sleep(0.05)
                try:
                    self.chunk(": alive\n\n")
                except OSError:
                    return log("GONE " + line)
            self.wfile.write(b"0\r\n\r\n")
            return None
        sent: list[str] = []
        handle(line, sent.append)
        body = sent[-1].encode()
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return None

    def chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True


def main() -> None:
    start = SCENARIO.get("start", {})
    log(f"START {os.getpid()}")
    if start.get("ignores_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stderr.write(start.get("words", ""))
    sys.stderr.write("e" * start.get("stderr", 0))
    sys.stderr.flush()
    if "die" in start:
        os._exit(start["die"])
    if start.get("hang"):
        time.sleep(600)
    time.sleep(start.get("delay", 0))
    sys.stdout.write(start.get("banner", ""))
    sys.stdout.flush()
    if "port" in SCENARIO:
        server = Server(("127.0.0.1", SCENARIO["port"]), Endpoint)
        print(server.server_address[1], flush=True)
        server.serve_forever()
    serve_stdio()
    if start.get("stays"):
        time.sleep(600)


main()
