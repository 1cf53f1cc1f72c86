"""Reads what a GGUF file says about its model. The weights are not read.

The file may come from anywhere: every length is checked before anything is read, and the number of entries is limited.
"""

from __future__ import annotations

import os
import stat
import struct
from collections import Counter
from collections.abc import Mapping
from math import prod
from pathlib import Path

from tui.domain.errors import PonderError
from tui.domain.fast_dataclass import dataclass
from tui.providers.local.chat_template import template_facts
from tui.settings.user_files import NO_WAITING

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_ENTRIES = 20_000
"""Metadata entries, and likewise tensors. The largest models have a few thousand tensors."""
MOST_STRINGS = 2_000_000
"""Strings in all lists together. Vocabularies have up to 300,000 tokens and twice as many merges."""
LONGEST_KEY = 1_024
LONGEST_TEXT = 1_000_000
MOST_DIMENSIONS = 8
LARGEST_SIZE = 2**63
PIECE = 1 << 20


class GgufError(PonderError):
    """The file is not a model that can be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFacts:
    """What a file says about its model. An empty text, or None, is unknown."""

    architecture: str
    name: str = ""
    kind: str = "model"
    """model, mmproj (the part of a model that sees), adapter …"""
    licence: str = ""
    quantisation: str = ""
    parameters: int | None = None
    """Weights in this file."""
    size_label: str = ""
    """Size in words, such as 0.6B: for a model in several files, of the whole model."""
    window: int | None = None
    """The context window the model was trained for."""
    cache_bytes_per_token: int | None = None
    """Memory of one token of context at 16 bits, without savings such as sliding windows."""
    parts: int = 1
    chats: bool = False
    """It has a chat template."""
    thinks: bool = False
    thinking_switch: str = ""
    """The template's variable that switches thinking; "" if thinking cannot be switched off."""
    efforts: bool = False
    """The template reads ``reasoning_effort``."""
    tools: bool = False
    embeds: bool = False
    """It computes embeddings instead of answers."""
    images: bool = False
    """The template takes images; seeing them also needs an mmproj file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufFile:
    """A file's facts and its chat template."""

    facts: GgufFacts
    template: str


Value = int | float | str


def read_gguf(path: Path) -> GgufFile:
    """Read the metadata of a file. Raises GgufError, or OSError if the file cannot be read."""
    handle = os.open(path, os.O_RDONLY | NO_WAITING)
    with os.fdopen(handle, "rb", buffering=0) as raw:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise GgufError("It is not a file.")
        source = _Source(raw.fileno(), status.st_size)
        try:
            values, tensors = _metadata(source)
        except UnicodeDecodeError:
            raise GgufError("Its metadata is damaged.") from None
    template = _template(values)
    return GgufFile(facts=_facts(values, tensors, template), template=template)


class _Source:
    """Reads forward through a file and refuses to leave it."""

    def __init__(self, handle: int, size: int) -> None:
        self._handle = handle
        self._size = size
        self._buffer = b""
        self._start = 0
        self._at = 0

    @property
    def position(self) -> int:
        return self._start + self._at

    @property
    def size(self) -> int:
        return self._size

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        if len(self._buffer) - self._at < length:
            self._fill(length)
        piece = self._buffer[self._at : self._at + length]
        self._at += length
        return piece

    def skip(self, length: int) -> None:
        """Go forward without reading."""
        if length > self._size - self.position:
            raise _cut_off()
        if length <= len(self._buffer) - self._at:
            self._at += length
        else:
            self._start, self._buffer, self._at = self.position + length, b"", 0

    def skip_texts(self, number: int) -> None:
        """Go past texts that follow each other. This loop takes most of the time that a file takes."""
        unpack = struct.Struct("<Q").unpack_from
        while number:
            buffer, at = self._buffer, self._at
            last = len(buffer) - 8
            while number and at <= last:
                after: int = at + 8 + unpack(buffer, at)[0]
                if after > last + 8:
                    break
                at, number = after, number - 1
            self._at = at
            if number:
                self.skip(self.number("<Q"))
                number -= 1

    def number(self, form: str) -> int:
        """Return one number."""
        found: int = struct.unpack(form, self.take(struct.calcsize(form)))[0]
        return found

    def text(self, longest: int) -> str:
        """Return a text; one that is too long is passed over and is empty."""
        length = self.number("<Q")
        if length > longest:
            self.skip(length)
            return ""
        return self.take(length).decode("utf-8", "replace")

    def _fill(self, length: int) -> None:
        position = self.position
        if length > self._size - position:
            raise _cut_off()
        os.lseek(self._handle, position, os.SEEK_SET)
        pieces, missing = [], max(length, min(PIECE, self._size - position))
        while missing and (piece := os.read(self._handle, missing)):
            pieces.append(piece)
            missing -= len(piece)
        self._buffer, self._start, self._at = b"".join(pieces), position, 0
        if len(self._buffer) < length:  # the file became shorter meanwhile
            raise _cut_off()


