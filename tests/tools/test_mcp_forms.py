"""Forms of MCP servers: what they ask for, who is asked, and what becomes of the answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.bench import Bench, open_bench, outcome, words
from tests.fakes.sdk_servers import sdk_server
from tests.patience import PATIENCE_S
from tui.app.form_values import constraints, field_value, form_values
from tui.domain.errors import ToolError, UsageError
from tui.domain.forms import FieldKind, Form, FormAnswer, FormField, Value
from tui.tools.mcp.forms import form_of

needs_sdk = pytest.mark.skipif(find_spec("mcp") is None, reason="the MCP SDK is not installed")
ADA: Mapping[str, Value] = {"name": "Ada", "email": "ada@example.com", "amount": 3, "gift": True, "size": "large"}


@asynccontextmanager
async def _opened(around: Path, *program: str, user: Callable[[Form], FormAnswer] | None) -> AsyncIterator[Bench]:
    """A toolbox whose user answers the forms; without one, nobody shows them."""
    command, arguments = sdk_server(*program)
    row = {"command": command, "args": arguments, "start_timeout": 50}
    bench = open_bench(around, mcp={"servers": {"shop": row}})
    forms, heard = bench.toolbox.mcp.forms, asyncio.Event()
    forms.heard = heard.set if user is not None else None

    async def answers() -> None:
        while user is not None:
            await heard.wait()
            heard.clear()
            for form in forms.waiting():
                await forms.answer(form.id, user(form))

    task = asyncio.create_task(answers())
    try:
        await bench.toolbox.ready()
        yield bench
    finally:
        task.cancel()
        await asyncio.wait({task})
        await bench.toolbox.close()


def _said(bench_result: Any) -> Any:
    return json.loads(words(bench_result).partition("\n\n")[2])


def _form(**properties: object) -> dict[str, object]:
    return {"message": "Please", "requestedSchema": {"type": "object", "properties": properties}}


def _accept(**values: Value) -> FormAnswer:
    return FormAnswer(action="accept", values=values)


@pytest.mark.long
@needs_sdk
async def test_a_form_of_the_sdk_is_asked_and_answered_and_no_is_not_no_answer(tmp_path: Path) -> None:
    asked: list[Form] = []
    answers: list[Callable[[Form], FormAnswer]] = [
        lambda form: FormAnswer(action="accept", values=form_values(form.fields, ADA)),
        lambda _: FormAnswer(action="decline"),
        lambda _: FormAnswer(action="cancel"),
    ]

    def user(form: Form) -> FormAnswer:
        asked.append(form)
        return answers.pop(0)(form)

    async with _opened(tmp_path, "mcp_forms.py", user=user) as bench:
        _, text = outcome(await bench.call("mcp_shop__order", "once"))
        assert text.endswith(
            "accept {'name': 'Ada', 'email': 'ada@example.com', 'amount': 3, 'weight': None, 'gift': True, "
            "'size': 'large'}"
        )
        for action in ("decline", "cancel"):
            assert words(await bench.call("mcp_shop__order", "once")).split()[-1] == action
    form = asked[0]
    assert (form.server, form.message) == ("shop", "What do you order?")
    assert [(field.name, field.kind, field.required) for field in form.fields] == [
        ("name", FieldKind.TEXT, True),
        ("email", FieldKind.TEXT, True),
        ("amount", FieldKind.INTEGER, False),
        ("weight", FieldKind.NUMBER, False),
        ("gift", FieldKind.YES_NO, False),
        ("size", FieldKind.CHOICE, False),
    ]


@pytest.mark.long
@needs_sdk
async def test_without_somebody_who_shows_forms_all_are_declined(tmp_path: Path) -> None:
    async with _opened(tmp_path, "mcp_forms.py", user=None) as bench:
        assert words(await bench.call("mcp_shop__order", "once")).split()[-1] == "decline"


@pytest.mark.long
@needs_sdk
async def test_a_call_that_needs_a_visit_is_made_again_after_it(tmp_path: Path) -> None:
    asked: list[Form] = []

    def user(form: Form) -> FormAnswer:
        asked.append(form)
        return _accept()

    async with _opened(tmp_path, "mcp_forms.py", user=user) as bench:
        assert words(await bench.call("mcp_shop__refuses_first", "once")).endswith("\n\ndone")
    assert [(form.message, form.address) for form in asked] == [("First log in.", "https://example.com/first")]


@pytest.mark.long
@needs_sdk
async def test_a_call_whose_visit_is_declined_is_refused(tmp_path: Path) -> None:
    async with _opened(tmp_path, "mcp_forms.py", user=lambda _: FormAnswer(action="decline")) as bench:
        assert (await bench.call("mcp_shop__refuses_first", "once")).failed


@needs_sdk
async def test_forms_of_older_servers_belong_to_the_call(tmp_path: Path) -> None:
    async with _opened(tmp_path, "plain_mcp_server.py", "asks", user=lambda _: _accept(a="x", b=["1"])) as bench:
        both = _form(a={"type": "string"}, b={"type": "array", "items": {"type": "string", "enum": ["1", "2"]}})
        visit = {"mode": "url", "message": "Go", "url": "https://example.com/", "elicitationId": "e"}
        said = _said(await bench.call("mcp_shop__t", "once", forms=[both, visit]))
        assert [(each["action"], each.get("content")) for each in said] == [("accept", {"a": "x", "b": ["1"]})] * 2


@needs_sdk
async def test_a_server_that_asks_without_end_gets_no_more_answers(tmp_path: Path) -> None:
    asked: list[str] = []

    def user(form: Form) -> FormAnswer:
        asked.append(form.id)
        return _accept()

    async with _opened(tmp_path, "plain_mcp_server.py", "asks", user=user) as bench:
        said = _said(await bench.call("mcp_shop__t", "once", forms=[_form(a={"type": "string"})] * 30))
    assert [each["action"] for each in said] == ["accept"] * 20 + ["decline"] * 10
    assert len(set(asked)) == 20


@needs_sdk
@pytest.mark.parametrize(
    "asked",
    [
        {"message": "m", "requestedSchema": {"type": "object"}},
        _form(a={"type": "object", "properties": {}}),
        _form(a={"type": "array", "items": {"type": "string"}}),
        _form(**{f"f{number}": {"type": "string"} for number in range(31)}),
        {"mode": "url", "message": "m", "url": "file:///etc/passwd", "elicitationId": "e"},
        {"mode": "url", "message": "m", "url": "javascript:alert(1)", "elicitationId": "e"},
        {"mode": "url", "message": "m", "url": "https://user:secret@example.com/", "elicitationId": "e"},
        {"mode": "url", "message": "m", "url": "https://example.com/\u202emoc.elgoog", "elicitationId": "e"},
    ],
)
async def test_what_cannot_be_shown_is_never_accepted(tmp_path: Path, asked: dict[str, object]) -> None:
    async with _opened(tmp_path, "plain_mcp_server.py", "asks", user=lambda _: _accept()) as bench:
        (said,) = _said(await bench.call("mcp_shop__t", "once", forms=[asked]))
        assert said.get("action") != "accept"


@needs_sdk
async def test_a_form_out_of_the_blue_is_not_shown(tmp_path: Path) -> None:
    shown: list[Form] = []

    def user(form: Form) -> FormAnswer:
        shown.append(form)
        return _accept()

    answered = tmp_path / "answered"
    async with _opened(tmp_path, "plain_mcp_server.py", "idle", str(answered), user=user) as bench:
        assert not (await bench.call("mcp_shop__t", "once")).failed
        while not answered.exists():
            await asyncio.sleep(0.01)
    assert shown == []


@pytest.mark.long
@needs_sdk
async def test_the_form_of_a_call_that_was_stopped_is_withdrawn(tmp_path: Path) -> None:
    async with _opened(tmp_path, "mcp_forms.py", user=None) as bench:
        forms, heard = bench.toolbox.mcp.forms, asyncio.Event()
        forms.heard = heard.set
        call = asyncio.create_task(bench.call("mcp_shop__order", "once"))
        await asyncio.wait_for(heard.wait(), PATIENCE_S)
        (form,) = forms.waiting()
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        async with asyncio.timeout(PATIENCE_S):
            while forms.waiting():
                await asyncio.sleep(0.01)
        assert not await forms.answer(form.id, _accept())


# Fields.


def _field(**row: object) -> FormField:
    (field,) = form_of("shop", "1", _form(x=row)).fields
    return field


@pytest.mark.parametrize(
    ("row", "choices"),
    [
        ({"type": "string", "enum": ["a", "b"]}, (("a", "a"), ("b", "b"))),
        ({"type": "string", "enum": ["a"], "enumNames": ["A\u202e"]}, (("a", "A\\u{202E}"),)),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, (("a", "A"),)),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, (("a", "a"),)),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, (("a", "A"),)),
    ],
)
def test_choices_in_every_spelling(row: dict[str, object], choices: object) -> None:
    assert _field(**row).choices == choices


@pytest.mark.parametrize(
    ("row", "default"),
    [
        ({"type": "string", "default": "x"}, "x"),
        ({"type": "string", "default": 5}, None),
        ({"type": "integer", "default": 5}, 5),
        ({"type": "number", "default": float("inf")}, None),
        ({"type": "integer", "default": True}, None),
        ({"type": "boolean", "default": True}, True),
        ({"type": "string", "enum": ["a"], "default": "b"}, None),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b", "c"]}, ["b"]),
    ],
)
def test_defaults_are_values_that_the_field_can_have(row: dict[str, object], default: object) -> None:
    assert _field(**row).default == default


GOOD: list[tuple[dict[str, object], Value, Value]] = [
    ({"type": "string", "format": "email"}, "ada@example.com", "ada@example.com"),
    ({"type": "string", "format": "uri"}, "mailto:ada@example.com", "mailto:ada@example.com"),
    ({"type": "string", "format": "date"}, "2026-12-31", "2026-12-31"),
    ({"type": "string", "format": "date-time"}, "2026-12-31T10:00:00Z", "2026-12-31T10:00:00Z"),
    ({"type": "string", "format": "unheard-of"}, "x", "x"),
    ({"type": "string", "minLength": 2, "maxLength": 3}, "abc", "abc"),
    ({"type": "integer", "minimum": 1, "maximum": 9}, "9", 9),
    ({"type": "number"}, "1.5", 1.5),
    ({"type": "number"}, "2", 2),
    ({"type": "boolean"}, False, False),
    ({"type": "array", "minItems": 1, "items": {"enum": ["a", "b"]}}, ["a"], ["a"]),
]
BAD: list[tuple[dict[str, object], Value, str]] = [
    ({"type": "string", "format": "email"}, "ada", "like name@example.com"),
    ({"type": "string", "format": "uri"}, "no address", "like https"),
    ({"type": "string", "format": "date"}, "31.12.2026", "like 2026-12-31"),
    ({"type": "string", "format": "date-time"}, "2026-12-31T10:00:00", "like 2026-12-31T18:00:00"),
    ({"type": "string", "minLength": 2}, "a", "at least 2 characters"),
    ({"type": "string", "maxLength": 2}, "abc", "at most 2 characters"),
    ({"type": "integer"}, "1.5", "whole number"),
    ({"type": "number"}, "nan", "must be a number"),
    ({"type": "number"}, "1e400", "must be a number"),
    ({"type": "number", "minimum": 1}, "0", "at least 1"),
    ({"type": "number", "maximum": 1}, "2", "at most 1"),
    ({"type": "array", "minItems": 2, "items": {"enum": ["a", "b"]}}, ["a"], "at least 2 choices"),
    ({"type": "array", "maxItems": 1, "items": {"enum": ["a", "b"]}}, ["a", "b"], "at most 1 choice"),
]


@pytest.mark.parametrize(("row", "entered", "value"), GOOD)
def test_values_are_taken(row: dict[str, object], entered: Value, value: Value) -> None:
    assert field_value(_field(**row), entered) == value
    assert constraints(_field(**row))


@pytest.mark.parametrize(("row", "entered", "told"), BAD)
def test_wrong_values_are_told(row: dict[str, object], entered: Value, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        field_value(_field(**row), entered)


def test_empty_fields_are_left_out_if_they_may_be() -> None:
    asked = _form(a={"type": "string"}, b={"type": "integer"}, c={"type": "array", "items": {"enum": ["x"]}})
    assert form_values(form_of("shop", "1", asked).fields, {"a": "", "c": []}) == {}
    asked["requestedSchema"]["required"] = ["b"]  # type: ignore[index]
    with pytest.raises(UsageError, match="b is required"):
        form_values(form_of("shop", "1", asked).fields, {})


def test_texts_of_a_form_hide_nothing() -> None:
    asked = _form(**{"n\u202e": {"type": "string", "title": "\x1b[2Jt", "description": "\u200bd\n"}})
    asked["message"] = "Please\u202e\x1b]0;x\x07"
    form = form_of("shop", "1", asked)
    (field,) = form.fields
    shown = f"{form.message}{field.title}{field.description}"
    assert {"\u202e", "\x1b", "\u200b", "\x07"}.isdisjoint(shown)
    assert field.name == "n\u202e"  # sent back as it came


@pytest.mark.parametrize("choices", [[], ["x"] * 201, [5, None]])
def test_a_choice_of_nothing_cannot_be_shown(choices: list[object]) -> None:
    values = choices if len(choices) < 10 else [f"x{number}" for number in range(201)]
    with pytest.raises(ToolError):
        _field(type="string", enum=values)
