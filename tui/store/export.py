"""Sessions as markdown and as one self-contained HTML page. ``archive`` has the lossless form.

Control characters are escaped, so that an exported file is safe to print to a terminal.
"""

from __future__ import annotations

import html as html_entities
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import assert_never

from tui.domain.blocks import (
    Block,
    DocumentBlock,
    ImageBlock,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from tui.domain.citations import SourceNumbers, shown_address, shown_title, with_markers
from tui.domain.compression import SummaryRun
from tui.domain.cost import Paid, cost_of, paid_in, without_blocks
from tui.domain.fast_dataclass import dataclass
from tui.domain.fenced import fenced
from tui.domain.format_numbers import count
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line, printable
from tui.domain.web_address import safe_address
from tui.domain.web_search import Source, WebSearch, error_sentence
from tui.typeset.marks import FENCE, FOOTNOTE, REFERENCE

PREVIEW_LENGTH = 2_000
_MARKUP = re.compile(r"[*_`<>\[\]&\\|$\r\0]|^[ \t#+=~:-]|[ \t]$|^\d", re.MULTILINE)
"""Characters that may be markup; text without them consists of plain paragraphs."""
_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&:.-])")
"""Characters that are escaped in the title of a page."""
_ESCAPE = "\\"
_GAP = re.compile(r"\n{2,}")
INTERRUPTED = "*(interrupted before an answer came)*"
NO_TEXT = {"encrypted": "(encrypted)", "hidden by provider": "(hidden by the provider)"}
"""Placeholders for thinking without text."""


class ExportParts(StrEnum):
    """How much of a conversation is exported."""

    ANSWERS = "answers"
    """Prompts and answers."""
    THINKING = "thinking"
    """Also the thinking."""
    ALL = "all"
    """Also tools, retried attempts, models and costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSession:
    """The session to export."""

    title: str
    turns: Iterable[Turn]
    """Consumed while writing, so that a long conversation is never held in memory."""
    conceal: Callable[[str], str]
    """Removes keys from a text."""
    summaries: tuple[SummaryRun, ...] = ()
    """Requests for summaries, with their costs."""
    elsewhere: tuple[Paid, ...] = ()
    """Costs of other branches."""


@dataclass(frozen=True, slots=True)
class _Section:
    kind: str
    """text, thinking or tool; also the CSS class."""
    label: str
    text: str
    code: bool = False
    """Shown verbatim, not as markdown."""


@dataclass(frozen=True, slots=True)
class _Group:
    """The sections under one heading."""

    kind: str
    """prompt, answer or cost; also the CSS class."""
    label: str
    sections: list[_Section]


def markdown(shown: ExportedSession, parts: ExportParts) -> Iterator[str]:
    """Render the active path as markdown, in chunks."""
    yield f"# {one_line(shown.conceal(shown.title), 200) or 'Untitled'}"
    labels: set[str] = set()
    for group in _groups(shown, parts):
        yield f"\n\n## {group.label}"
        for section in group.sections:
            match section.kind:
                case "text":
                    piece = _with_own_labels(section.text, labels)
                case "thinking":
                    quoted = "\n".join(f"> {line}".rstrip() for line in section.text.split("\n"))
                    piece = f"> **{section.label}**\n>\n{quoted}"
                case _:
                    piece = f"**{section.label}**\n\n{fenced(section.text)}"
            yield "\n\n"
            yield piece.rstrip("\n")
    yield "\n"


def _with_own_labels(text: str, used: set[str]) -> str:
    """A text whose footnotes have labels that no text before it has: in one file, the first definition would win."""
    if "[^" not in text:
        return text
    lines, in_fence, own = text.split("\n"), "", dict[str, str]()
    outside: list[int] = []
    for number, line in enumerate(lines):
        mark = FENCE.match(line)
        if mark is not None and (not in_fence or mark[1].startswith(in_fence)):
            in_fence = "" if in_fence else mark[1]
        elif not in_fence:
            outside.append(number)
            defined = FOOTNOTE.match(line)
            if defined is not None:
                label = defined["label"]
                own[label] = next(
                    name for name in (label, *(f"{label}-{n}" for n in range(2, 1_000_000))) if name not in used
                )
    used.update(own.values())
    for number in outside:
        lines[number] = REFERENCE.sub(lambda found: f"[^{own.get(found[1], found[1])}]", lines[number])
    return "\n".join(lines)


def html(shown: ExportedSession, parts: ExportParts) -> Iterator[str]:
    """Render the active path as a page without scripts or external resources, in chunks."""
    from tui.store.export_html import renderer  # Imported here because only these exports need it.

    render = renderer()
    title = html_entities.escape(one_line(shown.conceal(shown.title), 200) or "Untitled")
    head, _, foot = _PAGE.partition("{body}")
    yield head.replace("{title}", title)
    between = ""
    for group in _groups(shown, parts):
        yield f'{between}<section class="{group.kind}"><h2>{html_entities.escape(group.label)}</h2>'
        for section in group.sections:
            yield _html_section(section, render)
        yield "</section>"
        between = "\n"
    yield foot


def _html_section(section: _Section, render: Callable[[str], str]) -> str:
    if section.code:
        content = f"<pre>{html_entities.escape(section.text)}</pre>"
    else:
        content = plain_paragraphs(section.text) or render(section.text)
    if section.kind == "text":
        return content
    label = html_entities.escape(section.label)
    return f'<details class="{section.kind}"><summary>{label}</summary>{content}</details>'


def plain_paragraphs(text: str) -> str:
    """A much faster path for text without markup, with the renderer's output; "" for any other text."""
    if _MARKUP.search(text):
        return ""
    words = text.strip("\n").replace('"', "&quot;")
    return "".join(f"<p>{paragraph}</p>\n" for paragraph in _GAP.split(words) if paragraph)


