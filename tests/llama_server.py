"""A real llama.cpp server with a model of a few hundred kilobytes that thinks until it is told to answer.

The model is written here: its next byte follows from the last one alone, so it says the same on every machine. After
the line break that begins the thinking it says "hm-hm-hm" without end; after the tag that ends it, it says ``ANSWER``.
"""

from __future__ import annotations

import importlib.util
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

ANSWER = "Fixed."
"""No letter twice, and none of the thinking."""
MODEL = "qwen3"
"""The name under which it is served: a model that thinks."""
PACKAGE = "xllamacpp==2026.10.11549"

TEMPLATE = """
{%- for message in messages %}
{{- '[' + message.role + ']' }}
{%- if message.role == 'assistant' and message.reasoning_content %}{{- '<think>\\n' + message.reasoning_content }}
{{- '</think>' }}{%- endif %}
{{- (message.content or '') + '[end]' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '[assistant]' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n</think>' }}
{%- else %}{{- '<think>\\n' }}{%- endif %}
{%- endif %}
"""

UNKNOWN, BEGIN, END = 0, 1, 2
FIRST_BYTE = 3
VOCABULARY = FIRST_BYTE + 256
WIDTH = 288
"""A multiple of the heads and of 32, and at least the vocabulary: every token has a dimension of its own."""
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9


def python_with_llama_cpp(folder: Path) -> str:
    """An interpreter with the package: $PONDER_LLAMA_PYTHON, this one, or a new environment from PyPI."""
    named = os.environ.get("PONDER_LLAMA_PYTHON")
    if named:
        return named
    if importlib.util.find_spec("xllamacpp") is not None:
        return sys.executable
    python = folder / "bin" / "python"
    for command in ((sys.executable, "-m", "venv", str(folder)), (str(python), "-m", "pip", "install", "-q", PACKAGE)):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            pytest.skip(f"NO LLAMA.CPP: set PONDER_LLAMA_PYTHON, or let PyPI answer: {done.stderr[-300:]}")
    return str(python)


@contextmanager
def llama_server(python: str, folder: Path) -> Iterator[str]:
    """The address of a running server."""
    path = folder / "model.gguf"
    path.write_bytes(model())
    code = (
        "import sys, xllamacpp\n"
        "params = xllamacpp.CommonParams()\n"
        f"params.model.path, params.model_alias = {str(path)!r}, {{{MODEL!r}}}\n"
        "params.port, params.n_ctx, params.n_parallel, params.warmup = 0, 32768, 1, False\n"
        "server = xllamacpp.Server(params)\n"
        "print(server.listening_address, flush=True)\n"
        "sys.stdin.read()\n"
    )
    log = (folder / "llama.log").open("wb")
    process = subprocess.Popen([python, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(b"http"):
                break
        else:
            pytest.fail((folder / "llama.log").read_text(errors="replace")[-2_000:])
        yield line.decode().strip()
    finally:
        process.kill()
        process.communicate()
        log.close()


def model() -> bytes:
    """The file. Attention and the inner layers are zero: what is left is a table from a token to the next one."""
    tensors = {
        "token_embd.weight": _table(VOCABULARY, [(token, token) for token in range(VOCABULARY)]),
        "output.weight": _table(VOCABULARY, [(after, before) for before, after in _chain()]),
        "output_norm.weight": _ones(),
        "blk.0.attn_norm.weight": _ones(),
        "blk.0.ffn_norm.weight": _ones(),
        **{f"blk.0.{name}.weight": _table(WIDTH, []) for name in ("attn_q", "attn_k", "attn_v", "attn_output")},
        **{f"blk.0.{name}.weight": _table(WIDTH, []) for name in ("ffn_gate", "ffn_up", "ffn_down")},
    }
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(_facts()))
    header += b"".join(_string(name) + value for name, value in _facts().items())
    at = 0
    for name, (shape, data) in tensors.items():
        header += _string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", 0, at)
        at += len(data)
    return header + b"\0" * (-len(header) % 32) + b"".join(data for _, data in tensors.values())


def _chain() -> list[tuple[int, int]]:
    """The tokens that are ever the last one, each with the token after it."""
    return [*pairwise(_bytes("\nhm-h")), *pairwise([*_bytes(f">{ANSWER}"), END])]


def _bytes(text: str) -> list[int]:
    return [FIRST_BYTE + byte for byte in text.encode()]


def _table(rows: int, ones: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], bytes]:
    """A matrix that is 1 at some rows and columns."""
    data = bytearray(rows * WIDTH * 4)
    for row, column in ones:
        struct.pack_into("<f", data, (row * WIDTH + column) * 4, 1.0)
    return (WIDTH, rows), bytes(data)


def _ones() -> tuple[tuple[int, ...], bytes]:
    return (WIDTH,), struct.pack(f"<{WIDTH}f", *([1.0] * WIDTH))


def _facts() -> dict[str, bytes]:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    return {
        "general.architecture": _typed(STRING, "llama"),
        "llama.block_count": _typed(UINT32, 1),
        "llama.context_length": _typed(UINT32, 32768),
        "llama.embedding_length": _typed(UINT32, WIDTH),
        "llama.feed_forward_length": _typed(UINT32, WIDTH),
        "llama.attention.head_count": _typed(UINT32, 2),
        "llama.attention.layer_norm_rms_epsilon": _typed(FLOAT32, 1e-5),
        "tokenizer.ggml.model": _typed(STRING, "llama"),
        "tokenizer.ggml.tokens": _array(STRING, tokens),
        "tokenizer.ggml.scores": _array(FLOAT32, [0.0] * VOCABULARY),
        "tokenizer.ggml.token_type": _array(INT32, [2, 3, 3, *([6] * 256)]),
        "tokenizer.ggml.bos_token_id": _typed(UINT32, BEGIN),
        "tokenizer.ggml.eos_token_id": _typed(UINT32, END),
        "tokenizer.ggml.unknown_token_id": _typed(UINT32, UNKNOWN),
        "tokenizer.ggml.add_bos_token": _typed(BOOL, False),
        "tokenizer.ggml.add_space_prefix": _typed(BOOL, False),
        "tokenizer.chat_template": _typed(STRING, TEMPLATE.strip()),
    }


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _typed(kind: int, value: object) -> bytes:
    return struct.pack("<I", kind) + _value(kind, value)


def _array(kind: int, values: Sequence[object]) -> bytes:
    return struct.pack("<IIQ", ARRAY, kind, len(values)) + b"".join(_value(kind, value) for value in values)


def _value(kind: int, value: object) -> bytes:
    if kind == STRING:
        return _string(str(value))
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?"}[kind], value)
