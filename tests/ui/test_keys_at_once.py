"""Thousands of keys at once, as from a paste that is not announced: in order, with their meaning, and soon done."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from textual import events
from textual.message import Message
from textual.widgets import TextArea

from tests.app.screen_stage import Screen, screen
from tests.ui.stage import until
from tui.ui.input.completion_popup import Popup
from tui.ui.input.composer import Composer
from tui.ui.terminal.driver import Keyboard
from tui.ui.terminal.key_delivery import LONG_RUN, KeyDelivery

pytestmark = pytest.mark.frames

READ = 4_096
"""Characters of one read from the terminal."""
NAMES = {"left": "\x1b[D", "right": "\x1b[C", "backspace": "\x7f"}
"""Keys that do the same at every width: how wide a draft is depends on when it is laid out."""


class Typist:
    """Types as the terminal does: as much at once as one read returns."""

    def __init__(self, s: Screen) -> None:
        self._app = s.app
        self.delivered: list[Message] = []
        self._delivery = KeyDelivery(s.app, self._deliver)
        self._keyboard = Keyboard(lambda background: None)

    def _deliver(self, message: Message) -> None:
        message.set_sender(self._app)
        self.delivered.append(message)
        self._app.post_message(message)

    async def type(self, data: str) -> None:
        loop = asyncio.get_running_loop()
        for start in range(0, len(data), READ):
            messages = [*self._keyboard.feed(data[start : start + READ])]
            await asyncio.to_thread(self._delivery.hand_on, messages, loop, lambda: False)


@pytest.mark.long
async def test_letters_at_once_are_few_insertions_and_none_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"word {number}, and «more»/@{number % 7}? " for number in range(800))
    async with screen(tmp_path) as s:
        edits: list[int] = []
        edit = TextArea.edit

        def counted(area: TextArea, change: object) -> object:
            edits.append(1)
            return edit(area, change)  # type: ignore[arg-type]

        monkeypatch.setattr(TextArea, "edit", counted)
        await Typist(s).type(text)
        await until(s.pilot, lambda: s.app.chat.composer.text == text)
        assert len(edits) <= 3 * (len(text) // READ + 1)
        composer = s.app.chat.composer
        await until(s.pilot, lambda: composer.cursor_screen_offset.y < composer.region.bottom)
        assert composer.cursor_location == composer.document.end


@pytest.mark.long
async def test_the_first_letter_may_be_a_key_of_its_own_and_the_rest_goes_where_it_leads(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await Typist(s).type("?" + "undo" * 20)
        await until(s.pilot, lambda: s.app.screen is not s.app.chat)
        assert s.app.chat.composer.text == ""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.long
async def test_keys_at_once_do_what_they_do_one_by_one(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    often = [key * (LONG_RUN * 2) for key in NAMES.values()]
    pieces = [*NAMES.values(), *often, "a", "word and word ", "é.,;", "x" * (LONG_RUN * 2), "\x1b[200~pasted\x1b[201~"]
    typed = [chosen.choice(pieces) for _ in range(60)]
    ends: list[tuple[str, tuple[int, int]]] = []
    for number, reads in enumerate((["".join(typed)], [*typed])):
        async with screen(tmp_path / str(number)) as s:
            typist = Typist(s)
            for data in [*reads, "!"]:
                await typist.type(data)
            await s.until_it_says("!")
            ends.append((s.app.chat.composer.text, s.app.chat.composer.cursor_location))
    assert ends[0] == ends[1]


async def test_home_leads_to_the_start_of_a_row_wrapped_or_not(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        composer = s.app.chat.composer
        for word in ("an indented line", "wrapped " * 40):
            composer.put(f"   {word}", at=(0, 8))
            await s.pilot.press("home")
            assert composer.cursor_location == (0, 0)
            await s.pilot.press("home")
            assert composer.cursor_location == (0, 0)


async def test_of_a_thousand_escapes_the_first_count_and_the_next_letter_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with screen(tmp_path) as s:
        pressed: list[int] = []

        async def escape() -> None:
            pressed.append(1)

        monkeypatch.setattr(s.app.global_keys, "escape", escape)
        typist = Typist(s)
        await typist.type("\x1b[27u" * LONG_RUN)
        await until(s.pilot, lambda: len(pressed) == LONG_RUN)
        await typist.type("\x1b[27u" * 800 + "a")
        await until(s.pilot, lambda: s.app.chat.composer.text == "a")
        assert len(pressed) == 2 * LONG_RUN


@pytest.mark.long
async def test_thousands_of_arrows_and_backspaces_are_few_steps_and_end_where_each_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = "".join(f"row {number}\n" for number in range(100))
    async with screen(tmp_path) as s:
        steps: list[str] = []
        press_repeatedly = Composer.press_repeatedly

        def counted(composer: Composer, key: str, times: int) -> int:
            handled = press_repeatedly(composer, key, times)
            steps.append(key)
            assert handled
            return handled

        monkeypatch.setattr(Composer, "press_repeatedly", counted)
        composer, typist = s.app.chat.composer, Typist(s)
        for prompt in ("the first", "the second\nof two rows"):
            composer.past.remember(prompt)
        composer.put(draft)
        await typist.type("\x1b[D" * 500 + "!")
        await until(s.pilot, lambda: composer.text == draft[:-500] + "!" + draft[-500:])
        await typist.type("\x7f" * 300)
        await until(s.pilot, lambda: composer.text == draft[:-799] + draft[-500:])
        await typist.type("\x1b[A" * 1_000)
        await until(s.pilot, lambda: composer.text == "the first" and composer.cursor_location == (0, 0))
        await typist.type("\x1b[B" * 1_000)
        await until(s.pilot, lambda: composer.text == draft[:-799] + draft[-500:])
        assert composer.cursor_location == composer.document.end
        assert len(steps) < 30


@pytest.mark.long
async def test_arrows_at_once_move_through_the_rows_of_an_open_list(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await Typist(s).type("/co" + "\x1b[B" * (LONG_RUN * 2 + 1))
        popup = s.app.chat.query_one(Popup)
        await until(s.pilot, lambda: popup.highlighted == (LONG_RUN * 2 + 1) % popup.option_count)
        assert s.app.chat.composer.text == "/co"


@pytest.mark.long
async def test_commands_of_vim_at_once_are_commands(tmp_path: Path) -> None:
    async with screen(tmp_path, assignments=("ui.vim=true",)) as s:
        await Typist(s).type("word " * 20 + "\x1b[27u0" + "x" * 40)
        await until(s.pilot, lambda: s.app.chat.composer.text == "word " * 12)


async def test_a_key_does_not_overtake_a_paste(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await Typist(s).type("\x1b[200~pasted\x1b[201~\n" * 3 + "end")  # ctrl+j, which passes no widget
        await until(s.pilot, lambda: s.app.chat.composer.text == "pasted\n" * 3 + "end")


async def test_a_key_that_opens_a_sheet_is_waited_for_by_those_after_it(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        await Typist(s).type("\x10settings\r")  # ctrl+p
        await s.until_it_says("find a setting")
        assert s.app.chat.composer.text == ""


async def test_of_changes_of_the_focus_only_the_last_counts(tmp_path: Path) -> None:
    async with screen(tmp_path) as s:
        typist = Typist(s)
        await typist.type("\x1b[O\x1b[I" * 200 + "a" + "\x1b[I\x1b[O" * 200)
        assert [type(event).__name__ for event in typist.delivered] == ["AppFocus", "Key", "AppBlur"]


@pytest.mark.long
async def test_of_moves_of_the_mouse_only_the_last_counts_and_buttons_keep_their_place(tmp_path: Path) -> None:
    moves = "".join(f"\x1b[<35;{5 + number % 50};{5 + number % 20}M" for number in range(100))
    drag = "".join(f"\x1b[<32;{5 + number};12M" for number in range(20))
    async with screen(tmp_path) as s:
        typist = Typist(s)
        await typist.type(moves + "\x1b[<0;5;12M" + drag + "\x1b[<0;24;12m" + moves)
        mouse = [
            (type(event).__name__, event.x, event.y)
            for event in typist.delivered
            if isinstance(event, events.MouseEvent)
        ]
        assert mouse == [
            ("MouseMove", 53, 23),
            ("MouseDown", 4, 11),
            ("MouseMove", 23, 11),
            ("MouseUp", 23, 11),
            ("MouseMove", 53, 23),
        ]