def preview(turns: Sequence[Turn], left_out: int) -> str:
    """The first and last lines of a session."""
    pieces: list[str] = []
    for number, turn in enumerate(turns):
        if number and left_out:
            pieces.append(f"*… {left_out} more …*")
        for group in _groups(ExportedSession(title="", turns=(turn,), conceal=str), ExportParts.ANSWERS):
            text = "\n\n".join(section.text for section in group.sections)
            words = text[:PREVIEW_LENGTH]
            pieces.append(f"**{group.label}**\n\n{words}{'…' if len(words) < len(text) else ''}")
    return "\n\n".join(pieces)


def _groups(shown: ExportedSession, parts: ExportParts) -> Iterator[_Group]:
    paid: list[Paid] = []
    for turn in shown.turns:
        paid += map(without_blocks, paid_in((turn,)))
        yield from _groups_of(turn, parts, shown.conceal)
    if parts is not ExportParts.ANSWERS and (bill := "\n".join(_cost_lines(shown, paid))):
        yield _Group("cost", "Cost", [_Section("text", "", bill)])


def _groups_of(turn: Turn, parts: ExportParts, conceal: Callable[[str], str]) -> Iterator[_Group]:
    """The prompt under "You", everything else under the model's heading; a missing answer is stated."""
    group: _Group | None = None
    for message in turn.messages:
        if message.superseded and parts is not ExportParts.ALL:
            continue
        sections = [section for section in _sections_of(message, conceal) if _wanted(section, parts)]
        if message.interrupted and not any(section.kind == "text" for section in sections):
            sections.append(_Section("text", "", INTERRUPTED))
        kind, label = ("prompt", "You") if message.role is Role.USER else ("answer", _speaker(message))
        if message.role is Role.TOOL and group is not None and group.kind == "answer":
            label = group.label
        if not sections:
            continue
        if group is None or (group.kind, group.label) != (kind, label):
            if group is not None:
                yield group
            group = _Group(kind, label, [])
        group.sections.extend(sections)
    if group is not None:
        yield group
    answered = any(message.role is Role.ASSISTANT and not message.superseded for message in turn.messages)
    if not answered and not turn.open:
        yield _Group("answer", "No answer", [_Section("text", "", INTERRUPTED)])


