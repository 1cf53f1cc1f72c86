"""Resources of MCP servers: how they are listed, and what one becomes. Depends on the protocol, not on the SDK.

An address of a resource means something to its server only: ponder sends it there and opens nothing itself.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tui.domain.blocks import FROM_SERVER, Block, DocumentBlock, ImageBlock, TextBlock, picture_type
from tui.domain.errors import ToolError
from tui.domain.listing import McpResource
from tui.domain.printable import one_line, printable, scrubbed

MAX_RESOURCES = 1_000
MAX_ADDRESS = 1_000
MAX_TEXT = 1_000_000
MAX_BINARY = 20_000_000
MAX_PARTS = 50
MAX_VARIABLES = 10
_VARIABLE = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_.%]+)((?:[^{}A-Za-z0-9_.%][^{}]*)?)\}")
_UNTYPABLE = re.compile(r"[\s⟦⟧@]")


def resources_of(
    server: str, listed: Iterable[Mapping[str, object]], templates: Iterable[Mapping[str, object]]
) -> tuple[tuple[McpResource, ...], tuple[str, ...]]:
    """The resources and templates that can be typed, and remarks about the others."""
    found: dict[str, McpResource] = {}
    untypable = more = 0
    for key, rows in (("uri", listed), ("uriTemplate", templates)):
        for row in rows:
            address = row.get(key)
            if not isinstance(address, str) or not address or address in found:
                continue
            if (
                len(address) > MAX_ADDRESS
                or _UNTYPABLE.search(address)
                or printable(address) != address
                or (key == "uriTemplate" and address.count("{") > MAX_VARIABLES)
            ):
                untypable += 1
            elif len(found) >= MAX_RESOURCES:
                more += 1
            else:
                title = one_line(str(row.get("title") or row.get("name") or row.get("description") or ""), 100)
                found[address] = McpResource(server=server, uri=address, title=title, is_template=key == "uriTemplate")
    remarks = [f"{untypable} resources are omitted: their addresses cannot be typed"] if untypable else []
    remarks += [f"more than {MAX_RESOURCES:,} resources: the rest is omitted"] if more else []
    return tuple(sorted(found.values(), key=lambda resource: resource.uri)), tuple(remarks)


@dataclass(frozen=True, slots=True)
class Template:
    """The address of a template: what it begins with, its variables, and which addresses it means."""

    beginning: str
    variables: Sequence[str]
    end: str
    """What follows the last variable."""
    parts: Sequence[tuple[bool, str]]
    """Of each variable: whether it takes slashes, and what follows it."""

    def means(self, uri: str) -> bool:
        """Whether an address is one of this template.

        All places up to which the address fits are followed at once. A regular expression would try them one after
        the other: a server could send one that it would never finish.
        """
        if len(uri) > MAX_ADDRESS or not uri.startswith(self.beginning):
            return False
        ends = {len(self.beginning)}
        for takes_all, text in self.parts:
            reached, is_open = set(), False
            for at in range(len(uri)):
                is_open = (is_open or at in ends) and (takes_all or uri[at] != "/")
                if is_open and uri.startswith(text, at + 1):
                    reached.add(at + 1 + len(text))
            ends = reached
        return len(uri) in ends


def template_of(address: str) -> Template | None:
    """None for a text without variables."""
    found = list(_VARIABLE.finditer(address))
    if not found:
        return None
    stops = [*(variable.start() for variable in found[1:]), len(address)]
    return Template(
        beginning=address[: found[0].start()],
        variables=[variable[2] for variable in found],
        end=address[found[-1].end() :],
        parts=[
            (bool(variable[1] or variable[3]), address[variable.end() : stop])
            for variable, stop in zip(found, stops, strict=True)
        ],
    )


def is_offered(uri: str, resources: Iterable[McpResource]) -> bool:
    """Whether a server listed this address, or a template that means it."""
    for resource in resources:
        if not resource.is_template:
            if resource.uri == uri:
                return True
        elif (template := template_of(resource.uri)) is not None and template.means(uri):
            return True
    return False


def resource_blocks(server: str, uri: str, result: Mapping[str, object]) -> tuple[tuple[str, Block], ...]:
    """The content of a resource as blocks of the prompt, which say where it comes from, with the names of chips."""
    contents = result.get("contents")
    rows = [row for row in contents if isinstance(row, dict)] if isinstance(contents, list) else []
    if not rows:
        raise ToolError(f"`{one_line(uri, 100)}` {FROM_SERVER}{server}` is empty.")
    if len(rows) > MAX_PARTS:
        raise ToolError(f"`{one_line(uri, 100)}` {FROM_SERVER}{server}` has more than {MAX_PARTS} parts.")
    return tuple(_part(server, str(row.get("uri") or uri), row) for row in rows)


def _part(server: str, uri: str, row: Mapping[str, object]) -> tuple[str, Block]:
    shown = one_line(uri, 200).replace('"', "'").replace("`", "'")
    name, chip = f"{shown} {FROM_SERVER}{server}`", f"{server}:{one_line(uri, 80)}"
    text, blob = row.get("text"), row.get("blob")
    if isinstance(text, str):
        return chip, _text_block(name, text)
    if not isinstance(blob, str) or len(blob) > MAX_BINARY * 4 // 3:
        raise ToolError(f"`{name} cannot be attached.")
    try:
        data = base64.b64decode("".join(blob.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ToolError(f"`{name} is not valid base64.") from None
    if (media := picture_type(data[:16])) is not None:
        return chip, ImageBlock(media_type=media, data=base64.b64encode(data).decode(), name=name)
    if b"%PDF-" in data[:1024]:
        return chip, DocumentBlock(data=base64.b64encode(data).decode(), name=name)
    try:
        return chip, _text_block(name, data.decode("utf-8"))
    except UnicodeDecodeError:
        raise ToolError(f"`{name} is neither text, nor a picture, nor a PDF.") from None


def _text_block(name: str, text: str) -> TextBlock:
    if len(text) > MAX_TEXT or "\0" in text[:8192]:
        raise ToolError(f"`{name} is {'too large' if len(text) > MAX_TEXT else 'no text'}.")
    return TextBlock(text=f'<file name="{name}">\n{scrubbed(text)}\n</file>')
