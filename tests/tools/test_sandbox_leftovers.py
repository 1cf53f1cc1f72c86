"""What a sandboxed command leaves so that it is hard to find, to rename or to remove."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.bench import open_bench, outcome, words
from tests.patience import PATIENCE_S
from tests.tools.sandboxes import every_sandbox, needs_sandbox
from tests.tools.scripted_model import ScriptedModel
from tests.unprivileged import bits_are_obeyed, obey_permission_bits
from tui.tools.sandbox.guarded_entries import Guards, guarded_entries, set_aside
from tui.tools.sandbox.sandbox import Kernel, remove_folder

WRITES = {"allow": ["shell rw"]}
NEST = "python3 -c \"import os\nfor _ in range(1500):\n os.mkdir('d')\n os.chdir('d')\""


@pytest.mark.one_in(3)
@every_sandbox
async def test_a_circle_of_links_hides_nothing_that_was_made_beside_it(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions=WRITES)
    made = "ln -s .envrc .envrc; ln -s .vimrc .exrc; ln -s .exrc .vimrc; mkdir .vscode; touch .vscode/tasks.json"
    assert (await bench.call("shell", command=made)).failed
    names = ["envrc", "exrc", "vimrc", "vscode"]
    assert sorted(path.name for path in bench.folder.iterdir()) == [f"set-aside-{name}-by-ponder" for name in names]
    bench.write("target", "")
    (bench.folder / ".envrc").symlink_to(".envrc")
    assert outcome(await bench.call("shell", command="echo still works")) == (True, "still works")


@every_sandbox
async def test_a_name_as_long_as_names_can_be_is_renamed_too(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions=WRITES)
    packages = bench.folder / "site-packages"
    made = f"mkdir site-packages; touch site-packages/{'x' * 251}.pth; mkdir .vscode{'é' * 124}"
    assert (await bench.call("shell", command=made)).failed
    assert [path.name for path in packages.iterdir()] == [f"set-aside-{'x' * 200}-by-ponder"]
    assert not any(path.name.startswith(".") for path in bench.folder.iterdir())


@pytest.mark.one_in(3)
@every_sandbox
@pytest.mark.long
async def test_any_depth_of_the_temporary_folder_is_removed_and_the_result_kept(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell ro"]})
    result = await bench.call("shell", command=f"cd $TMPDIR; pwd; {NEST}")
    good, said = outcome(result)
    assert good
    assert not Path(said).exists()


def test_removing_a_folder_follows_no_link_out_of_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    (kept / "below").mkdir(parents=True)
    (kept / "file").write_text("x")
    folder = tmp_path / "folder"
    (folder / "deep" / "deeper").mkdir(parents=True)
    for link, target in (("a", kept), ("deep/b", kept), ("deep/deeper/c", kept / "file"), ("d", "d")):
        (folder / link).symlink_to(target)
    os.mkfifo(folder / "deep" / "pipe")
    remove_folder(folder)
    assert (folder.exists(), sorted(path.name for path in kept.iterdir())) == (False, ["below", "file"])
    remove_folder(folder)


def test_what_cannot_be_renamed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guards = Guards(lambda path: path.name == ".envrc")
    before = guarded_entries(tmp_path, guards)
    (tmp_path / ".envrc").touch()

    def refused(path: Path, _: Path) -> Path:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "rename", refused)
    assert (done := set_aside(tmp_path, before, guards)).not_renamed == (tmp_path / ".envrc",)
    assert (done.renamed, done.complete) == ((), True)


@pytest.mark.long
def test_a_folder_too_deep_to_be_looked_into_is_told(tmp_path: Path) -> None:
    guards = Guards(lambda path: path.name == ".envrc")
    before = guarded_entries(tmp_path, guards)
    subprocess.run(["bash", "-c", NEST.replace("1500", "2500")], cwd=tmp_path, check=True)
    try:
        assert set_aside(tmp_path, before, guards).complete is False
    finally:
        remove_folder(tmp_path / "d")


@pytest.mark.one_in(3)
@needs_sandbox
@pytest.mark.parametrize("mode", ["555", "311", "000"])
@pytest.mark.long
def test_a_folder_without_permissions_hides_nothing(tmp_path: Path, mode: str) -> None:
    """With bubblewrap a command may change modes; with Landlock it makes the folder with the mode."""
    if not bits_are_obeyed(tmp_path):
        pytest.skip("permission bits are not obeyed here: NOT tested")
    folder = tmp_path / "repository"
    (folder / "mine").mkdir(parents=True)
    (folder / "mine" / ".envrc").touch()
    (folder / "mine").chmod(0)
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    (folder / "made.sh").write_text(
        f"mkdir sub; touch sub/.envrc; chmod {mode} sub; umask 0477; mkdir new; touch new/.envrc\n"
    )
    with ScriptedModel([[("shell", {"command": "sh made.sh"})], "Done."]) as model:
        (config / "config.toml").write_text(model.config("openai-chat"))
        done = subprocess.run(
            [sys.executable, "-m", "tui", "-p", "Go.", "--allow", "shell(sh) rw"],
            cwd=folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PONDER_HOME": str(tmp_path / "home"),
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
            preexec_fn=obey_permission_bits,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        (result,) = model.results()
    assert (done.returncode, "not all were checked" in result) == (0, False), result
    assert (folder / "mine").stat().st_mode & 0o777 == 0
    assert (folder / "mine" / ".envrc").exists()
    for name in ("sub", "new"):
        assert [path.name for path in (folder / name).iterdir()] == ["set-aside-envrc-by-ponder"]


async def test_links_in_circles_where_credentials_and_programs_are_expected_stop_nothing(tmp_path: Path) -> None:
    person = tmp_path / "person"
    person.mkdir()
    for name in (".netrc", "id_rsa"):
        (person / name).symlink_to(name)
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "bin").symlink_to("bin")
    bench = open_bench(tmp_path, permissions={"allow": ["shell ro"]}, environment={"PATH": "bin:/usr/bin:/bin"})
    result = await bench.call("shell", "once", command="echo works")
    assert words(result) == "works"