def _sections_of(message: Message, conceal: Callable[[str], str]) -> Iterator[_Section]:
    """The sections of a message: a search and its result are one, and the cited sources come last."""
    numbers = SourceNumbers()
    searches: dict[str, WebSearch] = {}
    for block in message.blocks:
        if isinstance(block, OpaqueBlock) and block.search is not None:
            known = searches.get(block.search.id) if block.search.id else None
            searches[block.search.id] = block.search if known is None else known.with_result(block.search)
    for block in with_markers(message.blocks, numbers):
        if isinstance(block, OpaqueBlock) and block.search is not None:
            search = searches.pop(block.search.id, None) if block.search.id else block.search
            if search is not None:
                yield _search_section(search, conceal)
        elif (section := _section(block, conceal)) is not None:
            yield section
    if numbers.sources:
        yield _Section("text", "", conceal("\n".join(["**Sources**", "", *map(_listed, numbers.sources)])))


def _search_section(search: WebSearch, conceal: Callable[[str], str]) -> _Section:
    found = "" if search.results is None else f" ({count(len(search.results), 'result')})"
    lines = [f"{shown_title(page)}\n  {shown_address(page)}".strip() for page in search.results or ()]
    text = "\n".join(filter(None, (error_sentence(search.error), *lines))) or search.subject
    label = ": ".join(
        filter(None, ("Failed web search" if search.error else "Web search", one_line(search.subject, 200)))
    )
    return _Section("tool", _safe(conceal(f"{label}{found}")), _safe(conceal(text)), code=True)


def _listed(page: Source) -> str:
    """An item of a list; only an address that is safe to open becomes a link."""
    address = safe_address(page.url)
    title = _literal(shown_title(page) or shown_address(page))
    if address is None:
        return f"1. {title}" + (f" ({_literal(shown_address(page))})" if page.title and page.url else "")
    return f"1. [{title}](<{address.replace('<', '%3C').replace('>', '%3E').replace(_ESCAPE, '%5C')}>)"


def _literal(text: str) -> str:
    """Text in which nothing is markup."""
    return _MARKS.sub(r"\\\1", text)


def _cost_lines(shown: ExportedSession, paid: Sequence[Paid]) -> Iterator[str]:
    """The total, with one line per part if there are several; nothing if no cost is known."""
    shares: dict[str, list[Paid]] = {}
    here: tuple[Paid, ...] = (*paid, *shown.summaries)
    for request in here:
        name = "unknown" if request.origin is None else f"{request.origin.provider}/{request.origin.model}"
        use = " for summaries of folded turns" if isinstance(request, SummaryRun) and not request.aside else ""
        shares.setdefault(name + use, []).append(request)
    if shown.elsewhere:
        shares["other branches of this session"] = list(shown.elsewhere)
    total = cost_of(request for share in shares.values() for request in share)
    if total.dollars is not None:
        yield f"Session: {total.amount}"
        yield from _cache_line(here)
        if searches := sum(request.usage.searches or 0 for request in here if request.usage is not None):
            yield ""
            yield f"Web searches: {searches:,}, included"
        if len(shares) > 1:
            yield ""
        for name, share in shares.items() if len(shares) > 1 else ():
            yield f"- {_safe(name)}: {cost_of(share).amount}"


def _cache_line(paid: Iterable[Paid]) -> Iterator[str]:
    """The input tokens and what a prompt cache had of them; nothing if none was reported."""
    used = [request.usage for request in paid if request.usage is not None]
    read, written = sum(usage.cache_read or 0 for usage in used), sum(usage.cache_write or 0 for usage in used)
    if read or written:
        cached = ", ".join(f"{tokens:,} {word}" for tokens, word in ((read, "cached"), (written, "written")) if tokens)
        yield ""
        yield f"Input: {count(sum(usage.input or 0 for usage in used), 'token')} ({cached})"


