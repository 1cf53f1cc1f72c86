"""What an editor sends as a prompt, as blocks of a message."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from acp import schema

from tui.app.attachments import read_attachment
from tui.domain.blocks import Block, ImageBlock, TextBlock, picture_type
from tui.domain.errors import UsageError

ContentBlock = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
)


def prompt_blocks(content: Sequence[ContentBlock]) -> tuple[Block, ...]:
    """The blocks; files that are named by a link are read. Raises UsageError for what cannot be sent. Blocking."""
    return tuple(block for part in content for block in _blocks(part))


def _blocks(part: ContentBlock) -> Iterator[Block]:
    match part:
        case schema.TextContentBlock():
            if part.text:
                yield TextBlock(text=part.text)
        case schema.ImageContentBlock():
            yield _picture(part.data, part.uri or "")
        case schema.AudioContentBlock():
            raise UsageError("Audio cannot be sent.")
        case schema.ResourceContentBlock():
            yield _linked(part)
        case schema.EmbeddedResourceContentBlock():
            yield _embedded(part)


def _picture(data: str, name: str) -> ImageBlock:
    try:
        found = picture_type(base64.b64decode(data, validate=True))
    except (ValueError, binascii.Error):
        found = None
    if found is None:
        raise UsageError("A picture in the prompt is neither PNG, JPEG, GIF nor WebP.")
    return ImageBlock(media_type=found, data=data, name=name.rpartition("/")[2] or None)


def _linked(part: schema.ResourceContentBlock) -> Block:
    """The content of a file; other addresses stay links, because nothing is fetched without a question."""
    path = _file_path(part.uri)
    if path is None:
        return TextBlock(text=f"[{part.name}]({part.uri})")
    return read_attachment(path)


def _embedded(part: schema.EmbeddedResourceContentBlock) -> Block:
    resource = part.resource
    path = _file_path(resource.uri)
    name = path.name if path is not None else resource.uri
    if isinstance(resource, schema.TextResourceContents):
        return TextBlock(text=f'<file name="{name}">\n{resource.text}\n</file>')
    return _picture(resource.blob, resource.uri)


def _file_path(uri: str) -> Path | None:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path else None
