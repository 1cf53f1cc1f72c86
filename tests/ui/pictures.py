"""Pictures for tests, and what a terminal's screen shows of them."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import pytest

from tui.domain.blocks import ImageBlock, TextBlock
from tui.domain.messages import Message, Role, Turn

PIL_Image: Any = pytest.importorskip("PIL.Image", reason="Pillow is not installed: the extra images has it")

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def strong_colour(pixel: Sequence[int]) -> tuple[int, int, int] | None:
    """The one of the four colours that a scaled pixel has; None beside an edge."""
    if any(85 <= value <= 170 for value in pixel):
        return None
    red, green, blue = (255 if value > 170 else 0 for value in pixel)
    return (red, green, blue) if (red, green, blue) in (RED, GREEN, BLUE, WHITE) else None


def quarters(width: int = 160, height: int = 160, mode: str = "RGB") -> Any:
    """Red and green above, blue and white below."""
    image = PIL_Image.new("RGB", (width, height), RED)
    image.paste(GREEN, (width // 2, 0, width, height // 2))
    image.paste(BLUE, (0, height // 2, width // 2, height))
    image.paste(WHITE, (width // 2, height // 2, width, height))
    return image.convert(mode)


def encoded(image: Any, form: str = "PNG", **how: Any) -> str:
    """As base64."""
    target = io.BytesIO()
    image.save(target, form, **how)
    return base64.b64encode(target.getvalue()).decode()


def block(image: Any = None, name: str | None = "map.png") -> ImageBlock:
    return ImageBlock(media_type="image/png", data=encoded(image or quarters()), name=name)


def asked_with(*pictures: ImageBlock, text: str = "What is this?", number: int = 1) -> Turn:
    """A turn with pictures in its prompt."""
    prompt = Message(id=f"u{number}", role=Role.USER, blocks=(TextBlock(text=text), *pictures))
    answer = Message(id=f"a{number}", role=Role.ASSISTANT, blocks=(TextBlock(text="Four squares."),))
    return Turn(id=f"t{number}", messages=(prompt, answer))
