"""Checks an answer against the JSON Schema of ``--schema``."""

from __future__ import annotations

import json
import math
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from tui.domain.errors import UsageError

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

LARGEST = 1_000_000
_FENCE = re.compile(r"```[a-zA-Z]*")
LONGEST_REASON = 300
MOST_MISMATCHES = 100
"""An answer may be wrong in a million places; one of the first is reported."""
MOST_SECONDS = 5.0
"""A pattern, or definitions that refer to each other twice, can keep a check busy for years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedAnswer:
    """The answer as JSON, or why it is not what was asked for."""

    text: str
    """The JSON as the model wrote it, without a code fence; the whole answer if it is not JSON."""
    value: object = None
    problem: str = ""
    """Empty if the answer fits."""


def read_schema(path: str) -> Mapping[str, object]:
    """Read a JSON Schema from a file; raises UsageError if it is none."""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"The schema `{path}` cannot be read: {error.strerror}.") from None
    if len(data) > LARGEST:
        raise UsageError(f"The schema `{path}` is larger than {LARGEST // 1000:,} KB.")
    try:
        schema = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The schema `{path}` is not JSON: {error}.") from None
    if not isinstance(schema, dict):
        raise UsageError(f"The schema `{path}` is not a JSON object.")
    try:
        with _time_limit(MOST_SECONDS):
            validator_for(schema, default=_default()).check_schema(schema)
    except _TooSlow:
        raise UsageError(f"The schema `{path}` takes too long to check.") from None
    except SchemaError as error:
        raise UsageError(f"`{path}` is not a valid JSON Schema: {_first_line(error)}") from None
    except Exception as error:  # noqa: BLE001 - `$schema` may be a list: the library raises what Python raises
        raise UsageError(f"`{path}` is not a valid JSON Schema: {_as_it_was_raised(error)}") from None
    return schema


def checked_answer(text: str, schema: Mapping[str, object], *, most_seconds: float = MOST_SECONDS) -> CheckedAnswer:
    """Check the text of an answer. References to other files or addresses are not followed."""
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    json_text = _without_fence(text)
    try:
        value = json.loads(json_text, parse_constant=_refuse_constant, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        return CheckedAnswer(text=text, problem=f"The answer is not JSON: {error}.")
    try:
        with _time_limit(most_seconds):
            validator = validator_for(schema, default=_default())(schema, registry=Registry())
            mismatch = best_match(islice(validator.iter_errors(value), MOST_MISMATCHES))
        problem = (
            "" if mismatch is None else f"The answer does not fit at `{mismatch.json_path}`: {_first_line(mismatch)}"
        )
    except Unresolvable as missing:
        problem = f"The answer cannot be checked: the schema refers to `{missing.ref}`, which is not in it."
    except RecursionError:
        problem = "The answer cannot be checked: it nests too deeply."
    except _TooSlow:
        problem = "The answer cannot be checked: that takes too long."
    except Exception as error:  # noqa: BLE001 - a reference may lead to something that is no schema
        problem = f"The answer cannot be checked: the schema is not usable ({_as_it_was_raised(error)})."
    return CheckedAnswer(text=json_text, value=value, problem=problem)


class _TooSlow(Exception):
    """The time is over."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise _TooSlow in the code within, also within a regular expression, which no thread could interrupt.

    Without effect outside the main thread and on Windows, where there are no timers that interrupt.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _default() -> type[Validator]:
    from jsonschema import Draft202012Validator

    return Draft202012Validator


def _without_fence(text: str) -> str:
    """The text inside a code fence, if there is nothing else. A regular expression would be slow."""
    text = text.strip()
    opening, _, inner = text.partition("\n")
    body, newline, closing = inner.rpartition("\n")
    fenced = newline and _FENCE.fullmatch(opening.rstrip()) and closing.strip() == "```"
    return body.strip() if fenced else text


def _finite(word: str) -> float:
    number = float(word)
    if math.isinf(number):
        raise ValueError(f"the number {word[:40]} is too large")
    return number


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not a JSON number")


def _as_it_was_raised(error: Exception) -> str:
    return f"{type(error).__name__}: {_first_line(error)}"


def _first_line(error: Exception) -> str:
    message = str(getattr(error, "message", error)).partition("\n")[0]
    return message if len(message) <= LONGEST_REASON else f"{message[:LONGEST_REASON]}…"
