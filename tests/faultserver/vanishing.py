"""A Chat Completions server that dies in the middle of its first answer: from then on connections are refused."""

from __future__ import annotations

import json
import socket
import threading
from types import TracebackType


class Vanishing:
    """Sends ``words`` one delta each, closes the connection, and listens no more."""

    def __init__(self, words: list[str], *, ends_chunks: bool = False) -> None:
        self._words = words
        self._ends_chunks = ends_chunks
        """The body ends as HTTP asks, so only the missing end of the answer tells that it broke off."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.sent = 0
        """Bytes of the body."""
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Vanishing:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self._thread.join(10)

    def _serve(self) -> None:
        line = self._asked()
        self._listener.close()
        with line:
            line.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for word in self._words:
                choice = {"index": 0, "delta": {"content": word}, "finish_reason": None}
                event = b"data: " + json.dumps({"id": "c", "model": "model", "choices": [choice]}).encode() + b"\n\n"
                self.sent += len(event)
                line.sendall(b"%x\r\n%s\r\n" % (len(event), event))
            if self._ends_chunks:
                line.sendall(b"0\r\n\r\n")

    def _asked(self) -> socket.socket:
        """The connection with the prompt. On a slow machine the screen may ask for the list of models before it."""
        while True:
            line, _ = self._listener.accept()
            line.settimeout(10)
            if _read_request(line) == b"POST":
                return line
            line.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            line.close()


def _read_request(line: socket.socket) -> bytes:
    """Read a request; returns its method."""
    received = b""
    while b"\r\n\r\n" not in received:
        more = line.recv(65536)
        if not more:
            return b""
        received += more
    head, _, body = received.partition(b"\r\n\r\n")
    method = head.partition(b" ")[0]
    if method != b"POST":
        return method
    sizes = [row.split(b":")[1] for row in head.lower().split(b"\r\n") if row.startswith(b"content-length")]
    while len(body) < int(sizes[0]):
        body += line.recv(65536)
    return method
