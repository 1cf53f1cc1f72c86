"""Reads formulas written in LaTeX. Tolerant of what people write, strict about what it does not know.

Everything unknown raises, because a formula that lacks a part is wrong, while its source is only hard to read.
"""

from __future__ import annotations

import re

from tui.typeset.math.commands import COMMANDS, infix, sized
from tui.typeset.math.nodes import CannotSetError, Fence, Grid, Node, Row, Script, Space, Symbol
from tui.typeset.math.spacing import BEFORE_SIGN, sides_of
from tui.typeset.math.vocabulary import CHARACTERS, SIZES, SYMBOLS, in_font

LONGEST = 4_000
"""Characters of the longest formula that is set."""
MOST_ATOMS = 1_200
"""Symbols and commands of the largest formula that is set, so that none takes longer than a frame."""
DEEPEST = 40
"""Nested groups; no real formula has more."""
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
PRIMES = {1: "′", 2: "″", 3: "‴"}
INFIX = frozenset(("\\over", "\\choose", "\\atop", "\\brace", "\\brack"))
DELIMITED = re.compile(r"\s*(?:\$\$(?P<two>.*)\$\$|\$(?P<one>.*)\$|\\\[(?P<square>.*)\\\]|\\\((?P<round>.*)\\\))", re.S)
AFTER = re.compile(r"((?:[.,;:]|\(\d+\))*)[ \t]*\Z")
"""What may follow a display on its line."""
ENDS = frozenset(("}", "&", "\\\\", "\\cr", "\\end", "\\right", "\\middle"))


def read(source: str) -> Node:
    """Read a formula with its delimiters, and the punctuation behind a display."""
    if len(source) > LONGEST or CONTROL.search(source):
        raise CannotSetError("too long, or with control characters")
    found = DELIMITED.match(source)
    after = AFTER.match(source, found.end()) if found is not None else None
    if found is None or after is None:
        if not source.lstrip().startswith("\\begin{"):
            raise CannotSetError("it is not closed")
        return parse(source)
    content = found[found.lastgroup or 0]
    if not content.strip():
        raise CannotSetError("empty")
    node = parse(content)
    return with_end(node, Symbol(after[1])) if after[1] else node


def with_end(node: Node, end: Symbol) -> Node:
    """The formula and the punctuation behind it."""
    if isinstance(node, Grid) and node.kind == "lines" and node.rows:
        *rows, last = node.rows
        return node._replace(rows=(*rows, (*last[:-1], row_of([last[-1], end]))))
    return row_of([node, end])


def parse(content: str) -> Node:
    """Read a formula without delimiters. ``\\\\`` and ``&`` outside of an environment make lines of a display."""
    parser = Parser(content)
    rows, tags = parser.rows(end="")
    if len(rows) == 1 and len(rows[0]) == 1 and not any(tags):
        return rows[0][0]
    align = "rl" if any(len(row) > 1 for row in rows) else "c"
    return Grid(tuple(rows), align, kind="lines", tags=tuple(tags))


def row_of(items: list[Node]) -> Node:
    """The items as one node."""
    return items[0] if len(items) == 1 else Row(tuple(items))


BARS = ("|", "‖")
MOST_BARS = 8
"""Bars that may be open at once."""


def paired(items: list[Node]) -> list[Node]:
    """The items, with everything between brackets or bars as one node."""
    found: list[Node] = []
    opened: list[int] = []
    for item in items:
        base = item.base if isinstance(item, Script) else item
        side = _side(base, found, opened) if isinstance(base, Symbol) else ""
        if side == "open" and isinstance(item, Symbol):
            opened.append(len(found))
        elif side == "close" and isinstance(base, Symbol):
            start = _opener(base, found, opened)
            if start is not None:
                is_open = start < len(found) and start in opened
                left = found[start].text if is_open else ""  # type: ignore[union-attr]
                del opened[opened.index(start) if is_open else len(opened) :]
                fence = Fence(left, (row_of(found[start + is_open :]),), (), base.text)
                found[start:] = [item._replace(base=fence) if isinstance(item, Script) else fence]
                continue
        found.append(item)
    return found


def _side(base: Symbol, found: list[Node], opened: list[int]) -> str:
    """Whether a symbol opens or closes something; bars do what their place allows."""
    if base.text in BARS and base.kind == "ord":
        atoms = [item for item in found[-2:] if not isinstance(item, Space)]
        is_after_bar = bool(opened) and opened[-1] == len(found) - 1
        before = sides_of(atoms[-1]).right if atoms else ""
        if not is_after_bar and before not in BEFORE_SIGN:
            return "close"
        return "open" if len(opened) < MOST_BARS else ""
    return base.kind if base.kind in ("open", "close") and base.text not in ("!", "?") else ""


