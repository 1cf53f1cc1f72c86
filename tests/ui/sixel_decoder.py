"""Reads a sixel as a terminal does: which pixels it draws, in which colours."""

from __future__ import annotations

import re

TOKEN = re.compile(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|([$-])|(.)", re.DOTALL)
HEAD = re.compile(r'\x1b?P0;1;0q"1;1;(\d+);(\d+)')
Pixels = dict[tuple[int, int], tuple[int, int, int]]


def decoded_sixel(text: str) -> tuple[tuple[int, int], Pixels]:
    """Its size, and the colour of every pixel that is drawn, in hundredths."""
    head = HEAD.match(text)
    assert head is not None, text[:40]
    registers: dict[int, tuple[int, int, int]] = {}
    pixels: Pixels = {}
    x = top = colour = 0
    for found in TOKEN.finditer(text.removesuffix("\x1b\\"), head.end()):
        number, red, green, blue, times, repeated, single, moved, unknown = found.groups()
        assert unknown is None, found
        if number is not None:
            colour = int(number)
            if red is not None:
                registers[colour] = int(red), int(green), int(blue)
                assert all(0 <= part <= 100 for part in registers[colour])
        elif moved is not None:
            x, top = 0, top + 6 if moved == "-" else top
        else:
            bits = ord(repeated or single) - 63
            end = x + int(times or 1)
            pixels.update(
                {(at, top + bit): registers[colour] for at in range(x, end) for bit in range(6) if bits >> bit & 1}
            )
            x = end
    return (int(head[1]), int(head[2])), pixels
