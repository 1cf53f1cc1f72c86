"""The wire inspector: the next request exactly as it will be sent, the last exchange, and the difference."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, work
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from tui.app.request_text import as_indented_json, as_text
from tui.catalog.catalog import effective_quirks
from tui.context.bill import Bill, ModelBill
from tui.context.breakpoints import breakpoints
from tui.context.meter import block_sizes
from tui.domain.blocks import Block, TextBlock, ThinkingBlock
from tui.domain.compression import CompressionPreview
from tui.domain.cost import money
from tui.domain.errors import PonderError
from tui.domain.format_numbers import count, duration, input_text, noun, tokens
from tui.domain.listing import ExchangeInfo
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import json_escaped, one_line, printable
from tui.domain.request import Verdict
from tui.domain.usage import Certainty, MeterReading, Part
from tui.engine.session import RequestPreview
from tui.ui.dialogs.sheet import Keys, Sheet
from tui.ui.graphemes import line_within
from tui.ui.markdown.runs import Line, Look, Run, width_of
from tui.ui.panels.json_view import JsonView
from tui.ui.panels.meter_bar import part_counts
from tui.ui.panels.meter_lines import certainty_label
from tui.ui.panels.page import Lines, Page
from tui.ui.terminal.clipboard import put_on_clipboard
from tui.ui.terminal.textual_private import write_to_terminal
from tui.ui.transcript.blocks import with_names
from tui.ui.transcript.usage_line import bill_of

if TYPE_CHECKING:
    from tui.app.chat import ChatService

MOST_PROMPTS = 6
"""Most turns named in the compression preview."""
LEAST_TEXT = 8
"""Columns for the beginning of a block below which it is left out."""
PARTS_COLUMN = 46
"""Columns of a list of parts, the heading included."""
MOST_TURNS = 60
"""Most turns listed block by block; earlier ones are only counted."""


def parts_page(preview: RequestPreview, turns: Sequence[Turn], bill: Bill) -> Lines:
    """The page for a width."""

    def lines(width: int) -> Sequence[Line]:
        return [
            *_plan(preview),
            *_breakpoints(preview, len(turns)),
            [],
            *meter_rows(preview.meter, width),
            [],
            *_compression(preview.compression),
            *bill_page(bill),
            *_turns(preview, turns, width),
        ]

    return lines


def _title(text: str) -> Line:
    return [Run(text, "heading", Look.BOLD)]


def _plan(preview: RequestPreview) -> Iterator[Line]:
    request = preview.request
    yield [
        Run(f"{preview.target.provider.id}/{request.model}", "text", Look.BOLD),
        Run(f"   {one_line(request.plan.summary, 100)}", "muted"),
    ]
    for warning in (*request.plan.warnings, *request.outgoing.warnings):
        yield with_names(f"! {one_line(warning, 200)}", "warning")


def _breakpoints(preview: RequestPreview, turns: int) -> Iterator[Line]:
    target = preview.target
    kept = breakpoints(preview.request, target.facts.wire, effective_quirks(target.provider, target.facts), turns)
    if kept is not None:
        yield [Run(kept.words, "muted")]


def meter_rows(reading: MeterReading, width: int) -> Iterator[Line]:
    """The parts of the next request; beside or below them what is not sent, and the limits."""
    column = min(width, PARTS_COLUMN)
    stored = f"; {tokens(reading.raw)} stored" if tokens(reading.raw) != tokens(reading.effective) else ""
    sent = f"Sent: {tokens(reading.effective)} {noun(reading.effective, 'token')}"
    left: list[Line] = [[*_title(sent), Run(f"   {certainty_label(reading)}{stored}", "muted")]]
    left += [_pair(text, weight, column) for text, weight, colour in part_counts(reading) if colour]
    right: list[Line] = []
    thinking = reading.parts.get(Part.THINKING_STRIPPED, 0)
    replaced = reading.raw - reading.effective - thinking
    not_sent = [row for row in (("thinking", thinking), (REPLACED, replaced)) if row[1] > 0]
    if not_sent:
        title = "Not counted" if reading.uncounted else "Not sent"
        right += [_title(title), *(_pair(text, weight, column) for text, weight in not_sent), []]
    reserved = reading.parts.get(Part.RESERVED, 0) or None
    limits = (
        ("context window", reading.limit),
        ("reserved for the answer", reserved),
        ("compress at", reading.trigger),
    )
    known = [_pair(text, weight, column) for text, weight in limits if weight is not None]
    right += [_title("Limits"), *known] if known else []
    if width < 2 * PARTS_COLUMN + 4:
        yield from (*left, *([[]] if right else []), *right)
        return
    for row in range(max(len(left), len(right))):
        first, second = (lines[row] if row < len(lines) else [] for lines in (left, right))
        gap = column + 4 - sum(width_of(run.text) for run in first)
        yield [*first, Run(" " * gap, "text"), *second] if second else first


def _pair(text: str, weight: int, column: int) -> Line:
    return [Run(f"  {text}".ljust(column - 8), "muted"), Run(tokens(weight).rjust(8), "text")]


def _compression(would: CompressionPreview | None) -> Iterator[Line]:
    """What ``/compress`` would do now."""
    if would is None:
        return
    turns = count(len(would.turns), "turn")
    yield [
        Run(
            f"/compress would compress {turns}: {tokens(would.before)} → "
            f"≈{tokens(would.after)} {noun(would.after, 'token')}",
            "heading",
            Look.BOLD,
        ),
        Run(f"   {one_line(would.writer, 60)} writes the summary", "muted"),
    ]
    for prompt in would.prompts[:MOST_PROMPTS]:
        yield [Run(f"  {one_line(prompt, 100)}", "muted")]
    if len(would.prompts) > MOST_PROMPTS:
        yield [Run(f"  … {len(would.prompts) - MOST_PROMPTS} more", "muted")]
    yield []


def bill_page(bill: Bill) -> Iterator[Line]:
    """The cost so far by model, with thinking on its own line."""
    if not bill.models:
        return
    yield _title(f"Cost: {bill.cost.amount or 'unknown'}")
    for row in bill.models:
        name = one_line(row.name, 60) + (" for summaries" if row.for_summaries else "")
        read = "unknown" if row.input is None else input_text(row.input, row.cached, row.written)
        counts = f"in {read} · out {_output(row)}"
        yield [Run(f"  {name}   ", "text"), Run(f"{counts} · {row.cost.words}", "muted")]
        yield [Run(f"    thinking {_thinking(row)}", "muted")]
        if row.saved is not None:
            yield [Run(f"    saved by the cache {money(row.saved)}", "muted")]
    yield []


def _output(row: ModelBill) -> str:
    """The output without thinking, which has its own row. Includes it if a part of the thinking is unknown."""
    if row.output is None or not (row.thinking or row.thinking_unknown):
        return _count(row.output)
    if row.thinking_unknown:
        return f"{tokens(row.output)} (with thinking)"
    return tokens(max(0, row.output - (row.thinking or 0)))


def _count(count: int | None) -> str:
    return "unknown" if count is None else tokens(count)


def _thinking(row: ModelBill) -> str:
    if row.thinking_unknown and not row.thinking:
        return "unknown"
    least = "at least " if row.thinking_unknown else ""
    of = "the cost" if row.is_share_of_dollars else "the output"
    share = "" if row.thinking_share is None else f" · {row.thinking_share:.0%} of {of}"
    dollars = "cost unknown" if row.thinking_dollars is None else f"{least}{money(row.thinking_dollars)}"
    return f"{least}{_count(row.thinking)}{share} · {dollars}"


def _turns(preview: RequestPreview, turns: Sequence[Turn], width: int) -> Iterator[Line]:
    verdicts: dict[tuple[str, int], Verdict] = {
        (verdict.message_id, verdict.block): verdict for verdict in preview.request.outgoing.verdicts
    }
    shown = list(turns)[-MOST_TURNS:]
    facts, scale = preview.target.facts, preview.meter.scale
    sizes = block_sizes(preview.request.outgoing, shown, facts, scale=scale)
    reasons = {_reason(verdicts.get(position)) for position in sizes}
    column = max((width_of(reason) for reason in reasons), default=0)
    if shown:
        yield [Run("≈ counts a block alone; the sums above include what surrounds it.", "muted")]
    if len(shown) < len(turns):
        yield [Run(f"Not listed: {count(len(turns) - len(shown), 'earlier turn')}.", "muted")]
    for number, turn in enumerate(shown, len(turns) - len(shown) + 1):
        yield from ([], _title(f"Turn {number}"))
        for message in turn.messages:
            for index, block in enumerate(message.blocks):
                position = (message.id, index)
                yield _block(message, block, verdicts.get(position), sizes[position], width, column)
            if message.role is Role.ASSISTANT and (bill := bill_of((message,))):
                yield [Run(f"  reported    {one_line(bill, max(8, width - 14))}", "muted")]


REPLACED = "replaced by a summary"
NOT_SENT = "not sent: "
"""The start of a reason, omitted where the row says it already."""


def round_trip(preview: RequestPreview, message_id: str) -> str:
    """Whether an answer's thinking is sent with the next request, and the reason if not."""
    about = [verdict for verdict in preview.request.outgoing.verdicts if verdict.message_id == message_id]
    thinking = [verdict for verdict in about if verdict.kind == "thinking"]
    if not about:
        return "This answer is not sent: a summary replaces it."
    if not thinking:
        return "This answer has no thinking."
    reasons = sorted({verdict.reason.value.removeprefix(NOT_SENT) for verdict in thinking if not verdict.sent})
    if not reasons:
        return "The thinking of this answer is sent with the next request."
    return f"The thinking of this answer is not sent: {', '.join(reasons)}."


