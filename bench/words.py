"""Made-up text for benchmarks of the screen: prose, code, tables, cut into tokens of about four characters."""

from __future__ import annotations

import random

WORDS = """
budget cache context delta effort fold glyph header index journal kernel latency meter nested output prompt query
reason signal tensor update vector window yield token stream column answer a of the and to in is for on
""".split()  # noqa: SIM905 - a list would be forty lines


def prose(count: int, seed: int = 1) -> str:
    """Paragraphs with the usual emphasis."""
    draw = random.Random(seed)
    parts: list[str] = []
    size = 0
    while size < count:
        sentences = []
        for _ in range(draw.randint(3, 6)):
            words = [draw.choice(WORDS) for _ in range(draw.randint(8, 16))]
            mark = draw.choice(("", "", "", "**", "`", "*"))
            words[0] = words[0].capitalize()
            words[3] = f"{mark}{words[3]}{mark}"
            sentences.append(" ".join(words) + ".")
        parts.append(" ".join(sentences) + "\n\n")
        size += len(parts[-1])
    return "".join(parts)


def code(count: int, seed: int = 2) -> str:
    """Long fences of Python between short sentences."""
    draw = random.Random(seed)
    parts: list[str] = []
    size = 0
    while size < count:
        lines = []
        for _ in range(60):
            name, other = draw.choice(WORDS), draw.choice(WORDS)
            lines += [
                f"def {name}_{draw.randint(1, 999)}(value: int, {other}: str = '{name}') -> int:",
                f"    # {name} {other}",
                f"    return value * {draw.randint(2, 99)} if {other} else len('{other}')",
                "",
            ]
        parts.append("Like this:\n\n```python\n" + "\n".join(lines) + "\n```\n\n")
        size += len(parts[-1])
    return "".join(parts)


def table(count: int, seed: int = 3) -> str:
    """Tables of sixty rows."""
    draw = random.Random(seed)
    parts: list[str] = []
    size = 0
    while size < count:
        rows = [
            f"| {draw.choice(WORDS)} | {draw.randint(1, 99_999)} | {draw.choice(WORDS)} `{draw.choice(WORDS)}` |\n"
            for _ in range(60)
        ]
        parts.append("In numbers:\n\n| name | value | note |\n|---|---:|---|\n" + "".join(rows) + "\n")
        size += len(parts[-1])
    return "".join(parts)


EVERYTHING = r"""## Part {number}

The integral $\int_{{-\infty}}^{{\infty}} e^{{-x^2}}\,dx = \sqrt{{\pi}}$ and $a_{{{number}}}$ are everywhere.

$$
\sum_{{n=1}}^{{{number}}} \frac{{1}}{{n^2}} < \frac{{\pi^2}}{{6}}, \qquad
A = \begin{{pmatrix}} a & b \\ c & d \end{{pmatrix}}
$$

```mermaid
flowchart TD
    A[Start {number}] --> B{{Is it valid?}}
    B -->|yes| C[Store it]
    B -->|no| D[Reject]
```

> [!WARNING]
> Do not divide by zero.[^{number}]

[^{number}]: A footnote.

```python
def add_{number}(first: int, second: int) -> int:
    return first + second  # a comment that goes on so that the line is wrapped at the edge of some token
```

| name | value | what this column holds |
|---|---:|---|
| alpha | {number} | first, with `code` |

Press <kbd>Ctrl</kbd>+<kbd>C</kbd>. See [the docs](https://example.com/docs).

- [x] done

"""


def everything(count: int, seed: int = 4) -> str:
    """Formulas, diagrams, alerts, footnotes, code, tables and links."""
    part = len(EVERYTHING.format(number=1))
    return "".join(EVERYTHING.format(number=seed + number) for number in range(count // part + 1))[:count]


KINDS = {"prose": prose, "code": code, "table": table, "everything": everything}


def tokens(kind: str, count: int) -> list[str]:
    """So many tokens of a kind."""
    text = KINDS[kind](count * 4 + 8)
    return [text[at : at + 4] for at in range(0, count * 4, 4)]
