"""Servers that clouds have beside the model's: security tokens, metadata, OAuth. And AWS's check of a signature."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from tests.faultserver.listener import Listener
from tests.faultserver.player import Seen


@dataclass
class LoginServer(Listener):
    """Answers the requests of a login: beginning of the path → bodies, of which the last one is repeated."""

    answers: Mapping[str, Sequence[Any]]
    """A text is sent as it is, None never, anything else as JSON."""
    seen: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            except (asyncio.IncompleteReadError, OSError):
                return
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            await reader.readexactly(int(headers.get("content-length", "0")))
            method, path, _ = first.split(" ")
            self.seen.append(f"{method} {path}")
            status, body = self._answer(path)
            if body is None:
                await reader.read()
                return
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            kind = "text/plain" if isinstance(body, str) else "application/json"
            writer.write(f"HTTP/1.1 {status} Said\r\ncontent-type: {kind}\r\n".encode())
            writer.write(f"metadata-flavor: Google\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)
            await writer.drain()

    def _answer(self, path: str) -> tuple[int, object]:
        found = max((beginning for beginning in self.answers if path.startswith(beginning)), key=len, default=None)
        if found is None:
            return 404, {"error": "not here"}
        bodies = self.answers[found]
        asked = sum(path.startswith(found) for path in (line.partition(" ")[2] for line in self.seen))
        return 200, bodies[min(asked, len(bodies)) - 1]


def in_time(minutes: float) -> str:
    """A moment from now on, as AWS writes it."""
    return (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def aws_credentials(number: int, minutes: float = 60) -> dict[str, str]:
    """Temporary credentials, as containers and instances get them."""
    return {
        "Code": "Success",
        "AccessKeyId": f"ASIATEST{number}",
        "SecretAccessKey": secret_of(number),
        "Token": f"session-token-of-login-{number}",
        "Expiration": in_time(minutes),
    }


def secret_of(number: int) -> str:
    return f"secret/key+of-the-login-number-{number}"


def signature_fault(seen: Seen, secret: str, *, region: str = "us-east-1", service: str = "bedrock") -> str:
    """What is wrong with a signature of version 4, recomputed from the bytes that came; "" if nothing is."""
    words = seen.headers["authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(", ")
    fields = dict(word.split("=", 1) for word in words)
    stamp = seen.headers["x-amz-date"]
    access, *scope = fields["Credential"].split("/")
    if scope != [stamp[:8], region, service, "aws4_request"]:
        return f"signed for {scope}"
    names = fields["SignedHeaders"].split(";")
    must = {"host", "x-amz-date", "x-amz-content-sha256"} | ({"x-amz-security-token"} & seen.headers.keys())
    if names != sorted(names) or not must <= set(names):
        return f"signed headers {names}"
    body = hashlib.sha256(seen.body).hexdigest()
    if seen.headers["x-amz-content-sha256"] != body:
        return "the body is not the one that was signed"
    url = urlsplit(seen.path)
    query = "&".join(
        f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}"
        for name, value in sorted(parse_qsl(url.query, keep_blank_values=True))
    )
    path = "/".join(quote(part, safe="-_.~") for part in url.path.split("/"))
    lines = [f"{name}:{' '.join(seen.headers[name].split())}" for name in names]
    canonical = "\n".join([seen.method, path, query, *lines, "", ";".join(names), body])
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, "/".join(scope), digest])
    key = f"AWS4{secret}".encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    wanted = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
    return "" if fields["Signature"] == wanted else f"the signature by {access} is wrong"
