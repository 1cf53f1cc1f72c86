"""A model on this machine that says what a test tells it to, when it is told."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

from tests.patience import PATIENCE_S

DONE = object()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Clients hang up; that is what is tested."""


class Loopback:
    """Speaks Chat Completions. ``say`` and ``think`` return at once; ``finish`` ends the answer that is open."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.bodies: list[object] = []
        self.asked = threading.Semaphore(0)
        self.sent = 0
        self.hung_up = threading.Event()
        self._words: queue.Queue[object] = queue.Queue()
        self._answering = threading.Lock()
        """Held by the request that takes the words: of two, the one whose client hung up may be slower to wake."""
        self._refusals: list[int] = []
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._words.put(DONE)
        self._server.shutdown()
        self._server.server_close()

    def configure(self, home: Path) -> None:
        """Make it the model a new program asks."""
        folder = home / "ponder" / "config"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(
            'model = "loop/model"\n'
            f'[providers.loop]\nwire = "openai-chat"\nauth = "none"\nbase_url = "http://127.0.0.1:{self.port}/v1"\n',
            encoding="utf-8",
        )

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    def say(self, *texts: str) -> None:
        """Words, a delta each."""
        for text in texts:
            self._words.put({"content": text})

    def think(self, *texts: str) -> None:
        """Thinking, a delta each."""
        for text in texts:
            self._words.put({"reasoning_content": text})

    def call(self, name: str, **arguments: object) -> None:
        """Ask for a tool; the answer ends with it."""
        self.call_as_written(name, json.dumps(arguments))

    def call_as_written(self, name: str, arguments: str) -> None:
        """The same with arguments that need not be JSON."""
        function = {"name": name, "arguments": arguments}
        self._words.put({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})
        self._words.put(DONE)

    def fail(self, status: int) -> None:
        """Refuse the next request."""
        self._refusals.append(status)

    def finish(self) -> None:
        """The answer is whole."""
        self._words.put(DONE)

    def _handler(loopback) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self of its own
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                """Say nothing."""

            def do_GET(self) -> None:
                body = b'{"object": "list", "data": [{"id": "model", "object": "model"}]}'
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if loopback._refusals:
                    self.send_error(loopback._refusals.pop(0))
                    return
                loopback.bodies.append(body)
                loopback.prompts.append(json.dumps(body["messages"][-1]["content"]))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                loopback.asked.release()
                with contextlib.suppress(OSError), loopback._answering:
                    self._answer()
                    return
                loopback.hung_up.set()

            def _answer(self) -> None:
                reason = "stop"
                while isinstance(words := loopback._words.get(timeout=PATIENCE_S), dict):
                    reason = "tool_calls" if "tool_calls" in words else "stop"
                    self._event({"delta": words, "index": 0, "finish_reason": None})
                self._event({"delta": {}, "index": 0, "finish_reason": reason})
                self._chunk(b"data: [DONE]\n\n")
                self._chunk(b"")

            def _event(self, choice: dict[str, object]) -> None:
                data = {"id": "c", "object": "chat.completion.chunk", "model": "model", "choices": [choice]}
                self._chunk(b"data: " + json.dumps(data).encode() + b"\n\n")
                loopback.sent += 1

            def _chunk(self, data: bytes) -> None:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()

        return Handler
