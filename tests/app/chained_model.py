"""A model for the real llama.cpp that says what a test wants: each token decides the next one.

Its only layer does nothing, so that the output matrix sees the last token alone: a table of followers. The template
ends with another token for each kind of request, with which a chain begins.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.providers.gguf_files import F32, Tensors, gguf_bytes

WINDOW = 32_768
CERTAIN = 10.0
START, END, THINK, THOUGHT = "<|im_start|>", "<|im_end|>", "<think>", "</think>"
ASK, WORK, TOLD, QUIET = "<|ask|>", "<|work|>", "<|told|>", "<|quiet|>"
"""Without tools; with tools; after a tool result; without thinking."""
CALL = ("[CALL]", '{"name": "read_file", "arguments": {"path": "notes.md"}}', "[/CALL]")
CHAINS: Sequence[tuple[str, ...]] = (
    (ASK, THINK, "Three", " and", " four", THOUGHT, "Seven", " it", " is", END),
    (WORK, "<th", "ink>", "Look", " first", "</th", "ink>\n", *CALL, END),
    (TOLD, "<thi", "nk>", "Found", "</thi", "nk>\n", "The", " notes", " say", " so", END),
    (QUIET, "Quiet", "ly", END),
)
PICTURE_TOKENS = 4
_WIDTH_KEY = b"llama.embedding_length"
BROODING: Sequence[tuple[str, ...]] = ((ASK, THINK, "hm", " mh", "hm"), (THOUGHT, "Done", " now", END))
"""Thinks until it is stopped."""
TEMPLATE = (
    "{%- if tools %}{{ '<|im_start|>system\n<tools>' }}"
    "{%- for tool in tools %}{{ '\n' + (tool | tojson) }}{%- endfor %}"
    '{{ \'\n</tools>\nCall one by [CALL]{"name": NAME, "arguments": OBJECT}[/CALL]<|im_end|>\n\' }}{%- endif %}'
    "{%- for message in messages %}"
    "{%- if message.role == 'assistant' %}{{ '<|im_start|>assistant\n' }}"
    "{%- if message.reasoning_content %}{{ '<think>' + message.reasoning_content + '</think>' }}{%- endif %}"
    "{{- message.content or '' }}"
    '{%- for call in message.tool_calls or [] %}{{ \'[CALL]{"name": "\' + call.function.name + \'", "arguments": \' }}'
    "{{- call.function.arguments | tojson }}{{ '}[/CALL]' }}{%- endfor %}{{ '<|im_end|>\n' }}"
    "{%- else %}{{ '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}{%- endif %}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{ '<|quiet|>' }}"
    "{%- elif messages[-1].role == 'tool' %}{{ '<|told|>' }}"
    "{%- elif tools %}{{ '<|work|>' }}"
    "{%- else %}{{ '<|ask|>' }}{%- endif %}{%- endif %}"
)


def chained_model(
    folder: Path, chains: Sequence[tuple[str, ...]] = CHAINS, more: Mapping[str, object] | None = None
) -> Path:
    """Write the file; ``more`` is metadata."""
    marks = (START, END, ASK, WORK, TOLD, QUIET)
    tags = (THINK, THOUGHT)
    words = dict.fromkeys(token for chain in chains for token in chain if token not in (*marks, *tags))
    tokens = [*_byte_tokens(), "Ġt", *(word.replace(" ", "Ġ").replace("\n", "Ċ") for word in words), *marks, *tags]
    places = {**{word: 257 + number for number, word in enumerate(words)}}
    places |= {mark: tokens.index(mark) for mark in (*marks, *tags)}
    followers = {places[first]: places[then] for chain in chains for first, then in itertools.pairwise(chain)}
    size = len(tokens)
    metadata: dict[str, object] = {
        "general.architecture": "llama",
        "general.name": "chained",
        "llama.context_length": WINDOW,
        "llama.block_count": 1,
        "llama.embedding_length": size,
        "llama.feed_forward_length": 32,
        "llama.attention.head_count": 1,
        "llama.attention.head_count_kv": 1,
        "llama.attention.key_length": 32,
        "llama.attention.value_length": 32,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": 32,
        "llama.vocab_size": size,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * (257 + len(words)) + [3] * len(marks) + [4] * len(tags),
        "tokenizer.ggml.merges": ["Ġ t"],
        "tokenizer.ggml.bos_token_id": places[START],
        "tokenizer.ggml.eos_token_id": places[END],
        "tokenizer.chat_template": TEMPLATE,
        **(more or {}),
    }
    path = folder / "chained.gguf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_with_table(metadata, size, followers))
    return path


def seeing_part(model: Path) -> Path:
    """Write the second file of a chained model, which turns each picture into ``PICTURE_TOKENS`` empty tokens."""
    raw = model.read_bytes()
    size = struct.unpack_from("<I", raw, raw.index(_WIDTH_KEY) + len(_WIDTH_KEY) + 4)[0]
    side, patch, width = 32, 16, 32
    metadata: dict[str, object] = {
        "general.architecture": "clip",
        "general.type": "mmproj",
        "clip.has_vision_encoder": True,
        "clip.projector_type": "mlp",
        "clip.use_gelu": True,
        "clip.vision.image_size": side,
        "clip.vision.patch_size": patch,
        "clip.vision.embedding_length": width,
        "clip.vision.feed_forward_length": width,
        "clip.vision.projection_dim": size,
        "clip.vision.block_count": 1,
        "clip.vision.attention.head_count": 2,
        "clip.vision.attention.layer_norm_epsilon": 1e-5,
        "clip.vision.image_mean": [0.5, 0.5, 0.5],
        "clip.vision.image_std": [0.5, 0.5, 0.5],
    }
    matrices = {f"v.blk.0.{name}": (width, width) for name in ("attn_q", "attn_k", "attn_v", "attn_out")}
    matrices |= {"v.blk.0.ffn_up": (width, width), "v.blk.0.ffn_down": (width, width)}
    matrices |= {"mm.0": (width, size), "mm.2": (size, size)}
    norms = ("v.blk.0.ln1", "v.blk.0.ln2", "v.pre_ln", "v.post_ln")
    tensors: Tensors = (
        ("v.patch_embd.weight", (patch, patch, 3, width), F32),
        ("v.position_embd.weight", (width, PICTURE_TOKENS), F32),
        *((f"{name}.weight", dimensions, F32) for name, dimensions in matrices.items()),
        *((f"{name}.bias", dimensions[1:], F32) for name, dimensions in matrices.items()),
        *((f"{name}.{part}", (width,), F32) for name in norms for part in ("weight", "bias")),
    )
    path = model.with_name(f"mmproj-{model.name}")
    path.write_bytes(gguf_bytes(metadata, tensors))
    return path


def _byte_tokens() -> list[str]:
    """The 256 bytes as the letters that byte-level tokenizers use for them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain} | {byte: chr(256 + place) for place, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


def _with_table(metadata: Mapping[str, object], size: int, followers: Mapping[int, int]) -> bytes:
    """The file, with each token as its own direction, and the matrix that says which one follows."""
    tensors: Tensors = (
        ("token_embd.weight", (size, size), F32),
        ("output.weight", (size, size), F32),
        ("output_norm.weight", (size,), F32),
        *((f"blk.0.attn_{name}.weight", (size, 32), F32) for name in ("q", "k", "v")),
        ("blk.0.attn_output.weight", (32, size), F32),
        ("blk.0.ffn_gate.weight", (size, 32), F32),
        ("blk.0.ffn_up.weight", (size, 32), F32),
        ("blk.0.ffn_down.weight", (32, size), F32),
        ("blk.0.attn_norm.weight", (size,), F32),
        ("blk.0.ffn_norm.weight", (size,), F32),
    )
    whole = bytearray(gguf_bytes(metadata, tensors))
    lengths = [
        -(-4 * dimensions[0] * (dimensions[1] if len(dimensions) > 1 else 1) // 32) * 32 for _, dimensions, _ in tensors
    ]
    begin = len(whole) - sum(lengths)
    for token in range(size):
        struct.pack_into("<f", whole, begin + 4 * (token * size + token), 1.0)
        struct.pack_into("<f", whole, begin + lengths[0] + lengths[1] + 4 * token, 1.0)
    for token, then in followers.items():
        struct.pack_into("<f", whole, begin + lengths[0] + 4 * (then * size + token), CERTAIN)
    return bytes(whole)
