"""What servers refused is kept for a week, by place, next to the lists of models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui.app.refused_parameters_file import KEPT_S, RefusedParametersFile
from tui.engine.refused_parameters import REFUSED_FILE, THINKING, RefusedParameters

HERE = ("mine", "http://localhost:1/v1", "m")
THERE = ("mine", "http://localhost:2/v1", "m")


def _remembered(folder: Path, now: float = 1000.0) -> RefusedParameters:
    file = RefusedParametersFile(folder, lambda: now)
    return RefusedParameters(file.read, file.keep)


def test_what_was_learned_of_one_place_is_known_there_and_only_there(tmp_path: Path) -> None:
    _remembered(tmp_path).learn(HERE, "high", ("stream_options", THINKING))
    _remembered(tmp_path).learn(THERE, "high", ("store",))
    later = _remembered(tmp_path)
    assert later.refused(HERE, "low") == ("stream_options", THINKING)
    assert later.refused(THERE, "low") == ("store",)


def test_what_the_user_wished_for_is_tried_again_with_another_wish(tmp_path: Path) -> None:
    _remembered(tmp_path).learn(HERE, "high", ("reasoning_effort",))
    later = _remembered(tmp_path)
    assert (later.refused(HERE, "high"), later.refused(HERE, "low")) == (("reasoning_effort",), ())


def test_what_a_new_start_of_the_server_may_bring_is_not_kept(tmp_path: Path) -> None:
    remembered = _remembered(tmp_path)
    remembered.learn(HERE, "high", ("tools",))
    assert (remembered.refused(HERE, "low"), (tmp_path / REFUSED_FILE).exists()) == (("tools",), False)


def test_after_a_week_a_server_is_asked_again(tmp_path: Path) -> None:
    _remembered(tmp_path).learn(HERE, "high", ("store",))
    assert _remembered(tmp_path, 1000.0 + KEPT_S - 1).refused(HERE, "high") == ("store",)
    assert _remembered(tmp_path, 1000.0 + KEPT_S).refused(HERE, "high") == ()
    assert _remembered(tmp_path, 999.0).refused(HERE, "high") == ()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"servers": 3}', '{"servers": [3, {"place": ["a"]}, {}]}'])
def test_a_file_with_anything_wrong_costs_one_refusal_and_is_replaced(content: str, tmp_path: Path) -> None:
    (tmp_path / REFUSED_FILE).write_text(content)
    remembered = _remembered(tmp_path)
    assert remembered.refused(HERE, "high") == ()
    remembered.learn(HERE, "high", ("store",))
    rows = json.loads((tmp_path / REFUSED_FILE).read_text())["servers"]
    assert rows == [{"place": list(HERE), "at": 1000.0, "refused": {"store": ""}}]


def test_the_file_is_told_with_the_way_to_forget_it(tmp_path: Path) -> None:
    file = RefusedParametersFile(tmp_path, lambda: 1000.0)
    assert file.summary() == "no server has refused anything"
    file.keep(HERE, {"store": "", "stream_options": ""})
    path = tmp_path / REFUSED_FILE
    assert file.summary() == f"not sent to m at mine (store, stream_options); delete {path} to forget it"