def _wanted(section: _Section, parts: ExportParts) -> bool:
    match parts:
        case ExportParts.ANSWERS:
            return section.kind == "text"
        case ExportParts.THINKING:
            return section.kind != "tool"
        case ExportParts.ALL:
            return True
        case _:
            assert_never(parts)


def _section(block: Block, conceal: Callable[[str], str]) -> _Section | None:
    match block:
        case TextBlock(text=text):
            return _Section("text", "", _safe(conceal(text))) if text.strip() else None
        case ThinkingBlock(text=text):
            words = (
                text
                if text.strip()
                else f"({'encrypted' if block.nature == 'encrypted' else 'hidden by the provider'})"
            )
            return _Section("thinking", _thinking_label(block), _safe(conceal(words)), code=True)
        case ToolCallBlock(name=name, arguments=arguments):
            return _Section("tool", f"Tool: {_safe(name)}", _safe(conceal(_pretty(arguments))), code=True)
        case ToolResultBlock(name=name):
            label = f"{'Failed' if block.failed else 'Result'}: {_safe(name)}"
            return _Section("tool", label, _safe(conceal(_result_text(block))), code=True)
        case ImageBlock() | DocumentBlock():
            return _Section("text", "", f"*({_safe(_attached(block))})*")
        case OpaqueBlock(label=label):
            return _Section("tool", _safe(label), _safe(conceal(_pretty(block.raw))), code=True)
        case _:
            assert_never(block)


def _speaker(message: Message) -> str:
    name = "Answer" if message.origin is None else f"{message.origin.provider}/{message.origin.model}"
    notes = [note for note in (message.interrupted, "retried" if message.superseded else None) if note]
    return _safe(f"{name} ({', '.join(notes)})" if notes else name)


def _thinking_label(block: ThinkingBlock) -> str:
    facts = [
        f"{block.seconds:.0f} s" if block.seconds is not None else "",
        count(block.tokens, "token") if block.tokens is not None else "",
        "" if block.nature in NO_TEXT else block.nature,
    ]
    known = ", ".join(fact for fact in facts if fact)
    return f"Thinking ({known})" if known else "Thinking"


def _result_text(block: ToolResultBlock) -> str:
    return "\n".join(item.text if isinstance(item, TextBlock) else f"({_attached(item)})" for item in block.content)


def _attached(block: ImageBlock | DocumentBlock) -> str:
    if isinstance(block, DocumentBlock):
        return f"document {block.name}"
    return f"picture {block.name}" if block.name else f"picture, {block.media_type}"


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _safe(text: str) -> str:
    return "\t".join(printable(piece) for piece in text.split("\t"))


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: .85rem; opacity: .7; margin: 2rem 0 .25rem; }
.prompt { border-left: 3px solid #888; padding-left: 1rem; }
details { margin: .75rem 0; opacity: .85; }
summary { cursor: pointer; font-size: .85rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .9rem; }
.diagram { white-space: pre; overflow-x: auto; overflow-wrap: normal; line-height: 1.2; }
table { border-collapse: collapse; }
td, th { border: 1px solid #8888; padding: .2rem .5rem; }
blockquote { margin: 1rem 0; border-left: 3px solid #8888; padding-left: 1rem; }
.note { border-color: #4a7bd0; } .tip { border-color: #3a9a5b; } .important { border-color: #8a5bd0; }
.warning { border-color: #b8860b; } .caution { border-color: #c0392b; }
.footnotes { font-size: .85rem; }
kbd { border: 1px solid #8888; border-radius: 4px; padding: 0 .3rem; font-size: .85em; }
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
