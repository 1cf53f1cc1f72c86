"""What git runs by its configuration, however that is written and wherever it stands, asks before it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench

CONFIGURATIONS = {
    "a comment behind it": "[core]\n\thooksPath = tools/hooks ; ours\n",
    "a comment without blank": '[core]\n\thooksPath = "tools/hooks"# ours\n',
    "a sign of a comment in quotes": '[core]\n\thooksPath = "tools/a#b"\n',
    "a line that goes on": "[core]\n\thooksPath = tools/\\\nhooks\n",
    "another program": '[interactive]\n\tdiffFilter = tools/filter --x\n[gpg "ssh"]\n\tdefaultKeyCommand = tools/key\n',
    "a pager of one command": "[pager]\n\tlog = tools/pager\n",
    "a tool by its path": '[mergetool "x"]\n\tpath = tools/merge\n',
    "an update of a submodule": '[submodule "x"]\n\tupdate = !tools/update\n',
    "a template": "[init]\n\ttemplateDir = tools/template\n",
}
NAMED = {
    "a sign of a comment in quotes": ["tools/a#b/pre-commit"],
    "another program": ["tools/filter", "tools/key"],
    "a pager of one command": ["tools/pager"],
    "a tool by its path": ["tools/merge"],
    "an update of a submodule": ["tools/update"],
    "a template": ["tools/template/hooks/pre-commit"],
}


def _bench(tmp_path: Path, files: dict[str, str]) -> Bench:
    for name, text in {"ws/.git/HEAD": "ref: refs/heads/main\n", **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return open_bench(tmp_path, permissions={"allow": ["write(**)"]})


async def _asks(bench: Bench, name: str) -> bool:
    if (bench.folder / name).exists():
        await bench.call("read_file", path=name)
    await bench.call("write_file", path=name, content="x")
    return bool(bench.user.asked)


@pytest.mark.parametrize("kind", CONFIGURATIONS)
async def test_every_way_to_name_a_program_is_understood(tmp_path: Path, kind: str) -> None:
    bench = _bench(tmp_path, {"ws/.git/config": CONFIGURATIONS[kind]})
    named = NAMED.get(kind, ["tools/hooks/pre-commit"])
    assert [await _asks(bench, name) for name in named] == [True] * len(named)
    assert not await _asks(bench, "tools/other")


async def test_files_that_the_configuration_includes_are_read_too(tmp_path: Path) -> None:
    shared = "[core]\n\thooksPath = tools/hooks\n[include]\n\tpath = more\n[include]\n\tpath = shared.cfg\n"
    included = {
        "ws/.git/config": '[includeIf "gitdir:~/"]\n\tpath = ../etc/shared.cfg\n',
        "ws/etc/shared.cfg": shared,
        "ws/etc/more": "[alias]\n\tx = !tools/alias\n",
    }
    bench = _bench(tmp_path, included)
    for name in ("etc/shared.cfg", "etc/more", "tools/hooks/pre-commit", "tools/alias"):
        assert await _asks(bench, name), name
    assert not await _asks(bench, "etc/other")


@pytest.mark.parametrize("place", ["person/.gitconfig", "person/.config/git/config"])
async def test_the_users_own_configuration_counts(tmp_path: Path, place: str) -> None:
    text = '[core]\n\thooksPath = tools/hooks\n[diff "x"]\n\ttextconv = ~/../ws/tools/convert\n'
    bench = _bench(tmp_path, {"ws/.git/config": "", place: text})
    assert await _asks(bench, "tools/hooks/pre-commit")
    assert await _asks(bench, "tools/convert")
