"""Pictures from the clipboard: what programs of the desktop give, and what becomes of those that misbehave."""

from __future__ import annotations

import asyncio
import base64
import io
import shutil
import time
from pathlib import Path

import pytest
from PIL import Image

from tests.app.screen_stage import screen
from tests.patience import PATIENCE_S
from tests.ui.stage import type_in, until
from tui.app import clipboard_pictures
from tui.app.clipboard_pictures import ClipboardPictures
from tui.domain.blocks import ImageBlock
from tui.domain.errors import UsageError

LISTS_PNG = (
    'case "$*" in *--list-types*|*TARGETS*) printf "TARGETS\\ntext/plain\\nimage/jpeg\\nimage/png\\n"; exit;; esac\n'
)


def _png() -> bytes:
    kept = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(kept, "PNG")
    return kept.getvalue()


def _programs(folder: Path, **scripts: str) -> dict[str, str]:
    """The environment of a desktop with these programs."""
    programs = folder / "bin"
    programs.mkdir()
    (folder / "home").mkdir()
    (folder / "picture.png").write_bytes(_png())
    (folder / "picture.hex").write_text(_png().hex().upper())
    (folder / "picture.b64").write_bytes(base64.encodebytes(_png()))
    for name, script in scripts.items():
        path = programs / name.replace("_", "-").replace("-exe", ".exe")
        path.write_text(f"#!/bin/sh\ncd '{folder}'\n{script}\n")
        path.chmod(0o755)
    return {"PATH": f"{programs}:/usr/bin:/bin", "WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":7", "HOME": str(folder)}


async def _read(environment: dict[str, str], folder: Path) -> ImageBlock:
    path = environment["PATH"].partition(":")[0]
    picture = ClipboardPictures({**environment, "PATH": f"{path}:/bin:/usr/bin"}, folder)
    return await picture.read()


@pytest.fixture(autouse=True)
def _only_scripted_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that this machine happens to have are not found."""
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, path="": which(name, path=path.partition(":")[0]))


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("wl_paste", LISTS_PNG + '[ "$*" = "--no-newline --type image/png" ] && cat picture.png'),
        ("xclip", LISTS_PNG + '[ "$*" = "-selection clipboard -o -t image/png" ] && cat picture.png'),
        ("pngpaste", '[ "$*" = "-" ] && cat picture.png'),
        ("osascript", 'printf "«data PNGf"; cat picture.hex; printf "»\\n"'),
        ("powershell_exe", "cat picture.b64"),
        ("wl_paste", LISTS_PNG + "echo warning: odd >&2; cat picture.png"),
    ],
)
async def test_each_program_gives_its_picture(tmp_path: Path, name: str, script: str) -> None:
    block = await _read(_programs(tmp_path, **{name: script}), tmp_path)
    assert (block.media_type, base64.b64decode(block.data or "")) == ("image/png", _png())


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("scripts", "said"),
    [
        ({}, "No program here can read a picture"),
        ({"wl_paste": 'printf "text/plain\\n"'}, "There is no picture on the clipboard."),
        ({"wl_paste": "exit 1"}, "There is no picture on the clipboard."),
        ({"pngpaste": "exit 1", "osascript": "exit 1"}, "There is no picture on the clipboard."),
        ({"osascript": 'printf "«data PNGfABC»"'}, "There is no picture on the clipboard."),
        ({"powershell_exe": 'printf "no base64!"'}, "There is no picture on the clipboard."),
        ({"xclip": LISTS_PNG + 'printf "<html>"'}, "`clipboard` is not a PNG, JPEG, GIF or WebP picture."),
        ({"wl_paste": LISTS_PNG + "head -c 25000000 picture.png /dev/zero"}, "too large to attach"),
        ({"wl_paste": LISTS_PNG + "head -c 1000000000 /dev/zero"}, "too large to attach"),
    ],
)
async def test_what_is_no_picture_is_refused(tmp_path: Path, scripts: dict[str, str], said: str) -> None:
    began = time.monotonic()
    with pytest.raises(UsageError, match=said):
        await _read(_programs(tmp_path, **scripts), tmp_path)
    assert time.monotonic() - began < PATIENCE_S / 4


async def test_the_second_program_is_asked_if_the_first_has_none(tmp_path: Path) -> None:
    environment = _programs(tmp_path, wl_paste="exit 1", xclip=LISTS_PNG + "cat picture.png")
    assert (await _read(environment, tmp_path)).media_type == "image/png"


async def test_a_program_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard_pictures, "TIME_S", 0.3)
    environment = _programs(tmp_path, wl_paste="sleep 600 & echo $! > pid; wait")
    with pytest.raises(UsageError, match=r"`wl-paste` did not return the picture within 0.3 s"):
        await _read(environment, tmp_path)
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()


async def test_the_program_gets_no_key(tmp_path: Path) -> None:
    environment = _programs(tmp_path, wl_paste=LISTS_PNG + 'env > seen; cat "picture.png"')
    await _read({**environment, "ANTHROPIC_API_KEY": "sk-secret", "LD_PRELOAD": "/x.so"}, tmp_path)
    seen = (tmp_path / "seen").read_text()
    assert ("sk-secret" in seen, "LD_PRELOAD" in seen, "WAYLAND_DISPLAY=wayland-0" in seen) == (False, False, True)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("key", ["ctrl+v", "alt+v"])
async def test_a_key_attaches_the_picture(tmp_path: Path, key: str) -> None:
    environment = _programs(tmp_path, wl_paste=LISTS_PNG + "cat picture.png")
    async with screen(tmp_path / "home", environment=environment) as s:
        await type_in(s.pilot, "what is ")
        await s.pilot.press(key)
        await until(s.pilot, lambda: s.app.chat.composer.text == "what is ⟦clipboard⟧ ")
        [block, _] = s.app.chat.composer.chips.blocks(s.app.chat.composer.text)
        assert isinstance(block, ImageBlock)


async def test_without_a_picture_the_key_says_so(tmp_path: Path) -> None:
    environment = _programs(tmp_path, wl_paste="exit 1")
    async with screen(tmp_path / "home", environment=environment) as s:
        await s.pilot.press("ctrl+v")
        await s.until_toast("There is no picture on the clipboard.")
        assert s.app.chat.composer.text == ""


@pytest.mark.long
async def test_attach_clipboard_is_a_command(tmp_path: Path) -> None:
    environment = _programs(tmp_path, wl_paste=LISTS_PNG + "cat picture.png")
    async with screen(tmp_path / "home", environment=environment) as s:
        await s.enter("/attach clipboard")
        await until(s.pilot, lambda: s.app.chat.composer.text == "⟦clipboard⟧ ")
