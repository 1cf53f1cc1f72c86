import pytest

from tui.context.calibration import Anchor, Calibration
from tui.context.estimate import block_tokens, text_tokens, tools_tokens
from tui.domain.blocks import ImageBlock
from tui.domain.request import ToolSchema

EMPTY = Calibration()


def taught(*pairs):
    calibration = EMPTY
    for estimate, reported in pairs:
        calibration = calibration.learned("p/m", estimate, reported)
    return calibration


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


def test_what_was_reported_corrects_the_next_estimate():
    assert taught((1_000, 1_200), (2_000, 2_400), (500, 600)).predict("p/m", 1_000) == 1_200


def test_one_strange_exchange_does_not_carry_the_rest_along():
    usual = [(1_000, 1_100)] * 6
    assert taught(*usual, (50, 5_000)).predict("p/m", 1_000) == 1_100


def test_one_exchange_is_only_half_believed():
    assert 1_000 < taught((1_000, 1_200)).predict("p/m", 1_000) < 1_200


def test_inside_a_conversation_only_what_was_added_is_estimated():
    anchor = Anchor(estimate=10_000, reported=13_000)
    assert EMPTY.predict("p/m", 10_100, anchor) == 13_100


def test_after_a_deep_cut_the_anchor_no_longer_holds():
    assert EMPTY.predict("p/m", 2_000, Anchor(estimate=10_000, reported=13_000)) == 2_000


def test_models_learn_apart():
    assert taught((1_000, 2_000), (1_000, 2_000)).predict("p/other", 1_000) == 1_000


def test_nothing_is_learned_from_what_was_not_reported():
    assert EMPTY.learned("p/m", 1_000, None) == EMPTY


def test_what_was_learned_survives_being_kept():
    calibration = taught((1_000, 1_200), (2_000, 2_400))
    assert Calibration.from_table(calibration.as_table()) == calibration


@pytest.mark.parametrize("table", [None, [], {"p/m": "x"}, {"p/m": [[1], ["a", "b"], [0, 5]]}])
def test_a_broken_table_is_an_empty_one(table):
    assert Calibration.from_table(table) == EMPTY