def _opener(base: Symbol, found: list[Node], opened: list[int]) -> int | None:
    """Where the part begins that this symbol closes."""
    for start in reversed(opened):
        left = found[start]
        is_bar = isinstance(left, Symbol) and left.text in BARS
        if not is_bar or base.text == "⟩" or (isinstance(left, Symbol) and left.text == base.text):
            return start if not (base.text in BARS and not is_bar) else None
    if base.text in BARS and base.kind == "close":  # a bar that was enlarged by hand, after what it limits
        kinds = [sides_of(item).left for item in found]
        return max((at + 1 for at, kind in enumerate(kinds) if kind in ("rel", "bin", "punct")), default=0)
    return None


class Parser:
    """A position in the tokens of a formula."""

    def __init__(self, source: str) -> None:
        self._tokens: list[str] = TOKEN.findall(source)
        self._at = 0
        self._depth = 0
        self._atoms = 0
        self.font = "plain"
        self.tag = ""
        """Of the line that is being read."""
        self.lined: set[int] = set()
        """Rows of the innermost grid with a line above them."""
        self.row_number = 0

    # Tokens

    def peek(self) -> str:
        """The next token; "" at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def next(self) -> str:
        """Take the next token."""
        token = self.peek()
        if not token:
            raise CannotSetError("the formula ends too early")
        self._at += 1
        return token

    def take(self, token: str) -> bool:
        """Take this token, after blanks, if it is the next one."""
        at = self._at
        self.skip_blanks()
        if self.peek() == token:
            self._at += 1
            return True
        self._at = at
        return False

    def skip_blanks(self) -> None:
        while self.peek().isspace():
            self._at += 1

    def raw(self) -> str:
        """The characters of a group, or the next token."""
        if not self.take("{"):
            self.skip_blanks()
            return self.next()
        start, depth = self._at, 1
        while depth:
            token = self.next()
            depth += (token == "{") - (token == "}")
        return "".join(self._tokens[start : self._at - 1])

    def optional_raw(self) -> str | None:
        """The characters of an argument in brackets."""
        if not self.take("["):
            return None
        start = self._at
        while self.next() != "]":
            pass
        return "".join(self._tokens[start : self._at - 1])

    # Formulas

    def argument(self) -> Node:
        """A group, or one symbol or command."""
        if self.take("{"):
            return self.group("}")
        self.skip_blanks()
        if self.peek() in ENDS:
            raise CannotSetError("an argument is missing")
        found = self._atom()
        while found is None:
            self.skip_blanks()
            found = self._atom()
        return found

    def optional(self) -> Node | None:
        """An argument in brackets."""
        return self.group("]") if self.take("[") else None

    def group(self, end: str) -> Node:
        """The content up to the end, which is taken as well."""
        font = self.font
        found = self.row(end)
        self.font = font
        if self.next() != end:
            raise CannotSetError(f"{end} is missing")
        return found

    def row(self, end: str = "") -> Node:
        """Atoms with their scripts, up to an end."""
        outer = self._depth
        self._deeper()
        items: list[Node] = []
        while (token := self.peek()) and token != end and token not in ENDS:
            if token.isspace():
                self._at += 1
                continue
            if token in INFIX:
                items = [self._infix(row_of(items), end)]
                continue
            atom = Symbol("") if token in ("^", "_", "'", "’") else self._atom()
            if atom is not None:
                items.append(self._scripted(atom))
            if isinstance(atom, Symbol) and atom.kind == "open":
                self._deeper()
            elif isinstance(atom, Symbol) and atom.kind == "close" and self._depth > outer + 1:
                self._depth -= 1
        self._depth = outer
        return row_of(paired(items))

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise CannotSetError("too deep")

    def rows(self, end: str) -> tuple[list[tuple[Node, ...]], list[str]]:
        """Rows of cells up to ``\\end{…}``, which is taken as well, with the tag of each."""
        found: list[tuple[Node, ...]] = []
        tags: list[str] = []
        cells: list[Node] = []
        outer = (self.tag, self.lined, self.row_number, self.font)
        self.tag, self.lined, self.row_number = "", set(), 0
        while True:
            cells.append(self.row())
            self.font = outer[3]
            token = self.peek()
            if token == "&":
                self._at += 1
                continue
            if not is_empty(cells) or token not in ("\\end", ""):
                found.append(tuple(cells))
                tags.append(self.tag)
            cells, self.tag = [], ""
            if token not in ("\\\\", "\\cr"):
                break
            self._at += 1
            self.row_number += 1
            self._skip_row_options()
        self._end(end)
        self.tag, lined, self.row_number, self.font = outer[0], self.lined, outer[2], outer[3]
        self.lined = outer[1]
        self.last_lined = frozenset(lined)
        return found, tags

    last_lined: frozenset[int] = frozenset()
    """Rows with a line above them, of the grid that was read last."""

    def _end(self, end: str) -> None:
        if not end:
            if self.peek():
                raise CannotSetError(f"{self.peek()} without a beginning")
            return
        if self.next() != "\\end" or self.raw() != end:
            raise CannotSetError(f"\\end{{{end}}} is missing")

    def _skip_row_options(self) -> None:
        """Skip the star and the distance that may follow ``\\\\``."""
        self.take("*")
        at = self._at
        if self.take("["):
            self._at = at
            found = self.optional_raw() or ""
            if not re.fullmatch(r"\s*-?[\d.]*\s*\\?[A-Za-z]*\s*", found) or not found[:1].strip("abcdefghijklm"):
                self._at = at

    def _infix(self, above: Node, end: str) -> Node:
        return infix(self.next(), above, self.row(end))

    def _atom(self) -> Node | None:
        token = self.next()
        self._atoms += not token.isspace()
        if self._atoms > MOST_ATOMS:
            raise CannotSetError("too many symbols")
        if token.isascii() and token.isalnum() and self.font == "plain":
            return Symbol(token)
        if token[0] == "\\" and len(token) > 1:
            return self._command(token[1:])
        if token == "{" or token.isspace():
            return self._braced() if token == "{" else None
        if token in ("^", "_", "}", "&", "\\", "$"):
            raise CannotSetError(f"{token} is out of place")
        if token == "~":
            return Space(1)
        if token == "," and self._is_within_number():
            return Symbol(",")
        found = CHARACTERS.get(token)
        return found if found is not None else Symbol(in_font(self.font, token))

    def _braced(self) -> Node:
        """A group; a symbol alone in braces is set without the blanks of its class."""
        found = self.group("}")
        if isinstance(found, Symbol) and found.kind in ("bin", "rel", "punct"):
            return found._replace(kind="ord")
        return found

    def _is_within_number(self) -> bool:
        """Whether a comma separates thousands."""
        before = self._tokens[self._at - 2] if self._at > 1 else ""
        after = self._tokens[self._at : self._at + 4]
        digits = len(after) >= 3 and all(token.isdecimal() for token in after[:3])
        return before.isdecimal() and digits and not (len(after) > 3 and after[3].isdecimal())

    def _command(self, name: str) -> Node | None:
        handler = COMMANDS.get(name)
        if handler is not None:
            return handler(self, name)
        symbol = SYMBOLS.get(name)
        if symbol is None:
            if name in SIZES:
                return sized(self, name)
            raise CannotSetError(f"\\{name} is not known")
        if self.font == "bold" and symbol.kind == "ord":
            return Symbol(in_font("bold", symbol.text))
        return symbol

    def _scripted(self, atom: Node) -> Node:
        """The atom with the scripts that follow it."""
        if self._at < len(self._tokens) and self._tokens[self._at].isalnum():
            return atom
        below: Node | None = None
        above: list[Node] = []
        limits: bool | None = None
        while True:
            at = self._at
            self.skip_blanks()
            token = self.peek()
            if token in ("'", "’"):
                above.append(Symbol(self._primes()))
            elif token == "^" and not any(not is_prime(part) for part in above):
                self._at += 1
                above.append(self.argument())
            elif token == "_" and below is None:
                self._at += 1
                below = self.argument()
            elif token in ("^", "_"):
                raise CannotSetError("two scripts in one place")
            elif token in ("\\limits", "\\nolimits", "\\displaylimits"):
                self._at += 1
                limits = token != "\\nolimits"
            else:
                self._at = at
                break
        if below is None and not above:
            return atom
        return Script(atom, below, row_of(above) if above else None, limits)

    def _primes(self) -> str:
        count = 0
        while self.peek() in ("'", "’") and self.peek():
            self._at += 1
            count += 1
        return PRIMES.get(count) or "′" * count


def is_prime(node: Node) -> bool:
    return isinstance(node, Symbol) and bool(node.text) and not node.text.strip("′″‴")


def is_empty(cells: list[Node]) -> bool:
    return len(cells) == 1 and cells[0] == Row()
