"""``ponder wire encode`` from the outside: a conversation file in, one JSON line out."""

from __future__ import annotations

import base64
import json

import pytest

from tui.cli.main import main

ANSWER = {
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "id": "msg_1",
    "content": [
        {"type": "thinking", "thinking": "Look first.", "signature": "sig=="},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 10, "output_tokens": 20},
}
TOOLS = [{"name": "read_file", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture
def conversation(tmp_path):
    """Writes a conversation file beside a recorded answer and a picture."""
    (tmp_path / "answer.json").write_text(json.dumps(ANSWER))
    (tmp_path / "pixel.png").write_bytes(base64.b64decode(PIXEL))

    def write(turns, **more):
        file = tmp_path / "conversation.json"
        file.write_text(json.dumps({"turns": turns, **more}))
        return str(file)

    return write


def response(provider="anthropic", model="claude-opus-5"):
    return {"response": {"wire": "anthropic", "provider": provider, "model": model, "file": "answer.json"}}


def results(**more):
    return {"results": [{"call_id": "toolu_1", "name": "read_file", "content": "contents", **more}]}


def encoded(capsys, *arguments):
    code = main(["wire", "encode", *arguments])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return json.loads(printed.out)


def test_a_first_question_becomes_a_request_with_its_key_masked(conversation, capsys):
    file = conversation([{"user": "Hello"}], system="Be brief.")
    assert encoded(capsys, "--model", "deepseek/deepseek-v4-pro/high", file) == {
        "method": "POST",
        "url": "https://api.deepseek.com/chat/completions",
        "headers": {"content-type": "application/json", "authorization": "Bearer ***"},
        "body": {
            "model": "deepseek-v4-pro",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "thinking": {"type": "enabled"},
            "reasoning_effort": "max",
        },
    }


def test_a_recorded_answer_goes_back_with_its_seal_and_the_results_behind_it(conversation, capsys):
    file = conversation([{"user": "Read a"}, response(), results(error=True)], tools=TOOLS)
    body = encoded(capsys, "--model", "claude-opus-5", file)["body"]
    assert body["messages"][1:] == [
        {"role": "assistant", "content": ANSWER["content"]},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [{"type": "text", "text": "contents"}],
                    "is_error": True,
                }
            ],
        },
    ]


def test_results_that_answer_no_call_are_told(conversation, capsys):
    file = conversation([{"user": "Read a"}, results(), {"user": "And?"}])
    assert main(["wire", "encode", "--model", "claude-opus-5", file]) == 0
    assert "A result of `read_file` has no matching call and is not sent." in capsys.readouterr().err


def test_a_result_that_answers_no_call_is_left_out_and_told(conversation, capsys):
    stray = {"results": [{"call_id": "toolu_9", "name": "read_file", "content": "contents"}]}
    for turns, told in [([response(), results(), stray], True), ([response(), results()], False)]:
        file = conversation([{"user": "Read a"}, *turns], tools=TOOLS)
        assert main(["wire", "encode", "--model", "claude-opus-5", file]) == 0
        assert ("The result for `toolu_9` is left out" in capsys.readouterr().err) is told


def test_settings_of_the_command_line_decide_what_goes_back(conversation, capsys):
    turns = [{"user": "Read a"}, response(), results(), {"user": "And now?"}]
    arguments = ["--model", "claude-opus-5", "--set", "reasoning.stripFromContext=all"]
    body = encoded(capsys, *arguments, conversation(turns, tools=TOOLS))["body"]
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "tool_use"]


def test_a_place_without_a_row_is_taken_for_the_provider_that_is_named(conversation, capsys):
    file = conversation([{"user": "Read a"}, response("elsewhere"), {"user": "And?"}], tools=TOOLS)
    body = encoded(capsys, "--model", "claude-opus-5", "--provider", "anthropic", file)["body"]
    assert body["messages"][1]["content"][0]["signature"] == "sig=="


