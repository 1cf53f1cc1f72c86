"""AttachmentChips: what is too long or too binary to stand in the composer, as a short word that stands for it."""

from __future__ import annotations

import re
from typing import TypeVar

from tui.domain.blocks import Block, ImageBlock, TextBlock
from tui.domain.counting import count
from tui.domain.printable import one_line

PASTE_LINES = 12
PASTE_CHARACTERS = 1_200
"""A paste beyond either becomes a chip."""
MAX_PASTE = 1_000_000
"""Characters of a paste that are taken at all."""

MOST_SENT = 100
"""Drafts whose chips are remembered."""

CHIP = re.compile(r"⟦[^⟦⟧\n]{1,120}⟧")


T = TypeVar("T")


def _is_long(text: str) -> bool:
    return text.count("\n") >= PASTE_LINES or len(text) > PASTE_CHARACTERS


class AttachmentChips:
    """AttachmentChips of one draft by their word."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._blocks: dict[str, Block] = {}
        self._sent: dict[str, tuple[str, dict[str, str], dict[str, Block]]] = {}
        """Drafts by what they are in history: as they stood in the composer, with what their chips stood for."""

    def paste(self, text: str) -> tuple[str, bool]:
        """What to put into the composer for a paste, and whether some of it was cut off."""
        cut = len(text) > MAX_PASTE
        text = text[:MAX_PASTE]
        if not _is_long(text):
            return text, cut
        return self._fold(text), cut

    def attach(self, name: str, block: Block) -> str:
        """The word for a file or image."""
        word = self._free(one_line(name.replace("⟦", "(").replace("⟧", ")"), 100))
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

    def remember(self, draft: str) -> str:
        """A draft leaves the composer: what history keeps of it. The chips are made again when it is recalled."""
        written = self.written_out(draft)
        words = set(CHIP.findall(draft))
        texts = {word: text for word, text in self._texts.items() if word in words}
        blocks = {word: block for word, block in self._blocks.items() if word in words}
        if texts or blocks:
            self._sent[written.strip()] = (draft, texts, blocks)
            while len(self._sent) > MOST_SENT:
                del self._sent[next(iter(self._sent))]
        return written

    def recalled(self, written: str) -> str:
        """What to put into the composer for a prompt of the past; of one of an earlier run only its length is known."""
        kept = self._sent.get(written.strip())
        if kept is None:
            return self._fold(written) if _is_long(written) else written
        draft, texts, blocks = kept
        words = {word: self._again(word, texts[word], self._texts) for word in texts}
        words |= {word: self._again(word, blocks[word], self._blocks) for word in blocks}
        return CHIP.sub(lambda found: words.get(found.group(), found.group()), draft)

    def _again(self, word: str, content: T, among: dict[str, T]) -> str:
        """The word of a chip that is there again: another one where the draft has another chip of that name."""
        if among.get(word) is not content:
            word = self._free(word.strip("⟦⟧"))
            among[word] = content
        return word

    def _fold(self, text: str) -> str:
        lines = text.count("\n") + 1
        word = self._free(f"pasted {count(lines, 'line') if lines > 1 else count(len(text), 'character')}")
        self._texts[word] = text
        return word

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
