"""A request as text: curl, pretty JSON, and what is different from the one before."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Mapping

from tui.domain.printable import json_escaped, printable
from tui.ui.markdown.runs import Line, Run


def pretty(body: object) -> str:
    """JSON as people read it."""
    return json.dumps(body, indent=2, ensure_ascii=False, default=str)


def as_curl(request: Mapping[str, object]) -> str:
    """A command that sends it; the masked key must be put in by hand."""
    headers = request.get("headers")
    parts = [f"curl -sS -N -X {request.get('method', 'POST')} {shlex.quote(str(request.get('url', '')))}"]
    if isinstance(headers, Mapping):
        parts += [f"  -H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    body = json_escaped(json.dumps(request.get("body"), ensure_ascii=False, default=str))
    parts.append(f"  --data-binary {shlex.quote(body)}")
    return " \\\n".join(parts)


def diff_lines(before: object, after: object) -> list[Line]:
    """What the next body has that the last had not, and the other way round."""
    rows = difflib.unified_diff(pretty(before).split("\n"), pretty(after).split("\n"), "last", "next", lineterm="", n=3)
    roles = {"+": "diff-added", "-": "diff-removed", "@": "accent"}
    return [[Run(printable(row)[:400], roles.get(row[:1], "code"))] for row in rows]
