"""Asks a model's server on this machine whether it is ready, and what it knows about its model.

The keeper uses plain sockets: importing an HTTP library would take longer than loading a small model.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping

ANSWER_WITHIN_S = 5.0
LARGEST = 8_000_000


def is_healthy(port: int) -> bool:
    """Whether the server has loaded its model."""
    return _ask(port, "/health")[0] == 200


def properties(port: int, key: str) -> dict[str, object]:
    """Return what the server says about its model, without what is long."""
    props = _json(_ask(port, "/props", key))
    settings = props.get("default_generation_settings")
    return {
        "n_ctx": settings.get("n_ctx") if isinstance(settings, dict) else None,
        "modalities": props.get("modalities"),
        "chat_template_caps": props.get("chat_template_caps"),
        "can_disable": _can_disable(port, key),
    }


def _can_disable(port: int, key: str) -> bool | None:
    """Whether the template makes another prompt if thinking is switched off; None if the server does not say."""
    prompts = [
        _json(
            _ask(port, "/apply-template", key, {"messages": [_HELLO], "chat_template_kwargs": {"enable_thinking": on}})
        )
        for on in (True, False)
    ]
    return prompts[0] != prompts[1] if all("prompt" in prompt for prompt in prompts) else None


_HELLO = {"role": "user", "content": "Hello"}


def _json(answer: tuple[int, bytes]) -> dict[str, object]:
    try:
        value = json.loads(answer[1]) if answer[0] == 200 else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _ask(port: int, path: str, key: str = "", body: Mapping[str, object] | None = None) -> tuple[int, bytes]:
    """Return status and body; (0, b"") if there is no answer in time."""
    data = b"" if body is None else json.dumps(body).encode()
    head = [f"{'GET' if body is None else 'POST'} {path} HTTP/1.0", f"Host: 127.0.0.1:{port}", "Connection: close"]
    head += [f"Authorization: Bearer {key}"] if key else []
    head += ["Content-Type: application/json", f"Content-Length: {len(data)}"] if data else []
    received = b""
    try:
        with socket.create_connection(("127.0.0.1", port), ANSWER_WITHIN_S) as connection:
            connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + data)
            while len(received) < LARGEST and (piece := connection.recv(65_536)):
                received += piece
    except OSError:
        return 0, b""
    top, _, rest = received.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.\d (\d{3})", top)
    return (int(status[1]) if status else 0), rest
