"""Writes small GGUF files."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

QWEN_TEMPLATE = (
    "{%- if tools %}{{ tools | tojson }}{%- endif %}{{ messages[0].content }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{%- endif %}"
)
Metadata = Mapping[str, object]
Tensors = Sequence[tuple[str, tuple[int, ...], int]]
"""Name, dimensions, type."""
F32 = 0


def chat_model(name: str = "Tiny", more: Metadata | None = None) -> dict[str, object]:
    """Metadata of a model that thinks and calls tools."""
    return {
        "general.architecture": "qwen3",
        "general.name": name,
        "general.file_type": 15,
        "general.license": "apache-2.0",
        "general.size_label": "0.6B",
        "qwen3.context_length": 40_960,
        "qwen3.block_count": 28,
        "qwen3.embedding_length": 1_024,
        "qwen3.attention.head_count": 16,
        "qwen3.attention.head_count_kv": 8,
        "qwen3.attention.key_length": 128,
        "qwen3.attention.value_length": 128,
        "tokenizer.ggml.tokens": ["a", "bc", "d" * 5_000],
        "tokenizer.ggml.token_type": [1, 2, 3],
        "tokenizer.chat_template": QWEN_TEMPLATE,
        **(more or {}),
    }


def write_gguf(path: Path, metadata: Metadata | None = None, tensors: Tensors = (("w", (4, 8), F32),)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gguf_bytes(chat_model() if metadata is None else metadata, tensors))
    return path


def gguf_bytes(metadata: Metadata, tensors: Tensors = ()) -> bytes:
    """The file; its tensors are F32 and full of zeros."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_text(key) + _typed(value) for key, value in metadata.items())
    offset = 0
    for name, dimensions, kind in tensors:
        head += _text(name) + struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
        head += struct.pack("<IQ", kind, offset)
        size = 4
        for dimension in dimensions:
            size *= dimension
        offset += -(-size // 32) * 32
    return head + b"\0" * (-len(head) % 32) + b"\0" * offset


def _text(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<Q", len(content)) + content


def _typed(value: object) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    assert isinstance(value, list)
    if value and isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    if value and isinstance(value[0], float):
        return struct.pack(f"<IIQ{len(value)}f", 9, 6, len(value), *value)
    return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