def _reason(verdict: Verdict | None) -> str:
    """Why a block is not sent, or what is special about sending it; "" if nothing."""
    reason = verdict.reason.value.removeprefix(NOT_SENT) if verdict is not None else REPLACED
    return "" if reason == "sent" else reason


def _block(message: Message, block: Block, verdict: Verdict | None, size: int, width: int, reason_column: int) -> Line:
    """A row; the reason at its right end has a column of this width."""
    sent = verdict is not None and verdict.sent
    mark = Run("  ✓ sent      ", "success") if sent else Run("  ✗ not sent  ", "warning")
    count = f"≈{tokens(size)}".rjust(8)
    kind = _kind(message, block).ljust(22)
    room = width - 14 - 8 - 2 - 22 - (reason_column + 2 if reason_column else 0)
    text = line_within(as_text(block), room) if room > LEAST_TEXT else ""
    gap = " " * (room - width_of(text) + 2) if room > LEAST_TEXT else "  "
    reason = f"{gap}{reason}" if (reason := _reason(verdict)) else ""
    return [
        mark,
        Run(count + "  ", "text"),
        Run(kind, "text" if sent else "muted"),
        Run(text, "muted"),
        Run(reason, "accent" if sent else "warning"),
    ]


def _kind(message: Message, block: Block) -> str:
    """The label that the meter uses: you, answer, thinking."""
    match block:
        case TextBlock() if message.role is Role.ASSISTANT:
            return "answer"
        case TextBlock() if message.role is Role.USER:
            return "you"
        case ThinkingBlock():
            return "thinking"
        case _:
            mine = "you, " if message.role is Role.USER else ""
            return mine + block.kind.replace("_", " ")


