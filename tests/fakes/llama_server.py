"""A program that is started like ``llama-server`` and does what ``script.json`` beside the model says.

Its answers have the shape of llama.cpp's: thinking in ``reasoning_content``, usage with ``prompt_tokens``.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WORDS_OF_A_PROMPT = 4
"""What the template adds to the words of the messages."""


def put_on_path(folder: Path) -> str:
    """Write a ``llama-server`` into a folder; returns that folder for PATH."""
    program = folder / "llama-server"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__)} "$@"\n')
    program.chmod(0o700)
    return str(folder)


class Handler(BaseHTTPRequestHandler):
    script: dict[str, object]

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        if self.path == "/health":
            self._json({"status": "ok"})
        elif not self._allowed():
            self._json({"error": {"message": "Invalid API Key", "code": 401}}, 401)
        elif self.path == "/props":
            settings = {"n_ctx": self.script.get("n_ctx", 4096)}
            caps = {"supports_tools": True}
            self._json(
                {
                    "default_generation_settings": settings,
                    "chat_template_caps": caps,
                    "modalities": {"vision": self.script.get("vision", False)},
                }
            )
        else:
            self._json({"error": {"message": "not found", "code": 404}}, 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self._allowed():
            self._json({"error": {"message": "Invalid API Key", "code": 401}}, 401)
        elif self.path == "/apply-template":
            self._json({"prompt": json.dumps(body)})
        elif self.path.endswith("/input_tokens"):
            self._json({"input_tokens": _prompt_tokens(body)})
        else:
            self._stream(body)

    def _stream(self, body: dict[str, object]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self._delta({"role": "assistant", "content": None})
        thinks = body.get("chat_template_kwargs", {}).get("enable_thinking") is not False  # type: ignore[attr-defined]
        for word in str(self.script.get("thinks", "")).split() if thinks else ():
            self._delta({"reasoning_content": f"{word} "})
        for number, word in enumerate(str(self.script.get("says", "Hello from here.")).split(" ")):
            if number == self.script.get("dies_after"):
                _die(signal.SIGSEGV)
            if number == self.script.get("hangs_after"):
                threading.Event().wait()
            self._delta({"content": f" {word}" if number else word})
        usage = {"prompt_tokens": _prompt_tokens(body), "completion_tokens": 7, "total_tokens": 7}
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        self._event({"choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def _delta(self, delta: dict[str, object]) -> None:
        self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})

    def _event(self, event: dict[str, object]) -> None:
        whole = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "local", **event}
        self.wfile.write(f"data: {json.dumps(whole)}\n\n".encode())
        self.wfile.flush()

    def _allowed(self) -> bool:
        return self.headers.get("authorization") == f"Bearer {os.environ['LLAMA_API_KEY']}"

    def _json(self, value: object, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _die(number: int) -> None:
    """The signal may reach another thread first: this one does nothing more."""
    os.kill(os.getpid(), number)
    threading.Event().wait()


def _prompt_tokens(body: dict[str, object]) -> int:
    messages = body.get("messages")
    assert isinstance(messages, list)
    return WORDS_OF_A_PROMPT + sum(len(json.dumps(message.get("content")).split()) for message in messages)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--model", "--host", "--port", "--mmproj", "--ctx-size"):
        parser.add_argument(name)
    parser.add_argument("--jinja", action="store_true")
    asked = parser.parse_args()
    path = Path(asked.model).with_name("script.json")
    script = json.loads(path.read_text()) if path.exists() else {}
    if (line := script.get("fails")) is not None:
        sys.exit(f"0.00.019.978 E llama_model_load: error loading model: {line}")
    if (number := script.get("signal")) is not None:
        _die(number)
    while "waits_for" in script and not path.with_name(script["waits_for"]).exists():
        threading.Event().wait(0.02)
    Handler.script = script
    server = ThreadingHTTPServer((asked.host, int(asked.port)), Handler)
    server.daemon_threads = True
    print(f"main: server is listening on http://{asked.host}:{server.server_port} - starting the main loop", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
