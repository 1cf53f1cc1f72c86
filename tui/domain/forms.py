"""Forms that MCP servers ask the user to fill in, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Literal

from tui.domain.fast_dataclass import dataclass

Value = str | int | float | bool | list[str]


class FieldKind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "whole number"
    YES_NO = "yes or no"
    CHOICE = "one of several"
    CHOICES = "some of several"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """A value to enter. All texts are safe to print, except ``name`` and the values of choices, which are sent back."""

    name: str
    title: str
    kind: FieldKind
    description: str = ""
    required: bool = False
    default: Value | None = None
    choices: tuple[tuple[str, str], ...] = ()
    """(value, text of its row)."""
    format: str = ""
    """``email``, ``uri``, ``date`` or ``date-time``, for texts."""
    least: float | None = None
    """The smallest number, the shortest text, or the fewest choices."""
    most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a server asks for: fields, or that the user visits an address."""

    id: str
    server: str
    message: str
    fields: tuple[FormField, ...] = ()
    address: str = ""
    """The address to visit; "" for a form with fields."""
    is_login: bool = False
    """ponder asks for a login at the server; the field takes the address to which the browser was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormAnswer:
    """``decline`` refuses; ``cancel`` gives no answer."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, Value] = field(default_factory=dict)
