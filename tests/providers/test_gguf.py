"""What a GGUF file says about its model, and files that are none, are damaged or are made to harm the reader."""

from __future__ import annotations

import os
import struct
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.providers.gguf_files import F32, chat_model, gguf_bytes, write_gguf
from tui.providers.local.gguf import MOST_STRINGS, GgufError, GgufFacts, read_gguf

WHOLE = gguf_bytes(chat_model(), [("a", (4, 8), F32), ("b", (16,), F32)])


def facts(folder: Path, metadata: dict[str, object]) -> GgufFacts:
    return read_gguf(write_gguf(folder / "m.gguf", metadata)).facts


def test_everything_that_is_said_of_a_thinking_model(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(WHOLE)
    assert read_gguf(path).facts == GgufFacts(
        architecture="qwen3",
        name="Tiny",
        kind="model",
        licence="apache-2.0",
        quantisation="Q4_K_M",
        parameters=48,
        size_label="0.6B",
        window=40_960,
        cache_bytes_per_token=2 * 28 * 8 * 256,
        parts=1,
        chats=True,
        thinks=True,
        thinking_switch="enable_thinking",
        efforts=False,
        tools=True,
        images=False,
    )
    assert read_gguf(path).template == chat_model()["tokenizer.chat_template"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("template", "thinks", "switch", "efforts", "tools", "images"),
    [
        ("{{ messages }}", False, "", False, False, False),
        ("{% if message.role == 'tools' %}x{% endif %}", False, "", False, False, False),
        ("{%- if tools is not none %}x{% endif %}", False, "", False, True, False),
        ("{{'<|im_start|>assistant\n<think>\n'}}", True, "", False, False, False),
        ("{%- if enable_thinking %}<think>{% endif %}", True, "enable_thinking", False, False, False),
        ("{%- if thinking is defined and thinking %}<think>{% endif %}", True, "thinking", False, False, False),
        ("{%- if message['thinking'] %}<think>{% endif %}", True, "", False, False, False),
        ("<|channel|>analysis Reasoning: {{ reasoning_effort }}", True, "", True, False, False),
        ("[THINK]", True, "", False, False, False),
        ("{%- if item.type == 'image' %}<|vision_start|><|image_pad|>{% endif %}", False, "", False, False, True),
    ],
)
def test_a_template_says_what_the_model_can_do(
    tmp_path: Path, template: str, thinks: bool, switch: str, efforts: bool, tools: bool, images: bool
) -> None:
    said = facts(tmp_path, {"general.architecture": "x", "tokenizer.chat_template": template})
    assert (said.thinks, said.thinking_switch, said.efforts) == (thinks, switch, efforts)
    assert (said.tools, said.images, said.chats) == (tools, images, True)


def test_layers_may_have_different_numbers_of_heads(tmp_path: Path) -> None:
    said = facts(tmp_path, chat_model(more={"qwen3.attention.head_count_kv": [0, 4, 0, 4]}))
    assert said.cache_bytes_per_token == 2 * 8 * 256


def test_without_a_file_type_the_most_common_format_counts(tmp_path: Path) -> None:
    assert facts(tmp_path, {"general.architecture": "x"}).quantisation == "F32"
    assert facts(tmp_path, {"general.architecture": "x", "general.file_type": 1024 + 7}).quantisation == "Q8_0"


def test_files_that_are_not_models(tmp_path: Path) -> None:
    assert facts(tmp_path, {"general.architecture": "clip"}).kind == "mmproj"
    assert facts(tmp_path, {"general.architecture": "x", "general.type": "adapter"}).kind == "adapter"
    assert facts(tmp_path, {"general.architecture": "bert", "bert.pooling_type": 1}).embeds


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "It is not a GGUF file."),
        (b"<html>", "It is not a GGUF file."),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "It has the old GGUF version 1."),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "It has GGUF version 9, which is newer than this program."),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "It was made for big-endian machines."),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**63), "Its metadata is damaged."),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**40, 0), "Its metadata is damaged."),
        (gguf_bytes({"a": 1}), "It does not say which architecture its model has."),
        (WHOLE[:-1], "The file is cut off: it ends before its contents do."),
        (WHOLE[:100], "The file is cut off: it ends before its contents do."),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(GgufError) as error:
        read_gguf(path)
    assert error.value.message == sentence


def test_a_file_that_ends_anywhere_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    for length in [*range(4, len(WHOLE) - 1, 41), len(WHOLE) - 1]:
        path.write_bytes(WHOLE[:length])
        with pytest.raises(GgufError, match="cut off"):
            read_gguf(path)


ENTRY = struct.pack("<Q", 1) + b"k"


@pytest.mark.parametrize(
    "value",
    [
        struct.pack("<IQ", 8, 2**62),
        struct.pack("<IIQ", 9, 4, 2**62),
        struct.pack("<IIQ", 9, 8, 2**50),
        struct.pack("<IIQ", 9, 9, 1),
        struct.pack("<I", 77),
    ],
)
def test_lengths_that_lie_cost_neither_memory_nor_time(tmp_path: Path, value: bytes) -> None:
    path = sparse_file(tmp_path, value)
    tracemalloc.start()
    with pytest.raises(GgufError):
        read_gguf(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000


def test_the_most_texts_that_are_read_past_take_a_moment(tmp_path: Path) -> None:
    path = sparse_file(tmp_path, struct.pack("<IIQ", 9, 8, MOST_STRINGS))
    begun = time.thread_time()
    with pytest.raises(GgufError, match="architecture"):
        read_gguf(path)
    assert time.thread_time() - begun < 5.0


def sparse_file(folder: Path, value: bytes) -> Path:
    """A file of a terabyte; its zeros are texts without letters."""
    path = folder / "m.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + ENTRY + value)
        file.truncate(2**40)
    return path


def test_a_tensor_beyond_all_sizes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    tensor = struct.pack("<Q", 1) + b"w" + struct.pack("<I8QIQ", 8, *[2**60] * 8, 0, 0)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + tensor + bytes(100))
    with pytest.raises(GgufError, match="damaged"):
        read_gguf(path)


def test_pipes_and_folders_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(GgufError, match="not a file"):
        read_gguf(tmp_path / "pipe.gguf")
    with pytest.raises((GgufError, OSError)):
        read_gguf(tmp_path)


@settings(max_examples=200, deadline=None)
@given(st.integers(4, len(WHOLE) - 1), st.binary(min_size=1, max_size=12))
@pytest.mark.long
def test_changed_bytes_raise_nothing_else(tmp_path_factory: pytest.TempPathFactory, at: int, change: bytes) -> None:
    path = tmp_path_factory.mktemp("changed") / "m.gguf"
    path.write_bytes(WHOLE[:at] + change + WHOLE[at + len(change) :])
    try:
        said = read_gguf(path).facts
    except GgufError:
        return
    assert isinstance(said, GgufFacts)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("piece", ["{", "{{", "{% if ", "{%set thinkin", "{{ tool", "<|im", "{%- if x %}{{ '"])
def test_a_template_made_to_cost_time_takes_a_moment(tmp_path: Path, piece: str) -> None:
    template = piece * (900_000 // len(piece))
    path = write_gguf(tmp_path / "m.gguf", {**chat_model(), "tokenizer.chat_template": template})
    began = time.process_time()
    read_gguf(path)
    assert time.process_time() - began < 5.0
