"""``ponder -p --schema``: what is asked for, what is checked, what a script gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import pytest

from tests import prefork
from tests.headless.test_cli import PONDER
from tests.patience import PATIENCE_S
from tests.providers.strangers import Claudelike, Json, Stranger, serving

SCHEMA = {
    "type": "object",
    "properties": {"sum": {"type": "integer", "minimum": 3}},
    "required": ["sum"],
    "additionalProperties": False,
}


class Obedient(Stranger):
    """A Chat Completions server with a fixed answer; some have never heard of ``response_format``."""

    content: ClassVar[str] = '{"sum": 4}'
    knows_format: ClassVar[bool] = True

    def problem(self, body: Json) -> str | None:
        if self.path != "/v1/chat/completions":
            return "no such route"
        if "response_format" in body and not self.knows_format:
            return "Unknown parameter: 'response_format'."
        return None

    def answer(self, body: Json) -> None:
        def chunk(delta: Json, reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            return (
                f"data: {json.dumps({'id': 'x', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n".encode()
            )

        pieces = [chunk({"content": letter}) for letter in self.content]
        self.pieces([*pieces, chunk({}, "stop"), b"data: [DONE]\n\n"], "text/event-stream")


class Watching(Obedient):
    """Remembers also what is fetched from it."""

    def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
        self.paths.append(self.path)
        super().do_GET()


class Unaware(Obedient):
    knows_format = False


class Fencing(Obedient):
    content = '```json\n{"sum": 5}\n```\n'


class Chatting(Obedient):
    content = "The sum is 4."


class TooSmall(Obedient):
    content = '{"sum": 2}'


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), "utf-8")
    return prefork.surroundings(PONDER_HOME=str(tmp_path), MY_KEY="key-of-mine-9876")


def _ask(environment: dict[str, str], url: str, *more: str, wire: str = "openai-chat") -> tuple[int, str, str]:
    home = Path(environment["PONDER_HOME"])
    (home / "config").mkdir(exist_ok=True)
    base = f"{url}/v1" if wire == "openai-chat" else url
    row = f'[providers.mine]\nwire = "{wire}"\nbase_url = "{base}"\nkey_env = ["MY_KEY"]\n'
    (home / "config" / "config.toml").write_text(row, "utf-8")
    words = ["-p", "What is 2 + 2?", "-m", "mine/m", "--schema", str(home / "schema.json"), *more]
    done = prefork.run([*PONDER, *words], said=b"", env=environment, timeout=PATIENCE_S)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_an_answer_that_fits_is_printed_and_asked_for_by_the_wires_own_field(environment: dict[str, str]) -> None:
    with serving(Obedient) as (url, server):
        assert _ask(environment, url, "--no-tools") == (0, '{"sum": 4}\n', "")
        code, out, _ = _ask(environment, url, "--no-tools", "--json")
    asked = [body["response_format"]["json_schema"] for body in server.seen]
    assert asked == [{"name": "answer", "schema": SCHEMA, "strict": True}] * 2
    result = json.loads(out)
    assert (code, result["data"], result["answer"], result["error"]) == (0, {"sum": 4}, '{"sum": 4}', None)


def test_a_server_without_the_field_is_asked_in_words(environment: dict[str, str]) -> None:
    with serving(Unaware) as (url, server):
        code, out, err = _ask(environment, url, "--no-tools")
    assert (code, out) == (0, '{"sum": 4}\n')
    assert "`response_format` is not supported here" in err
    words = [json.dumps(body["messages"]) for body in server.seen]
    assert ["response_format" in body for body in server.seen] == [True, False]
    assert [text.count("valid against this JSON Schema") for text in words] == [1, 1]
    assert '"minimum\\":3' in words[1].replace(" ", "")


def test_with_tools_a_server_that_may_use_a_grammar_is_asked_in_words(environment: dict[str, str]) -> None:
    with serving(Obedient) as (url, server):
        assert _ask(environment, url)[:2] == (0, '{"sum": 4}\n')
    assert ("response_format" in server.seen[0], bool(server.seen[0]["tools"])) == (False, True)


def test_a_code_fence_is_taken_off(environment: dict[str, str]) -> None:
    with serving(Fencing) as (url, _):
        assert _ask(environment, url) == (0, '{"sum": 5}\n', "")


@pytest.mark.parametrize(
    ("kind", "out", "said"),
    [
        (Chatting, "The sum is 4.\n", "The answer is not JSON: Expecting value: line 1 column 1 (char 0)."),
        (TooSmall, '{"sum": 2}\n', "The answer does not fit at `$.sum`: 2 is less than the minimum of 3"),
    ],
)
def test_an_answer_that_does_not_fit_is_printed_with_the_reason_and_code_4(
    environment: dict[str, str], kind: type[Obedient], out: str, said: str
) -> None:
    with serving(kind) as (url, _):
        code, printed, err = _ask(environment, url)
        assert (code, printed) == (4, out)
        assert said in err
        code, printed, err = _ask(environment, url, "--json")
    result = json.loads(printed)
    assert (code, result["data"], result["error"]["kind"], result["answer"]) == (4, None, "schema", out.rstrip("\n"))


def test_claude_is_asked_beside_the_effort(environment: dict[str, str]) -> None:
    with serving(Claudelike) as (url, server):
        code, out, _ = _ask(environment, url, "--no-tools", wire="anthropic")
    sent = server.seen[0]["output_config"]["format"]
    assert sent == {"type": "json_schema", "schema": {**SCHEMA, "properties": {"sum": {"type": "integer"}}}}
    assert (code, out) == (4, "Fine, then.\n")


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"type": "strnig"}', "is not a valid JSON Schema: 'strnig' is not valid"),
        (None, "cannot be read: No such file or directory"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_file_that_is_no_schema_is_told_before_anything_is_sent(
    environment: dict[str, str], content: str | None, said: str
) -> None:
    file = Path(environment["PONDER_HOME"]) / "schema.json"
    file.unlink()
    if content is not None:
        file.write_text(content, "utf-8")
    with serving(Obedient) as (url, server):
        code, out, err = _ask(environment, url)
    assert (code, out, server.seen) == (2, "", [])
    assert said in err


def test_no_address_in_a_schema_is_fetched(environment: dict[str, str]) -> None:
    with serving(Watching) as (elsewhere, fetched), serving(Obedient) as (url, _):
        schema = {"type": "object", "properties": {"sum": {"$ref": f"{elsewhere}/schema.json"}}}
        (Path(environment["PONDER_HOME"]) / "schema.json").write_text(json.dumps(schema), "utf-8")
        code, out, err = _ask(environment, url)
    assert (code, out, fetched.paths) == (4, '{"sum": 4}\n', [])
    assert f"the schema refers to `{elsewhere}/schema.json`, which is not in it" in err


def test_it_needs_a_prompt(environment: dict[str, str]) -> None:
    done = prefork.run([*PONDER, "--schema", "x.json"], said=b"", env=environment, timeout=PATIENCE_S)
    assert (done.returncode, b"`--schema` needs `-p TEXT`" in done.stderr) == (2, True)
