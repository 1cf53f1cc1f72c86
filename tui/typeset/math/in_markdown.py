r"""LaTeX in markdown: formulas are extracted before escapes and emphasis can change them.

``\(…\)``, ``\[…\]``, ``$…$``, ``$$…$$`` and ``\begin{…}…\end{…}`` become tokens of their own, ``math_inline`` and
``math_block``, whose content is the source with its delimiters. A dollar sign is a delimiter only if the following text
reads as a formula: prices, shell variables and ends of regular expressions are text. While an answer streams, an
unclosed formula already counts as one (``GROWING`` in the parser's environment).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.domain.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

GROWING = "growing"
"""Key of the parser's environment: the source parsed so far if more may follow, else absent."""
IN_WORD = "in word"
"""Key of the parser's environment: true if a growing source does not end with a blank."""
HIDDEN_BAR = "\ufdd0"
"""Replaces ``|`` inside a formula while cells are separated. It is a noncharacter, so no text contains it."""
MAY_CHANGE = "may change"
"""``info`` of a formula at the end of a text that still grows."""
MATH_FENCE = "math"
"""The language of a code block that is a display."""
MOST_LINES = 64
"""Most lines of one display formula."""
MOST_OPEN = 300
"""Characters after a dollar sign that may still become a formula while the text streams."""

