"""Wire fields laid over a request body, object by object."""

from __future__ import annotations

from collections.abc import Mapping


def merge_fields(body: dict[str, object], fields: Mapping[str, object]) -> None:
    """Lay ``fields`` over ``body``: objects are merged key by key, everything else replaces."""
    for key, value in fields.items():
        before = body.get(key)
        if isinstance(value, Mapping):
            inner = dict(before) if isinstance(before, dict) else {}
            merge_fields(inner, value)
            body[key] = inner
        else:
            body[key] = value
