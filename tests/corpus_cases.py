"""Where recorded and hand-made responses are, and how to read them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import SHARED_CORPUS

OWN_CORPUS = Path(__file__).resolve().parent / "corpus"
WIRES = ("anthropic", "openai-responses", "openai-chat", "gemini", "ollama")


@dataclass(frozen=True)
class Case:
    """One response body with what is known about it."""

    wire: str
    name: str
    body_file: Path
    status: int
    content_type: str | None
    provider: str | None
    expected: dict[str, Any]

    @property
    def body(self) -> bytes:
        return self.body_file.read_bytes()

    def __str__(self) -> str:
        return f"{self.wire}/{self.name}"


def recorded_cases() -> list[Case]:
    """Every exchange of the recordings beside the checkout; none without them."""
    return [
        case
        for meta in sorted(SHARED_CORPUS.glob("*/*/meta.json"))
        if meta.parts[-3] in WIRES
        for case in _exchanges(meta)
    ]


def _exchanges(meta: Path) -> list[Case]:
    described = json.loads(meta.read_text("utf-8"))
    cases = []
    for exchange in described["exchanges"]:
        folder = meta.parent / exchange["dir"]
        cases.append(
            Case(
                wire=meta.parts[-3],
                name=f"{meta.parts[-2]}/{exchange['n']:02}",
                body_file=folder / Path(exchange["body_file"]).name,
                status=exchange["status"],
                content_type=exchange["content_type"] or None,
                provider=exchange["provider"],
                expected=json.loads((folder / "expect.json").read_text("utf-8")),
            )
        )
    return cases


def own_cases() -> list[Case]:
    """The hand-made ones: ``<wire>/<case>/{stream.sse|ndjson|json, expect.json, how.json}``."""
    cases = []
    for expect in sorted(OWN_CORPUS.glob("*/*/expect.json")):
        how_file = expect.parent / "how.json"
        how = json.loads(how_file.read_text("utf-8")) if how_file.exists() else {}
        cases.append(
            Case(
                wire=expect.parts[-3],
                name=expect.parts[-2],
                body_file=next(expect.parent.glob("stream.*")),
                status=how.get("status", 200),
                content_type=how.get("content_type"),
                provider=how.get("provider"),
                expected=json.loads(expect.read_text("utf-8")),
            )
        )
    return cases