DISPLAY = lazy_regex(r"[ \t]*(?:(?P<dollars>\$\$)|(?P<bracket>\\\[)|\\begin\{(?P<name>[A-Za-z]+\*?)\})")
"""The beginning of a line that opens a display formula."""
AFTER_DISPLAY = lazy_regex(r"[ \t]*(?:[.,;:]|\(\d+\))*[ \t]*")
FENCE = lazy_regex(r"[ \t]*(?:`{3}|~{3})")
BRACKETED = {
    "\\(": lazy_regex(r"\\\((?:[^\\]|\\[^)]){0,4000}?\\\)"),
    "\\[": lazy_regex(r"\\\[(?:[^\\]|\\[^\]]){0,4000}?\\\]"),
}
NUMBER_OR_BOX = lazy_regex(r"[\s\d]*|[xX]")
r"""Content of ``\[…\]`` that means brackets: a reference, or the box of a task list."""
DOUBLE = lazy_regex(r"\$\$(?!\$)((?:[^$\\]|\\.){1,4000}?)\$\$(?!\$)", re.DOTALL)
SINGLE = lazy_regex(r"\$((?>\\text\{[^{}]*(?:\}|\Z)|[^$\\`]|\\[^`]){1,1000}?)\$(?!\$)", re.DOTALL)
TEXT = lazy_regex(r"\\text\{[^{}]*(?:\}|\Z)|\\\$")
"""Where a dollar sign does not end a formula."""
LATEX = lazy_regex(r"\\[A-Za-z]{2}|[\^_]\{|\\[,;!{}|]")
SIGN = lazy_regex(r"\\[A-Za-z,;!{}|%]|[\^_=<>{}]")
"""Characters that occur in formulas, but not in numbers with units, prices and sentences."""
COMMAND = lazy_regex(r"\\[A-Za-z]+\*?(?:\{[^{}]*\})?|\\.")
OPEN_ARGUMENT = lazy_regex(r"\\[A-Za-z]+\*?\{[^{}]*\Z")
PROSE = lazy_regex(
    r"(?<!\S)(?:and|or|to|the|for|per|from|is|are|was|were|of|on|at|by|but|not|with|than|then|you|vs|about)"
    r"(?![^\s,.;:!?])"
    r"|[A-Za-z]{3,}\s+[A-Za-z]{2,}|[A-Za-z]{2,}\s+[A-Za-z]{3,}"
)
VARIABLE = lazy_regex(r"[A-Z]{2,}_[A-Z0-9_]+")
SUFFIX = lazy_regex(r"(?:th|st|nd|rd|s|d|D)(?![A-Za-z0-9])")
"""Letters that may directly follow a formula: the *n*th."""
NOT_BEFORE = frozenset("+*?)]}^\\$_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Characters before a dollar sign that opens nothing: another word, the end of a regular expression."""
NOT_AFTER = frozenset("({_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""Characters after a dollar sign that closes nothing: the next variable or price."""
PATH = lazy_regex(r"""[("'\[<*_]*(?:[A-Za-z]:|\\\\[\w.$-]+)\\""")
"""The beginning of a Windows path."""
BEGINS = lazy_regex(r"[$\\]")
KEPT_ESCAPES = (",", ";")
"""Escapes kept as written outside formulas too: markdown never needs them, LaTeX spacing and `find -exec` do."""


def add_formulas(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    parser.inline.ruler.before("escape", "math_inline", _inline)
    parser.block.ruler.before("table", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def formula_end(text: str, at: int, *, growing: bool = False) -> int:
    """The end of the formula that begins here, or 0; ``growing`` accepts an unclosed one."""
    if text[at] == "\\":
        return _bracketed_end(text, at, growing=growing)
    if text[at] != "$" or (at and text[at - 1] in NOT_BEFORE and not _is_after_emphasis(text, at)):
        return 0
    if text.startswith("$$", at):
        found = DOUBLE.match(text, at)
        if found is not None:
            return found.end() if _reads_as_formula(found[1]) else 0
        rest = text[at + 2 :]
    else:
        found = SINGLE.match(text, at)
        if found is not None:
            return found.end() if _is_closed(found[1], text[found.end() :]) else 0
        rest = text[at + 1 :]
    unclosed = growing and len(rest) <= MOST_OPEN and not any(mark in TEXT.sub("", rest).rstrip("$") for mark in "$`")
    return len(text) if unclosed and rest and _may_become_one(rest) else 0


def _is_after_emphasis(text: str, at: int) -> bool:
    """Whether the stars before a formula open emphasis rather than end a regular expression."""
    begin = at
    while begin and text[begin - 1] == "*":
        begin -= 1
    return 0 < at - begin < 4 and (begin == 0 or text[begin - 1] in " \n(\"'|")


def _bracketed_end(text: str, at: int, *, growing: bool) -> int:
    opener = text[at : at + 2]
    pattern = BRACKETED.get(opener)
    if pattern is None:
        return 0
    found = pattern.match(text, at) if opener[0] + ")]"[opener == "\\["] in text[at:] else None
    if found is None:
        return len(text) if growing or LATEX.search(text, at + 2) else 0
    content, after = found[0][2:-2], text[found.end() : found.end() + 1]
    if opener == "\\[":
        return 0 if NUMBER_OR_BOX.fullmatch(content) or after in tuple("([") else found.end()
    return found.end() if content.strip() else 0


def _is_closed(content: str, after: str) -> bool:
    if after[:1] in NOT_AFTER and not (after[:1].isalpha() and SUFFIX.match(after)):
        return False
    if content[0].isspace() or content[-1].isspace():
        return content[0].isspace() and content[-1].isspace() and LATEX.search(content) is not None
    return _reads_as_formula(content)


def _reads_as_formula(content: str) -> bool:
    text = COMMAND.sub(" \\\\ ", content)
    if PROSE.search(text) or VARIABLE.search(text) or not any(map(str.isalnum, content)):
        return False
    if content.lstrip()[:1].isdecimal() and not SIGN.search(content):
        return re.search(r"[A-Za-z]{3,}|[€£¥]", text) is None
    return True


def _may_become_one(content: str) -> bool:
    content = OPEN_ARGUMENT.sub(r"\\", content)
    if content[0].isspace() or content[0].isdecimal():
        return SIGN.search(content) is not None and PROSE.search(COMMAND.sub(" \\\\ ", content)) is None
    return _reads_as_formula(content) or not any(map(str.isalnum, content))


def _inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as markdown-it calls it
    at = state.pos
    mark = state.src[at]
    if mark not in "$\\":
        return False
    if mark == "\\" and (end := _path_mark_end(state.src, at)):
        if not silent:
            state.pending += state.src[at:end]
        state.pos = end
        return True
    end = formula_end(state.src[: state.posMax], at, growing=_is_open(state))
    if end:
        if not silent:
            token = state.push("math_inline", "", 0)
            token.content = state.src[at:end]
            # The next character may show that it was no formula.
            token.info = MAY_CHANGE if end == state.posMax and state.env.get(IN_WORD) and _is_open(state) else ""
        state.pos = end
    elif mark == "\\" and state.src[at + 1 : at + 2] in KEPT_ESCAPES:
        if not silent:
            state.pending += state.src[at : at + 2]
        state.pos = at + 2
        return True
    return end > 0


def _path_mark_end(text: str, at: int) -> int:
    """The end of the backslashes that separate names of a Windows path here; 0 if this is no path."""
    begin = max(text.rfind(" ", 0, at), text.rfind("\n", 0, at)) + 1
    found = PATH.match(text, begin)
    if found is None or (found.end() <= at and text[at + 1 : at + 2] == "\n"):
        return 0
    if text.startswith("\\\\", at) and at < found.end() - 2:
        return at + 2
    return at + 1 if at >= found.end() - 1 else 0


def _is_open(state: StateInline) -> bool:
    source: str = state.env.get(GROWING, "")
    return bool(source) and source.endswith(state.src.rsplit("\n", 1)[-1])


def display_closer(line: str) -> str:
    """The closing delimiter of the display that this line opens; "" if it opens none, or also closes it."""
    found = DISPLAY.match(line)
    if found is None:
        return ""
    closer = _closer(found)
    return "" if closer in line[found.end() :] else closer


def _closer(opened: re.Match[str]) -> str:
    return "$$" if opened["dollars"] else "\\]" if opened["bracket"] else f"\\end{{{opened['name']}}}"


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - as markdown-it calls it
    if state.is_code_block(start):
        return False
    opened = DISPLAY.match(state.src, state.bMarks[start] + state.tShift[start], state.eMarks[start])
    if opened is None:
        return False
    last = _last_line(state, start, end, opened)
    if not last:
        return False
    if not silent:
        token = state.push("math_block", "", 0)
        token.content = state.getLines(start, last, state.blkIndent, keepLastLF=False)
        token.map = [start, last]
        state.line = last
    return True


def _last_line(state: StateBlock, start: int, end: int, opened: re.Match[str]) -> int:
    """The line below a display formula; 0 if it is none."""
    closer = _closer(opened)
    paragraph = 0
    for line in range(start, min(end, start + MOST_LINES)):
        begin, stop = state.bMarks[line] + state.tShift[line], state.eMarks[line]
        if line == start:
            begin = opened.end()
        elif begin >= stop:
            paragraph = paragraph or line
            continue
        elif state.sCount[line] < state.blkIndent or FENCE.match(state.src, begin, stop):
            break
        at = state.src.find(closer, begin, stop)
        if at >= 0:
            whole = AFTER_DISPLAY.fullmatch(state.src, at + len(closer), stop) is not None
            written = state.src[opened.end() : at]
            return line + 1 if whole and written.strip() and not NUMBER_OR_BOX.fullmatch(written.strip()) else 0
    else:
        if state.env.get(GROWING) and end >= state.lineMax and start + MOST_LINES >= end:
            return end
    # Never closed: the answer was cut off, or it is no formula.
    last = paragraph or min(end, start + MOST_LINES)
    return last if LATEX.search(state.src, opened.end(), state.eMarks[last - 1]) else 0


def hide_bars(source: str, *, growing: bool) -> str:
    """Replace every ``|`` inside a formula, so that it does not end a table cell."""
    if "|" not in source or not BEGINS.search(source):
        return source
    lines = source.split("\n")
    return "\n".join(
        _hidden(line, growing=growing and number == len(lines)) if "|" in line else line
        for number, line in enumerate(lines, 1)
    )


def _hidden(line: str, *, growing: bool) -> str:
    at = 0
    while (found := BEGINS.search(line, at)) is not None:
        at = found.start()
        end = formula_end(line, at, growing=growing)
        formula = line[at:end]
        if end and "|" in formula and _holds_bars(formula):
            line = line[:at] + formula.replace("|", HIDDEN_BAR) + line[end:]
        at = end or at + (2 if line[at] == "\\" else 1)
    return line


def _holds_bars(formula: str) -> bool:
    """Whether the bars belong to the formula: in brackets, escaped, or in pairs without blanks around them."""
    if formula[0] == "\\":
        return True
    depth, outside = 0, 0
    for character in formula.replace("\\|", ""):
        depth += (character in "({[") - (character in ")}]")
        outside += character == "|" and depth <= 0
    return outside == 0 or (outside % 2 == 0 and " | " not in formula)


def show_bars(tokens: Sequence[Token]) -> None:
    """Undo ``hide_bars``."""
    for token in tokens:
        token.content = token.content.replace(HIDDEN_BAR, "|")
        token.info = token.info.replace(HIDDEN_BAR, "|")
        for name, value in token.attrs.items():
            if isinstance(value, str):
                token.attrs[name] = value.replace(HIDDEN_BAR, "|").replace("%EF%B7%90", "|")
        show_bars(token.children or ())