def as_curl(request: Mapping[str, object]) -> str:
    """A curl command that sends the request; the key is masked and must be inserted by hand."""
    headers = request.get("headers")
    parts = [f"curl -sS -N -X {request.get('method', 'POST')} {shlex.quote(str(request.get('url', '')))}"]
    if isinstance(headers, Mapping):
        parts += [f"  -H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
    body = json_escaped(json.dumps(request.get("body"), ensure_ascii=False, default=str))
    parts.append(f"  --data-binary {shlex.quote(body)}")
    return " \\\n".join(parts)


def diff_lines(before: object, after: object) -> list[Line]:
    """The differences between the last request body and the next."""
    rows = difflib.unified_diff(
        as_indented_json(before).split("\n"), as_indented_json(after).split("\n"), "last", "next", lineterm="", n=3
    )
    roles = {"+": "diff-added", "-": "diff-removed", "@": "accent"}
    return [[Run(printable(row)[:400], roles.get(row[:1], "code"))] for row in rows]


TABS = ("Parts", "Request", "Last exchange", "Diff to last")
MOST_EVENTS = 3_000
LONGEST_EVENT = 400


class Inspector(Sheet[None]):
    """Four pages about one preview."""

    TITLE_WORDS = "Wire inspector"
    SHAPE: ClassVar[str] = "-wide"
    FITS: ClassVar[bool] = True
    KEYS: ClassVar[Keys] = (
        ("tab", "page"),
        ("up down", "scroll"),
        ("space", "fold"),
        ("c", "copy as curl"),
        ("s", "save"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,right", "turn(1)", "next", show=False, priority=True),
        Binding("shift+tab,left", "turn(-1)", "previous", show=False, priority=True),
        *(Binding(str(number + 1), f"go({number})", tab, show=False) for number, tab in enumerate(TABS)),
        Binding("c", "curl", "copy as curl", show=False),
        Binding("s", "save", "save", show=False),
    ]

    def __init__(self, service: ChatService, draft: str, answer: str = "") -> None:
        super().__init__()
        self._answer = answer
        """The message under the cursor; its verdict is shown above the pages."""
        self._service = service
        self._draft = draft
        self._at = 0
        self._request: Mapping[str, object] = {}

    def inside(self) -> Sequence[Widget]:
        """Tabs above a page and a tree, of which one is visible."""
        theme_styles = self.ponder.theming.sheet_styles(self.ponder)
        self._tabs = Static("", markup=False, classes="tabs")
        self._page = Page(theme_styles)
        self._tree = JsonView(theme_styles)
        self._tree.display = False
        self._verdict = Static("", markup=False, classes="found")
        self._verdict.display = False
        return (self._tabs, self._verdict, self._page, self._tree)

    def on_mount(self) -> None:
        """Build the preview."""
        self._show_tabs()
        self._page.focus()
        self._load()

    @work(exclusive=True)
    async def _load(self) -> None:
        try:
            self._preview = await self._service.preview(self._draft)
            self._request = await self._service.wire_preview(self._draft)
        except PonderError as error:
            text = error.message
            self._page.show(lambda _: [[Run(text, "error")]])
            return
        meter = self._preview.meter
        word = "reported" if meter.certainty is Certainty.REPORTED else "≈"
        if self._answer:
            self._verdict.update(Content.styled(round_trip(self._preview, self._answer) + "\n", "bold $foreground"))
            self._verdict.display = True
        self.note(f"{word} {count(meter.effective, 'token')} to {self._preview.target.provider.id}")
        self.action_go(self._at)

    def _show_tabs(self) -> None:
        line = Content("")
        for number, tab in enumerate(TABS):
            style = "bold reverse $focus" if number == self._at else "$quiet"
            line = line + Content.styled(f" {number + 1} {tab} ", style) + Content(" ")
        self._tabs.update(line)

    def on_click(self, event: events.Click) -> None:
        """Show the page whose tab was clicked."""
        offset = event.get_content_offset(self._tabs)
        start = 0
        for number, tab in enumerate(TABS):
            end = start + len(tab) + 5
            if offset is not None and start <= offset.x < end:
                self.action_go(number)
            start = end

    def action_turn(self, step: int) -> None:
        """Show the next page."""
        self.action_go((self._at + step) % len(TABS))

    def action_go(self, number: int) -> None:
        """Show the page with this number."""
        self._at = number
        self._show_tabs()
        if not self._request:
            return
        tree = number == 1
        self._page.display, self._tree.display = not tree, tree
        (self._tree if tree else self._page).focus()
        if number == 0:
            view = self.ponder.chat.view()
            turns = view.turns if view is not None else ()
            self._page.show(parts_page(self._preview, turns, self._service.bill()))
        elif number == 1:
            self._tree.show_value(dict(self._request))
        else:
            lines = exchange_lines(self._service.last_exchange()) if number == 2 else self._difference()
            self._page.show(lambda _: lines)
        self.call_after_refresh(self.fit, self._tree if tree else self._page)

    def _difference(self) -> list[Line]:
        last = self._service.last_exchange()
        if last is None:
            return [[Run("Nothing was sent yet.", "muted")]]
        found = diff_lines(last.request.get("body"), self._request.get("body"))
        return found or [[Run("The next request is the same as the last.", "muted")]]

    def action_curl(self) -> None:
        """Copy the request as a curl command."""
        if not self._request:
            self.say("No request to copy yet.")
            return
        try:
            how = put_on_clipboard(as_curl(self._request), lambda sequence: write_to_terminal(self.app, sequence))
            self.say(f"Copied as a curl command{how}. Insert your key.")
        except PonderError as error:
            self.show_error(error)

    def action_save(self) -> None:
        """Write the request to a file in the working directory."""
        if not self._request:
            self.say("No request to save yet.")
            return
        path = Path("ponder-request.json")
        try:
            path.write_text(as_indented_json(self._request), encoding="utf-8")
            path.chmod(0o600)
        except OSError as error:
            self.say(f"Cannot write {path.name}: {error.strerror}.")
            return
        self.say(f"Written to {path.name}. Keys are masked.")


def exchange_lines(last: ExchangeInfo | None) -> list[Line]:
    """The last exchange: address, duration, and every event received."""
    if last is None:
        return [[Run("Nothing was sent yet.", "muted")]]
    lines: list[Line] = [
        [
            Run(
                f"{last.request.get('method', '')} {one_line(str(last.request.get('url', '')), 200)}",
                "text",
                Look.BOLD,
            )
        ]
    ]
    headers = last.request.get("headers")
    if isinstance(headers, Mapping):
        lines.extend([Run(f"  {one_line(f'{name}: {value}', 300)}", "muted")] for name, value in headers.items())
    if last.seconds is not None:
        lines.append([Run(f"took {duration(last.seconds)}", "text")])
    lines.append([])
    lines.extend(
        [Run(printable(event).replace("\n", " ")[:LONGEST_EVENT], "code")] for event in last.events[:MOST_EVENTS]
    )
    if len(last.events) > MOST_EVENTS:
        lines.append([Run(f"… {len(last.events) - MOST_EVENTS:,} more events", "muted")])
    return lines