def _cut_off() -> GgufError:
    return GgufError("The file is cut off: it ends before its contents do.", advice="Download it again.")


_STRING, _ARRAY, _BOOL = 8, 9, 7
_FORMS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d"}
"""The formats of numbers by their type in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tensors:
    weights: int
    kinds: Counter[int]
    """Weights by type of tensor."""


def _metadata(source: _Source) -> tuple[Mapping[str, Value], _Tensors]:
    if source.size < len(MAGIC) or source.take(len(MAGIC)) != MAGIC:
        raise GgufError("It is not a GGUF file.")
    version = source.number("<I")
    if version not in VERSIONS:
        raise _wrong_version(version)
    tensors, entries = source.number("<Q"), source.number("<Q")
    if tensors > MOST_ENTRIES or entries > MOST_ENTRIES:
        raise GgufError("Its metadata is damaged.")
    values: dict[str, Value] = {}
    strings = MOST_STRINGS
    for _ in range(entries):
        key = source.text(LONGEST_KEY)
        kind = source.number("<I")
        if kind == _ARRAY:
            strings = _skip_list(source, strings, key, values)
        else:
            values.setdefault(key, _value(source, kind))
    return values, _tensors(source, tensors, values)


def _wrong_version(version: int) -> GgufError:
    if version & 0xFFFF == 0:
        return GgufError("It was made for big-endian machines.")
    if 0 < version < VERSIONS[0]:
        return GgufError(
            f"It has the old GGUF version {version}.", advice="Download the model again in today's format."
        )
    return GgufError(f"It has GGUF version {version}, which is newer than this program.")


def _value(source: _Source, kind: int) -> Value:
    if kind == _STRING:
        return source.text(LONGEST_TEXT)
    if kind not in _FORMS:
        raise GgufError("Its metadata is damaged.")
    return source.number(_FORMS[kind])


def _skip_list(source: _Source, strings: int, key: str, values: dict[str, Value]) -> int:
    """Go past a list, keeping the largest of a few numbers; returns how many strings may still come."""
    kind, length = source.number("<I"), source.number("<Q")
    if kind == _STRING:
        if length > strings:
            raise GgufError("Its metadata is damaged.")
        source.skip_texts(length)
        return strings - length
    if kind not in _FORMS:  # lists of lists are not used by any model
        raise GgufError("Its metadata is damaged.")
    width = struct.calcsize(_FORMS[kind])
    if length <= MOST_ENTRIES and key.endswith(".head_count_kv"):
        numbers = [source.number(_FORMS[kind]) for _ in range(length)]
        values.setdefault(key + ".sum", sum(numbers))
    elif length > LARGEST_SIZE // width:
        raise GgufError("Its metadata is damaged.")
    else:
        source.skip(length * width)
    return strings


def _tensors(source: _Source, number: int, values: Mapping[str, Value]) -> _Tensors:
    """Count the weights. Raises GgufError if the file ends before its last tensor."""
    weights, end = Counter[int](), 0
    for _ in range(number):
        source.skip(source.number("<Q"))
        dimensions = source.number("<I")
        if dimensions > MOST_DIMENSIONS:
            raise GgufError("Its metadata is damaged.")
        elements = prod(source.number("<Q") for _ in range(dimensions))
        kind, offset = source.number("<I"), source.number("<Q")
        if elements >= LARGEST_SIZE or offset >= LARGEST_SIZE:
            raise GgufError("Its metadata is damaged.")
        weights[kind] += elements
        block, size, _ = _TENSOR_TYPES.get(kind, (1, 0, ""))
        end = max(end, offset + elements // block * size)
    aligned = values.get("general.alignment")
    alignment = aligned if isinstance(aligned, int) and aligned > 0 else 32
    begin = -(-source.position // alignment) * alignment
    if number and begin + end > source.size:
        raise _cut_off()
    return _Tensors(weights=weights.total(), kinds=weights)


_TENSOR_TYPES = {
    0: (1, 4, "F32"),
    1: (1, 2, "F16"),
    2: (32, 18, "Q4_0"),
    3: (32, 20, "Q4_1"),
    6: (32, 22, "Q5_0"),
    7: (32, 24, "Q5_1"),
    8: (32, 34, "Q8_0"),
    10: (256, 84, "Q2_K"),
    11: (256, 110, "Q3_K"),
    12: (256, 144, "Q4_K"),
    13: (256, 176, "Q5_K"),
    14: (256, 210, "Q6_K"),
    16: (256, 66, "IQ2_XXS"),
    17: (256, 74, "IQ2_XS"),
    18: (256, 98, "IQ3_XXS"),
    19: (256, 50, "IQ1_S"),
    20: (32, 18, "IQ4_NL"),
    21: (256, 110, "IQ3_S"),
    22: (256, 82, "IQ2_S"),
    23: (256, 136, "IQ4_XS"),
    29: (256, 56, "IQ1_M"),
    30: (1, 2, "BF16"),
    34: (256, 54, "TQ1_0"),
    35: (256, 66, "TQ2_0"),
    39: (32, 17, "MXFP4"),
}
"""Weights in a block, bytes of a block, name. The size of other types is not checked."""
_FILE_TYPES = (
    *("F32", "F16", "Q4_0", "Q4_1", "-", "-", "-", "Q8_0", "Q5_0", "Q5_1"),
    *("Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K", "IQ2_XXS"),
    *("IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ3_M", "IQ2_S", "IQ2_M"),
    *("IQ4_XS", "IQ1_M", "BF16", "-", "-", "-", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4"),
)
"""The names of ``general.file_type``; a dash stands for types that are no longer used."""
_GUESSED = 1024
"""Added to a file type that the writing program guessed."""


def _facts(values: Mapping[str, Value], tensors: _Tensors, template: str) -> GgufFacts:
    architecture = _text(values, "general.architecture")
    if not architecture and _whole(values, "split.no") is None:  # only the first part of several says it
        raise GgufError("It does not say which architecture its model has.")
    kind = _text(values, "general.type") or "model"
    said = template_facts(template)
    return GgufFacts(
        architecture=architecture,
        name=_text(values, "general.name"),
        kind="mmproj" if architecture == "clip" else kind,
        licence=_text(values, "general.license") or _text(values, "general.license.name"),
        quantisation=_quantisation(values, tensors),
        parameters=_fitting(tensors.weights),
        size_label=_text(values, "general.size_label"),
        window=_whole(values, f"{architecture}.context_length"),
        cache_bytes_per_token=_cache_bytes(values, architecture),
        parts=_whole(values, "split.count") or 1,
        chats=bool(template),
        thinks=said.thinks,
        thinking_switch=said.switch,
        efforts=said.efforts,
        tools=said.tools,
        embeds=_whole(values, f"{architecture}.pooling_type") is not None,
        images=said.images,
    )


def _template(values: Mapping[str, Value]) -> str:
    return _text(values, "tokenizer.chat_template", LONGEST_TEXT) or _text(
        values, "tokenizer.chat_template.default", LONGEST_TEXT
    )


def _text(values: Mapping[str, Value], key: str, longest: int = 200) -> str:
    value = values.get(key)
    return value.strip()[:longest] if isinstance(value, str) else ""


def _whole(values: Mapping[str, Value], key: str) -> int | None:
    value = values.get(key)
    return _fitting(value) if isinstance(value, int) else None


def _fitting(number: int) -> int | None:
    return number if 0 < number < LARGEST_SIZE else None


def _quantisation(values: Mapping[str, Value], tensors: _Tensors) -> str:
    stated = values.get("general.file_type")
    if isinstance(stated, int) and 0 <= (at := stated & ~_GUESSED) < len(_FILE_TYPES) and _FILE_TYPES[at] != "-":
        return _FILE_TYPES[at]
    known = [kind for kind, _ in tensors.kinds.most_common() if kind in _TENSOR_TYPES]
    return _TENSOR_TYPES[known[0]][2] if known else ""


def _cache_bytes(values: Mapping[str, Value], architecture: str) -> int | None:
    """Two bytes for each key and value of each layer."""

    def said(name: str) -> int | None:
        return _whole(values, f"{architecture}.{name}")

    layers, heads, width = said("block_count"), said("attention.head_count"), said("embedding_length")
    head = width // heads if width and heads else None
    key, value = said("attention.key_length") or head, said("attention.value_length") or head
    of_all = said("attention.head_count_kv.sum")
    of_each = said("attention.head_count_kv") or heads
    kv_heads = of_all or (of_each * layers if of_each and layers else None)
    return _fitting(2 * kv_heads * (key + value)) if kv_heads and key and value else None
