"""Names of models as they are shown."""

from __future__ import annotations

import pytest

from tui.domain.thinking import labelled_name, model_title


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("claude-opus-5-5", "claude-opus-5-5"),
        ("qwen/qwen3-coder", "qwen/qwen3-coder"),
        ("/models/Qwen3 ü.gguf", "Qwen3 ü.gguf"),
        ("m\x1b]52;c;UFdO\x07\x9b\u202e\n", "m␛]52;c;UFdO␇\\u{9B}\\u{202E}␊"),
        ("/tmp/m\x1b[2J\ud800.gguf", "m␛[2J\ufffd.gguf"),
    ],
)
def test_a_name_is_shown_whole_and_nothing_in_it_is_obeyed(model: str, shown: str) -> None:
    """Of an imported session, or of a file: both may come from anybody."""
    assert (model_title(model), labelled_name("demo", model)) == (shown, f"demo/{shown}")
