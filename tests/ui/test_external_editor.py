"""The command that VISUAL and EDITOR name."""

from __future__ import annotations

import pytest

from tui.domain.errors import UsageError
from tui.ui.input.external_editor import editor_command


def test_the_command_has_its_options_and_visual_goes_first() -> None:
    assert editor_command({"EDITOR": "vim -c 'set spell'"}) == ["vim", "-c", "set spell"]
    assert editor_command({"EDITOR": "vim", "VISUAL": "code --wait"}) == ["code", "--wait"]


@pytest.mark.parametrize("line", ["", "  ", '"C:/Program Files/edit', "vi -c 'a b"])
def test_what_is_no_command_is_said(line: str) -> None:
    with pytest.raises(UsageError):
        editor_command({"EDITOR": line})
