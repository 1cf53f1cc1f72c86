"""``ponder wire decode``: one JSON line for each file, whatever is in it."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.corpus_cases import OWN_CORPUS, WIRES
from tui.cli.wire import decode as wire_decode

pytestmark = pytest.mark.timeout(1800 if os.environ.get("PONDER_LONG") else 180)
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
TAGGED = OWN_CORPUS / "openai-chat" / "think_tags_split_over_chunks" / "stream.sse"
SIGNED = OWN_CORPUS / "anthropic" / "empty_signed_thinking" / "stream.sse"


def ran(*words: object) -> int:
    parser = argparse.ArgumentParser()
    wire_decode.add_arguments(parser)
    return wire_decode.run(parser.parse_args([str(word) for word in words]))


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_line_has_every_field(capsys):
    assert ran("anthropic", SIGNED) == 0

    assert lines(capsys) == [
        {
            "file": str(SIGNED),
            "thinking": {"chars": 0, "sha256": NOTHING},
            "text": {"chars": 5, "sha256": "2f7820a5325de01510971fb541180d3730df116b28942068bb1e5a7040528833"},
            "tool_calls": [],
            "signatures": 1,
            "encrypted": 0,
            "redacted": 0,
            "finish": "stop",
            "finish_raw": "end_turn",
            "usage": {"input": 7, "cache_read": None, "cache_write": None, "output": 9, "thinking": None, "total": 16},
            "error": None,
            "complete": True,
        }
    ]


def test_a_file_without_an_end_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("tui.cli.wire.input_file.LARGEST", 1_000_000)
    assert ran("anthropic", "/dev/zero", SIGNED) == 2
    said = capsys.readouterr()
    assert said.err == "ponder: cannot read /dev/zero: it is larger than 1 MB\n"
    assert said.out.count("\n") == 1


@pytest.mark.parametrize("options", [(), ("--events",), ("--status", "401")])
def test_a_recorded_header_with_a_key_is_not_quoted(capsys, tmp_path, options):
    recorded = tmp_path / "request.txt"
    recorded.write_text("POST /v1 HTTP/1.1\nAuthorization: Token abcdef0123456789XYZ\nx-api-key: qwertzuiop0987654\n")

    assert ran(*options, "openai-chat", recorded) == 0

    shown = capsys.readouterr().out
    assert "Authorization: ***9XYZ" in shown
    assert "abcdef" not in shown
    assert "qwertz" not in shown


def test_every_file_gets_its_line_and_an_unreadable_one_is_told(capsys, tmp_path):
    missing = tmp_path / "missing"

    assert ran("anthropic", SIGNED, missing, SIGNED) == 2

    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 2
    assert shown.err == f"ponder: cannot read {missing}: No such file or directory\n"


def test_a_refusal_is_read_from_the_status(capsys, tmp_path):
    body = tmp_path / "body"
    body.write_text('{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}')

    assert ran("anthropic", "--status", "429", "--content-type", "application/json", body) == 0

    assert lines(capsys)[0]["error"] == {
        "kind": "rate_limit",
        "status": 429,
        "message": "slow down",
        "retryable": True,
    }


def test_tags_count_as_text_but_events_split_them(capsys):
    ran("openai-chat", TAGGED)
    (counted,) = lines(capsys)
    ran("openai-chat", "--events", TAGGED)
    events = lines(capsys)

    assert counted["thinking"]["chars"] == 0
    assert counted["text"]["chars"] == len("<think>I ponder</think>Answer")
    assert "".join(event["text"] for event in events if event["event"] == "ThinkingDelta") == "I ponder"


@pytest.mark.parametrize("provider", ["minimax", "no-such-place"])
def test_a_provider_may_be_named_known_or_not(capsys, provider):
    assert ran("anthropic", "--provider", provider, SIGNED) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["complete"]
    told = "" if provider == "minimax" else f"ponder: There is no provider `{provider}`"
    assert printed.err.partition(".")[0] == told


def test_a_fault_stands_after_the_events_before_it(capsys):
    ran("anthropic", "--events", OWN_CORPUS / "anthropic" / "error_in_the_stream" / "stream.sse")

    last = lines(capsys)[-1]
    assert (last["event"], last["kind"], last["message"]) == ("Fault", "overloaded", "Overloaded")


@pytest.mark.parametrize("wire", WIRES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=300))
def test_no_bytes_make_it_fail(capsys, tmp_path, wire, body):
    file = tmp_path / "body"
    file.write_bytes(body)

    assert ran(wire, file) == 0
    assert ran(wire, "--events", file) == 0
    assert ran(wire, "--status", "500", file) == 0
    assert len(lines(capsys)) >= 3
