"""Chips: what is too long or too binary to stand in the composer, as a short word that stands for it."""

from __future__ import annotations

import re

from tui.domain.blocks import Block, ImageBlock, TextBlock
from tui.domain.value import dataclass

PASTE_LINES = 12
PASTE_CHARACTERS = 1_200
"""A paste beyond either becomes a chip."""
MAX_PASTE = 1_000_000
"""Characters of a paste that are taken at all."""

CHIP = re.compile(r"⟦[^⟦⟧\n]{1,120}⟧")


@dataclass(frozen=True, slots=True)
class Draft:
    """What will be sent, and what was cut off on the way."""

    blocks: tuple[Block, ...]


class Chips:
    """Chips of one draft by their word."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._blocks: dict[str, Block] = {}

    def paste(self, text: str) -> tuple[str, bool]:
        """What to put into the composer for a paste, and whether some of it was cut off."""
        cut = len(text) > MAX_PASTE
        text = text[:MAX_PASTE]
        lines = text.count("\n") + 1
        if lines <= PASTE_LINES and len(text) <= PASTE_CHARACTERS:
            return text, cut
        word = self._free(f"pasted {lines:,} lines" if lines > 1 else f"pasted {len(text):,} characters")
        self._texts[word] = text
        return word, cut

    def attach(self, name: str, block: Block) -> str:
        """The word for a file or image."""
        word = self._free(name.replace("⟦", "(").replace("⟧", ")").replace("\n", " ")[:100])
        self._blocks[word] = block
        return word

    def blocks(self, text: str) -> tuple[Block, ...]:
        """The draft as it is sent: chips of text written out, images as blocks of their own."""
        images: list[Block] = []
        pieces: list[str] = []
        at = 0
        for found in CHIP.finditer(text):
            word = found.group()
            pieces.append(text[at : found.start()])
            at = found.end()
            if word in self._texts:
                pieces.append(self._texts[word])
            elif (block := self._blocks.get(word)) is not None:
                if isinstance(block, ImageBlock):
                    images.append(block)
                elif isinstance(block, TextBlock):
                    pieces.append(block.text)
            else:
                pieces.append(word)
        pieces.append(text[at:])
        words = "".join(pieces).strip()
        return (*images, TextBlock(text=words)) if words else tuple(images)

    def written_out(self, text: str) -> str:
        """The draft with its chips of text written out, for history and the meter."""
        return CHIP.sub(lambda found: self._texts.get(found.group(), found.group()), text)

    def clear(self) -> None:
        """The draft is gone."""
        self._texts.clear()
        self._blocks.clear()

    def _free(self, name: str) -> str:
        word = f"⟦{name}⟧"
        number = 2
        while word in self._texts or word in self._blocks:
            word = f"⟦{name} #{number}⟧"
            number += 1
        return word
