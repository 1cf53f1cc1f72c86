import json
from dataclasses import replace

import pytest

from tui.catalog.facts import ThinkingCounted
from tui.catalog.model_rows import model_file, packaged_files
from tui.context.calibration import Anchor, Calibration, thinking_verdict
from tui.context.estimate import FAMILIES, block_tokens, text_tokens, tools_tokens
from tui.domain.blocks import ImageBlock
from tui.domain.request import ToolSchema

EMPTY = Calibration()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # Counts of OpenAI's o200k tokenizer.
        ("Hello, world!", 4),
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("def add(a, b):\n    return a + b\n", 12),
    ],
)
def test_a_short_text_is_estimated_within_two_tokens(text, tokens):
    assert abs(text_tokens(text, "o200k") - tokens) <= 2


def test_scripts_without_spaces_are_counted_by_character():
    assert 4 <= text_tokens("大型语言模型", "o200k") <= 6


def test_an_empty_text_is_nothing():
    assert text_tokens("", "claude") == 0


def test_newer_claudes_cut_finer():
    assert text_tokens("a " * 100, "claude-4.7") == pytest.approx(1.3 * text_tokens("a " * 100, "claude"), abs=1)


def test_an_unknown_tokenizer_gets_the_general_weights():
    assert text_tokens("Hello, world!", "nobody's") == text_tokens("Hello, world!", "o200k")


def test_pictures_and_tool_schemas_are_counted():
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "Where it is."}}}
    tool = ToolSchema(name="read_file", description="Reads a file.", parameters=schema)
    assert block_tokens(ImageBlock(media_type="image/png", data="AAAA")) > 500
    assert tools_tokens([tool], "claude") > tools_tokens([], "claude") == 0


def test_without_experience_an_estimate_stands_as_it_is():
    assert EMPTY.predict("p/m", 1_000) == 1_000


def test_a_short_first_exchange_teaches_a_base_and_no_slope():
    hidden_prompt = EMPTY.with_opening("p/m", 20, 2_168)
    assert hidden_prompt.predict("p/m", 20) == 2_168
    assert hidden_prompt.predict("p/m", 2_020) == 4_168
    assert hidden_prompt.predict("p/m", 2_020, Anchor(estimate=20, reported=2_168)) == 4_168


def test_the_slope_is_the_median_of_real_steps():
    stepped = EMPTY.with_step("p/m", 1_000, 1_200).with_step("p/m", 1_000, 2_400).with_step("p/m", 500, 600)
    assert stepped.predict("p/m", 1_000) == 1_200
    assert stepped.predict("p/m", 11_000, Anchor(estimate=10_000, reported=13_000)) == 14_200


@pytest.mark.parametrize("step", [(50, 60), (1_000, 20_000), (1_000, 10)], ids=["small", "far more", "far less"])
def test_a_step_that_says_nothing_about_text_is_ignored(step):
    assert EMPTY.with_step("p/m", *step) == EMPTY


def test_the_base_is_what_the_slope_leaves_unexplained():
    learned = EMPTY.with_step("p/m", 1_000, 1_500).with_opening("p/m", 100, 350)
    assert (learned.of("p/m").slope, learned.of("p/m").base(tools=False)) == (1.5, 200)


def test_requests_with_tools_have_a_base_of_their_own():
    learned = EMPTY.with_opening("p/m", 20, 120).with_opening("p/m", 1_020, 1_620, tools=True)
    assert learned.predict("p/m", 30) == 130
    assert learned.predict("p/m", 1_030, tools=True) == 1_630


def test_one_strange_opening_does_not_carry_the_rest_along():
    learned = EMPTY
    for reported in (150, 150, 5_000, 150):
        learned = learned.with_opening("p/m", 100, reported)
    assert learned.predict("p/m", 1_000) == 1_050


def test_inside_a_conversation_only_what_was_added_is_estimated():
    anchor = Anchor(estimate=10_000, reported=13_000)
    assert EMPTY.predict("p/m", 10_100, anchor) == 13_100


def test_after_a_deep_cut_the_anchor_no_longer_holds():
    assert EMPTY.predict("p/m", 2_000, Anchor(estimate=10_000, reported=13_000)) == 2_000


def test_models_learn_apart():
    assert EMPTY.with_opening("p/m", 10, 2_000).predict("p/other", 1_000) == 1_000


def test_nothing_is_learned_from_what_was_not_reported():
    assert EMPTY.with_opening("p/m", 1_000, 0) == EMPTY


def test_what_was_learned_survives_being_kept():
    verdict = frozenset({ThinkingCounted.OPEN_TURN, ThinkingCounted.NONE})
    learned = EMPTY.with_opening("p/m", 1_000, 1_200).with_opening("p/m", 9, 9, tools=True).with_step("p/m", 900, 1_000)
    learned = learned.with_thinking_verdict("p/m", verdict)
    assert Calibration.from_table(json.loads(json.dumps(learned.as_table()))) == learned


ALL, OPEN_TURN = ThinkingCounted.ALL, ThinkingCounted.OPEN_TURN
SIZES = {ALL: 1_500, OPEN_TURN: 0, ThinkingCounted.TOOL_TURNS: 0, ThinkingCounted.NONE: 0}


@pytest.mark.parametrize(("reported", "counted"), [(160, OPEN_TURN), (1_620, ALL), (900, ALL)])
def test_a_reported_count_shows_whether_finished_thinking_was_in_it(reported, counted):
    before = Anchor(estimate=20, reported=20, others=20, thinking=dict.fromkeys(SIZES, 0))
    now = Anchor(estimate=1_640, reported=reported, others=140, thinking=SIZES)
    verdict = thinking_verdict(before, now)
    learned = EMPTY if verdict is None else EMPTY.with_thinking_verdict("p/m", verdict)
    assert learned.counted_thinking("p/m", ALL) is counted


def test_little_thinking_shows_nothing():
    before = Anchor(estimate=20, reported=20, others=20, thinking=dict.fromkeys(SIZES, 0))
    assert thinking_verdict(before, replace(before, reported=100, thinking={**SIZES, ALL: 80})) is None


@pytest.mark.parametrize(
    "table",
    [
        None,
        [],
        {"p/m": "x"},
        {"p/m": [[10, 20]]},
        {"p/m": {"steps": [[1], ["a", "b"], [0, 5]], "verdicts": [["x"], 1]}},
    ],
)
def test_a_broken_table_is_an_empty_one(table):
    assert Calibration.from_table(table) == EMPTY


def test_every_packaged_model_names_a_known_tokenizer() -> None:
    named = {
        f"{file}: {model}": str(row.get("tokenizer", ""))
        for file in packaged_files()
        for model, row in model_file(file).rows.items()
    }
    assert {model: family for model, family in named.items() if family and family not in FAMILIES} == {}