def test_seals_of_a_place_without_a_row_do_not_go_elsewhere_unasked(conversation, capsys):
    file = conversation([{"user": "Read a"}, response("elsewhere"), {"user": "And?"}], tools=TOOLS)
    body = encoded(capsys, "--model", "claude-opus-5", file)["body"]
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "tool_use"]


def test_a_place_without_a_row_can_be_continued_under_its_own_name(conversation, capsys):
    file = conversation([{"user": "Read a"}, response("elsewhere"), {"user": "And?"}], tools=TOOLS)
    request = encoded(capsys, "--model", "claude-opus-5", "--provider", "elsewhere", file)
    assert request["url"] == "https://elsewhere.invalid/v1/messages"
    assert request["body"]["messages"][1]["content"][0]["signature"] == "sig=="


def test_it_is_the_request_the_engine_makes(conversation, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    file = conversation([{"user": "Hello"}])
    local = encoded(capsys, "--model", "ollama/qwen3:8b", file)
    assert (local["body"]["options"], local["headers"]) == ({"num_ctx": 32_768}, {"content-type": "application/json"})
    monkeypatch.setenv("OLLAMA_API_KEY", "sk-0123456789abcdef0123456789abcdef")
    assert encoded(capsys, "--model", "ollama/qwen3:8b", file)["headers"]["authorization"] == "Bearer ***"
    assert encoded(capsys, "--model", "gpt-6-sol", file)["body"]["prompt_cache_key"] == "conversation.json"


def test_settings_in_place_of_a_level_yield_to_one_that_is_said(conversation, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[reasoning]\neffort = "low"\n')
    file = conversation([{"user": "Hello"}])
    sent = [
        encoded(capsys, "--model", name, file)["body"]["reasoning"]["effort"]
        for name in ("gpt-6-sol", "gpt-6-sol/high")
    ]
    assert sent == ["low", "high"]


def test_pictures_are_read_from_beside_the_file(conversation, capsys):
    file = conversation([{"user": [{"text": "What is it?"}, {"image": "pixel.png"}]}])
    body = encoded(capsys, "--model", "gemini-3.8-flash", file)["body"]
    picture = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "What is it?"}, picture]}]


def test_a_limit_for_the_answer_reaches_the_request(conversation, capsys):
    file = conversation([{"user": "Hello"}])
    assert encoded(capsys, "--model", "claude-opus-5", "--max-output", "9000", file)["body"]["max_tokens"] == 9000


@pytest.mark.parametrize(
    ("turns", "complaint"),
    [
        ("none", "has no list of turns"),
        ([{"says": "hello"}], "turn 1 has none of the keys"),
        ([{"user": [{"image": "gone.png"}]}], "`gone.png` cannot be read"),
        ([{"user": [{"image": "answer.json"}]}], "`answer.json` is not an image"),
        ([{"response": {"wire": "smoke"}}], "there is no wire `smoke`"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_without_a_traceback(conversation, capsys, turns, complaint):
    assert main(["wire", "encode", "--model", "claude-opus-5", conversation(turns)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert complaint in printed.err


@pytest.mark.parametrize(("text", "complaint"), [("{", "is not JSON"), ("[]", "is not an object")])
def test_a_file_that_is_no_conversation_is_refused(tmp_path, capsys, text, complaint):
    file = tmp_path / "c.json"
    file.write_text(text)
    assert main(["wire", "encode", "--model", "claude-opus-5", str(file)]) == 2
    assert main(["wire", "encode", "--model", "claude-opus-5", str(tmp_path / "gone.json")]) == 2
    complaints = capsys.readouterr().err
    assert complaint in complaints
    assert "cannot be read" in complaints


def test_a_wrong_model_or_setting_ends_with_the_nearest_right_one(conversation, capsys):
    file = conversation([{"user": "Hello"}])
    assert main(["wire", "encode", "--model", "claude-opus-55", file]) == 2
    assert main(["wire", "encode", "--model", "claude-opus-5", "--set", "reasoning.efort=low", file]) == 2
    assert "reasoning.effort" in capsys.readouterr().err
