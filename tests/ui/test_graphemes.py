"""Clusters are measured, wrapped and cut as one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.domain.listing import SessionInfo
from tui.ui.dialogs.sessions import session_row
from tui.ui.graphemes import clusters, is_unsure, line_within
from tui.ui.markdown.document import Document
from tui.ui.markdown.runs import Run, line_width, plain, split_at, width_of, wrap

WHOLE = (
    "👨‍👩‍👧‍👦",
    "🧑🏽‍⚕️",
    "🇩🇪",
    "❤️",
    "1️⃣",
    "क्ष",
    "हि",
    "👍🏽",
    "漢",
    "e\u0301",
    "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
)
TEXTS = st.lists(st.sampled_from([*WHOLE, " ", "a", "word", ".", "x1"]), max_size=30).map("".join)


def boundaries(text: str) -> set[int]:
    """Where a text may be cut."""
    at, found = 0, {0}
    for cluster, _ in clusters(text):
        at += len(cluster)
        found.add(at)
    return found


@pytest.mark.parametrize("cluster", WHOLE)
def test_a_cluster_is_one(cluster: str) -> None:
    assert clusters(cluster) == [(cluster, cell_len(cluster))]
    assert clusters(cluster * 3) == [(cluster, cell_len(cluster))] * 3


def test_vowel_signs_beside_their_letter_have_a_column() -> None:
    assert [cell_len(text) for text in ("हि", "हिन्दी", "மி", "नमस्ते", "ກຳ", "é")] == [2, 5, 2, 4, 2, 1]


def test_plain_text_has_nothing_to_steady() -> None:
    assert not any(map(is_unsure, ["plain", "漢字", "é ü", "─│╭▇", "Привет", "↪ ▸ •", "한국어", "🎉"]))
    assert all(map(is_unsure, ["🇩🇪", "❤️", "👍🏽", "क", "👨‍👩‍👧"]))


@given(TEXTS, st.integers(1, 40))
def test_measuring_and_cutting_agree(text: str, columns: int) -> None:
    assert sum(width for _, width in clusters(text)) == width_of(text)
    cut = split_at(text, columns)
    if not text.isascii():
        assert cut in boundaries(text)
        assert width_of(text[:cut]) <= max(columns, 2)


@given(TEXTS, st.integers(2, 40))
def test_no_line_breaks_a_cluster_or_is_too_wide(text: str, width: int) -> None:
    rows = wrap([Run(text)], width)
    assert all(line_width(row) <= width for row in rows)
    assert "".join(clusters_of("".join(map(plain, rows)))) == "".join(clusters_of(text))
    assert [c for row in rows for c in clusters_of(plain(row))] == clusters_of(text)


@given(TEXTS, st.integers(12, 40))
def test_code_breaks_no_cluster(text: str, width: int) -> None:
    rows = Document(f"```\n{text}x\n```", closed=True).lines(width)[1:]
    assert all(line_width(row) <= width for row in rows)
    shown = [plain(row)[2:].removeprefix("↪ ") for row in rows]
    if not text.startswith(" "):
        assert [c for row in shown for c in clusters(row)] == clusters(text + "x")


def clusters_of(text: str) -> list[str]:
    """The clusters that are no blank."""
    return [cluster for cluster, _ in clusters(text) if cluster != " "]


@given(TEXTS, st.integers(1, 60))
def test_a_line_is_cut_to_columns_between_clusters(text: str, columns: int) -> None:
    line = line_within(text, columns)
    assert width_of(line) <= columns
    kept = [cluster for cluster, _ in clusters(line.removesuffix("…"))]
    assert kept == [cluster for cluster, _ in clusters(" ".join(text.split()))][: len(kept)]


@pytest.mark.parametrize("title", ["漢字" * 40, "👨‍👩‍👧‍👦 " * 30, "नमस्ते दुनिया " * 10, "🇩🇪" * 50])
@pytest.mark.parametrize("width", [24, 40, 57])
def test_rows_of_the_sessions_sheet_are_as_wide_as_the_sheet(title: str, width: int) -> None:
    hit = f"{title[:30]} \x02{title[:8]}\x03 {title}"
    row = SessionInfo(id="s", title=title, model=title, turns=1, cost=None, updated=0.0, snippet=hit)
    for line in str(session_row(row, width, 100.0, current=False).content).split("\n"):
        assert cell_len(line) <= width
