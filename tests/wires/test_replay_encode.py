"""Recorded conversations continued: what providers sealed goes back exactly as the recorded next request has it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED_CORPUS
from tests.wires.recorded_requests import TAKE_APART, signed
from tui.cli.wire.encode import encoded_request

LOST_FIRST_WORD = "the recorded client lost the first delta of the reasoning; we send all of it"
LOST_ENCRYPTED = "the recorded client lost the encrypted entry and sent the summary as text; we send both as they came"
NOT_SEALED = "the item has no encrypted_content: without the server's own storage, which we do not use, it is refused"
ARGUED = {
    "fantasy--testopenroutercommon-glm-multi-tool-streaming": LOST_FIRST_WORD,
    "fantasy--testopenroutercommon-glm-tool-streaming": LOST_FIRST_WORD,
    "fantasy--testopenroutercommon-kimi-multi-tool-streaming": LOST_FIRST_WORD,
    "fantasy--testopenroutercommon-kimi-tool-streaming": LOST_FIRST_WORD,
    "fantasy--testopenroutercommon-grok-multi-tool-streaming": LOST_ENCRYPTED,
    "fantasy--testopenroutercommon-grok-tool-streaming": LOST_ENCRYPTED,
    "rig--copilot-typed-prompt-tools-prompt-typed-with-tool-call-roundtrip": NOT_SEALED,
    "rig--xai-agent-tool-sessions-parallel-tool-calls-single-turn-nonstreaming": NOT_SEALED,
    "rig--xai-agent-tool-sessions-parallel-tool-calls-single-turn-streaming": NOT_SEALED,
    "rig--xai-permission-control-permission-control-streaming-example": NOT_SEALED,
    "rig--xai-streaming-tools-responses-stream-preserves-tool-result-flow": NOT_SEALED,
}
"""Cases in which the recorded client sent something else, and why we do not."""


def cases() -> list[Path]:
    metas = sorted(SHARED_CORPUS.glob("*/*/meta.json"))
    return [meta.parent for meta in metas if "reasoning-replay" in json.loads(meta.read_text())["tags"]]


def continued(case: Path, number: int, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Our request after the first ``number`` exchanges of a case, and the recorded one."""
    meta = json.loads((case / "meta.json").read_text())
    exchanges = meta["exchanges"][: number + 1]
    take_apart = TAKE_APART[meta["wire"]]
    recorded = json.loads((case / exchanges[-1]["dir"] / "request.json").read_text())["body"]
    parts = take_apart(recorded)
    responses = iter(exchanges[:-1])
    turns = []
    for entry in parts.entries:
        if "assistant" not in entry:
            turns.append(entry)
            continue
        exchange = next(responses)
        file = case / exchange["dir"] / exchange["body_file"]
        place = {"wire": meta["wire"], "provider": meta["provider"], "model": exchange["request_model"]}
        turns.append({"response": {**place, "file": str(file)}})
    conversation = folder / "conversation.json"
    conversation.write_text(json.dumps({"system": parts.system, "tools": parts.tools, "turns": turns}))
    args = argparse.Namespace(
        file=conversation,
        model=exchanges[-1]["request_model"],
        provider=meta["provider"],
        assignments=[],
        max_output=None,
    )
    return json.loads(encoded_request(args))["body"], recorded


@pytest.mark.one_in(5)
@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.parent.name}/{case.name}")
def test_what_was_sealed_goes_back_where_the_recorded_request_has_it(case, tmp_path):
    meta = json.loads((case / "meta.json").read_text())
    for number in range(1, len(meta["exchanges"])):
        ours, recorded = continued(case, number, tmp_path)
        wanted = signed(meta["wire"], recorded)
        agrees = [item for item in signed(meta["wire"], ours) if item in wanted] == wanted
        assert agrees is (case.name not in ARGUED), ARGUED.get(case.name, case.name)
