"""Finding places of the conversation: by words, by the outline, by earlier prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tui.domain.blocks import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from tui.domain.errors import UsageError
from tui.domain.format_numbers import count, duration
from tui.domain.messages import Message, Role, Turn
from tui.domain.printable import one_line
from tui.domain.search_terms import SearchTerms
from tui.linear.inline_text import inline_text
from tui.linear.questions import Choice, NotAnswered
from tui.linear.turn_text import prompt_of, turn_lines

if TYPE_CHECKING:
    from tui.linear.app import LinearApp

AROUND = 60
"""Characters printed on both sides of a match."""
MOST_HITS = 500
HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>[^\n]*)$", re.MULTILINE)
FENCED = re.compile(r"^ *(?P<mark>`{3,}|~{3,}).*?(?:^ *(?P=mark)|\Z)", re.MULTILINE | re.DOTALL)


async def find(app: LinearApp, query: str) -> None:
    """List the matches of a text; a number prints the turn, which is then the chosen one."""
    if not query.strip():
        try:
            query = await app.questions.line("Find: ")
        except NotAnswered:
            return
        if not query:
            return
    turns = app.conversation.view().turns
    rows = [row for number, turn in enumerate(turns) for row in hits(turn, number, SearchTerms(query.strip()))]
    if not rows:
        app.out.say([f"No match for {query}."])
        return
    await _print_chosen(app, f"{count(len(rows), 'match', 'matches')}:", rows[:MOST_HITS], turns)


def hits(turn: Turn, number: int, terms: SearchTerms) -> list[Choice]:
    """The matches in a turn, with the words around them."""
    found: list[Choice] = []
    for message in turn.messages:
        for part, text in texts_of(message):
            for begin, end in terms.spans(text):
                around = one_line(text[max(0, begin - AROUND) : end + AROUND], 2 * AROUND + (end - begin) + 2)
                found.append(Choice(str(number), f"turn {number + 1}, {part}: {around}"))
    return found


def texts_of(message: Message) -> Iterator[tuple[str, str]]:
    """The texts of a message, each with what it is."""
    own = "you" if message.role is Role.USER else "answer"
    for block in message.blocks:
        match block:
            case TextBlock(text=text):
                yield own, text
            case ThinkingBlock(text=text) if text:
                yield "thinking", text
            case ToolCallBlock(name=name, arguments=arguments):
                yield f"call of {name}", arguments
            case ToolResultBlock(name=name, content=content):
                text = "\n".join(part.text for part in content if isinstance(part, TextBlock))
                yield f"output of {name}", text
            case _:
                pass


async def outline(app: LinearApp, argument: str) -> None:
    """List prompts and headings; a number prints the turn, which is then the chosen one."""
    turns = app.conversation.view().turns
    if argument == "thinking":
        rows = [row for number, turn in enumerate(turns) for row in thinking_rows(turn, number)]
    else:
        rows = [row for number, turn in enumerate(turns) for row in outline_rows(turn, number)]
    if not rows:
        raise UsageError("There is no thinking to list." if argument else "There is nothing to list yet.")
    await _print_chosen(app, "Outline:", rows, turns)


def outline_rows(turn: Turn, number: int) -> list[Choice]:
    """The prompt and the headings of a turn."""
    rows = [Choice(str(number), f"turn {number + 1}: {one_line(prompt_of(turn), 120) or 'no text'}")]
    for message in turn.messages:
        for part, text in texts_of(message):
            if part == "answer":
                bare = FENCED.sub("", text)
                # The closing marks are cut here: a pattern that looks for them takes quadratic time for `# # # …`.
                titles = [row["title"].rstrip(" \t#") for row in HEADING.finditer(bare)]
                rows += [Choice(str(number), f"heading: {inline_text(title)}") for title in titles]
    return rows


def thinking_rows(turn: Turn, number: int) -> list[Choice]:
    """The thinking of a turn, with its length and first words."""
    rows: list[Choice] = []
    for message in turn.messages:
        for block in message.blocks:
            if isinstance(block, ThinkingBlock) and block.text:
                seconds = f"{duration(block.seconds)}, " if block.seconds is not None else ""
                rows.append(Choice(f"{number} thinking", f"turn {number + 1}: {seconds}{one_line(block.text, 120)}"))
    return rows


async def _print_chosen(app: LinearApp, title: str, rows: Sequence[Choice], turns: Sequence[Turn]) -> None:
    chosen = await app.questions.choose([title], rows, find=True)
    if chosen is None:
        return
    number, _, part = chosen.partition(" ")
    turn = turns[int(number)]
    app.conversation.chosen_turn = turn.id
    app.out.say(turn_lines(turn, int(number) + 1, len(turns), thinking=part == "thinking"))
    app.out.say(["/edit, /retry, /fork, /branch and /copy act on this turn until you send a prompt."])


async def choose_prompt(app: LinearApp) -> None:
    """List earlier prompts, newest first; a number makes one the draft."""
    prompts = list(reversed(app.services.drafts.prompt_history()))
    if not prompts:
        app.out.say(["There are no earlier prompts."])
        return
    rows = [Choice(str(number), one_line(prompt, 160)) for number, prompt in enumerate(prompts)]
    chosen = await app.questions.choose(["Earlier prompts:"], rows, find=True)
    if chosen is not None:
        app.context().screen.put_draft(prompts[int(chosen)])
