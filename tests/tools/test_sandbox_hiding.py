"""Commands that hide what they made from the look that is taken when they have ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench, outcome
from tests.patience import PATIENCE_S
from tests.tools.sandboxes import every_sandbox
from tui.tools.permissions.guarded_paths import guarded_paths
from tui.tools.sandbox import guarded_entries
from tui.tools.sandbox.sandbox import Kernel

HOSTILE = r"[core]\nrepositoryformatversion=0\nbare=false\nworktree=..\nfsmonitor=touch {canary}\n"
REPOSITORY_IN_TWO = (
    "mkdir -p a b/objects b/refs && echo 'ref: refs/heads/m' > a/HEAD && echo ../b > a/commondir"
    r" && printf '[core]\nrepositoryformatversion=0\n[extensions]\nworktreeConfig=true\n' > b/config"
    f" && printf '{HOSTILE}' > a/config.worktree"
)
REPOSITORY_THAT_IS_RENAMED = (
    f"mkdir -p .git/objects .git/refs && echo 'ref: refs/heads/m' > .git/HEAD && printf '{HOSTILE}' > .git/config; true"
)


def _bench(around: Path, kernel: Kernel, strength: str = "rw", path: str = "") -> Bench:
    environment = {"PATH": path} if path else {}
    return open_bench(around, kernel=kernel, permissions={"allow": [f"shell {strength}"]}, environment=environment)


@pytest.mark.one_in(3)
@every_sandbox
@pytest.mark.parametrize(
    ("command", "entered"),
    [(REPOSITORY_IN_TWO, "a"), (REPOSITORY_THAT_IS_RENAMED, "set-aside-git-by-ponder")],
    ids=["common folder elsewhere", "renamed repository"],
)
async def test_no_folder_is_left_whose_configuration_git_obeys(
    tmp_path: Path, kernel: Kernel, command: str, entered: str
) -> None:
    bench, canary = _bench(tmp_path, kernel), tmp_path / "canary"
    text = outcome(await bench.call("shell", command=command.format(canary=canary)))[1]
    git = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    subprocess.run(
        ["git", "status"], cwd=bench.folder / entered, env=git, capture_output=True, check=False, timeout=PATIENCE_S
    )
    assert not canary.exists()
    assert "was renamed to `" in text


@every_sandbox
async def test_the_hostile_repository_of_these_tests_works_without_the_look(tmp_path: Path, kernel: Kernel) -> None:
    """Otherwise the test above could not fail."""
    bench, canary = _bench(tmp_path, kernel), tmp_path / "canary"
    command = REPOSITORY_IN_TWO.format(canary=canary)
    subprocess.run(["bash", "-c", command], cwd=bench.folder, check=True, timeout=PATIENCE_S)
    git = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    subprocess.run(
        ["git", "status"], cwd=bench.folder / "a", env=git, capture_output=True, check=False, timeout=PATIENCE_S
    )
    assert canary.exists()


@pytest.mark.one_in(3)
@every_sandbox
@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("mkdir c && echo x > c/config.toml && ln -s c .cargo", ".cargo/config.toml"),
        ("mkdir -p c/workflows && echo x > c/workflows/ci.yml && ln -s c .github", ".github/workflows/ci.yml"),
        ("mkdir -p c/share/fish d && echo x > c/share/fish/f && ln -s ../c d/.local", "d/.local/share/fish/f"),
    ],
)
async def test_a_link_to_a_folder_is_no_way_to_a_guarded_name(
    tmp_path: Path, kernel: Kernel, command: str, path: str
) -> None:
    bench = _bench(tmp_path, kernel)
    text = outcome(await bench.call("shell", command=command))[1]
    assert not (bench.folder / path).exists()
    assert "was renamed to `" in text


@every_sandbox
async def test_a_link_out_of_the_folder_is_renamed_itself(tmp_path: Path, kernel: Kernel) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "config.toml").write_text("x")
    bench = _bench(tmp_path, kernel)
    await bench.call("shell", command=f"ln -s {tmp_path}/elsewhere .cargo")
    assert not (bench.folder / ".cargo").is_symlink()
    assert (tmp_path / "elsewhere" / "config.toml").read_text() == "x"


@every_sandbox
async def test_what_lies_behind_a_link_of_the_users_keeps_its_contents(tmp_path: Path, kernel: Kernel) -> None:
    bench = _bench(tmp_path, kernel)
    real = bench.write("conf/config.toml", "mine")
    (bench.folder / ".cargo").symlink_to("conf")
    text = outcome(await bench.call("shell", command="echo evil > conf/config.toml; echo evil > .cargo/config.toml"))[1]
    assert real.read_text() == "mine"
    assert "was renamed" not in text


@pytest.mark.one_in(2)
@every_sandbox
async def test_many_files_nearer_than_a_guarded_one_do_not_hide_it(
    tmp_path: Path, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_entries.guarded_entries, "__kwdefaults__", {"most": 300})
    bench = _bench(tmp_path, kernel)
    good, text = outcome(
        await bench.call("shell", command="mkdir -p sub/deep; seq 400 | xargs touch; echo x > sub/deep/.envrc")
    )
    assert not good
    assert not (bench.folder / "sub/deep/.envrc").exists()
    assert "`sub/deep/.envrc` is a file that other programs run" in text


@every_sandbox
async def test_a_folder_too_large_to_be_guarded_is_not_written_without_a_question(
    tmp_path: Path, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guarded_entries.guarded_entries, "__kwdefaults__", {"most": 30})
    bench = _bench(tmp_path, kernel)
    for number in range(40):
        bench.write(f"d{number}/e/.envrc", "mine")
    good, text = outcome(await bench.call("shell", command="echo x > d7/e/.envrc"))
    assert not good
    assert "too many files" in text
    assert [path.read_text() for path in bench.folder.rglob(".envrc")] == ["mine"] * 40
    await bench.call("shell", "no", command="echo x > d7/e/.envrc")
    assert len(bench.user.asked) == 1


@every_sandbox
async def test_what_was_not_looked_at_afterwards_is_told(
    tmp_path: Path, kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = _bench(tmp_path, kernel)
    monkeypatch.setattr(guarded_entries, "MAX_ENTRIES_AFTER", 20)
    text = outcome(await bench.call("shell", command="mkdir -p newer/x; touch $(seq 30)"))[1]
    assert "not all were checked" in text


@pytest.mark.long
@every_sandbox
async def test_files_made_by_one_command_do_not_hide_guarded_ones_from_the_next(tmp_path: Path, kernel: Kernel) -> None:
    bench = _bench(tmp_path, kernel)
    bench.write("sub/.vscode/tasks.json", "mine")
    for number in range(20_500):
        (bench.folder / f"f{number}").touch()
    text = outcome(await bench.call("shell", command="echo evil > sub/.vscode/tasks.json; echo evil > sub/.envrc"))[1]
    assert (bench.folder / "sub/.vscode/tasks.json").read_text() == "mine"
    assert not (bench.folder / "sub/.envrc").exists()
    assert text


@every_sandbox
async def test_a_guarded_link_is_there_again_after_a_command_removed_or_replaced_it(
    tmp_path: Path, kernel: Kernel
) -> None:
    bench = _bench(tmp_path, kernel)
    for name in ("one", "two"):
        bench.write(f"{name}/envrc.txt", "mine")
        (bench.folder / name / ".envrc").symlink_to("envrc.txt")
    await bench.call("shell", command="rm one/.envrc; cd two; echo evil > evil; rm .envrc; ln -s evil .envrc")
    for name in ("one", "two"):
        assert (bench.folder / name / ".envrc").readlink() == Path("envrc.txt")
        assert (bench.folder / name / ".envrc").read_text() == "mine"


@every_sandbox
async def test_a_folder_of_path_that_a_command_makes_is_set_aside(tmp_path: Path, kernel: Kernel) -> None:
    place = tmp_path / "ws" / "node_modules" / ".bin"
    bench = open_bench(
        tmp_path,
        kernel=kernel,
        permissions={"allow": ["shell(=mkdir -p node_modules/.bin && cp /bin/true node_modules/.bin/git) rw"]},
        environment={"PATH": f"{place}:/usr/bin:/bin"},
    )
    text = outcome(
        await bench.call("shell", command="mkdir -p node_modules/.bin && cp /bin/true node_modules/.bin/git")
    )[1]
    assert not bench.user.asked
    assert not (place / "git").exists()
    assert "was renamed" in text


@pytest.mark.one_in(6)
@every_sandbox
@pytest.mark.parametrize("strength", ["ro", "rw"])
@pytest.mark.parametrize("made", ["echo '{}' >", "mkfifo", "ln -s /dev/zero"])
async def test_a_command_cannot_pretend_that_it_never_ran(
    tmp_path: Path, kernel: Kernel, strength: str, made: str
) -> None:
    bench = _bench(tmp_path, kernel, strength)
    text = outcome(await bench.call("shell", command=f"{made} $TMPDIR/sandbox.json; echo did run"))[1]
    assert "did run" in text
    assert "was not run" not in text


@pytest.mark.one_in(3)
@every_sandbox
async def test_commands_side_by_side_do_not_pass_a_guarded_file_from_one_to_the_other(
    tmp_path: Path, kernel: Kernel
) -> None:
    bench = _bench(tmp_path, kernel)
    bench.write("sub/one.txt", "")
    wait = "for i in $(seq 2000); do [ -e {0} ] && break; sleep 0.05; done"
    first = f"echo evil > sub/.envrc; touch ready; {wait.format('go')}; mv sub/.envrc sub/x; touch done"
    second = f"touch go; {wait.format('done')}; {wait.format('over')}; mv sub/x sub/.envrc"
    one = asyncio.create_task(bench.call("shell", command=first))
    async with asyncio.timeout(PATIENCE_S):
        while not (bench.folder / "ready").exists():
            await asyncio.sleep(0.02)
    two = asyncio.create_task(bench.call("shell", command=second))
    for _ in range(50):  # the second one may have to wait for the end of the first
        await asyncio.sleep(0.02)
    (bench.folder / "go").touch()
    await one
    (bench.folder / "over").touch()
    await two
    assert not (bench.folder / "sub/.envrc").exists()


@every_sandbox
async def test_programs_in_a_relative_folder_of_path_cannot_be_replaced(tmp_path: Path, kernel: Kernel) -> None:
    (tmp_path / "ws/node_modules/.bin").mkdir(parents=True)
    (tmp_path / "ws/node_modules/.bin/git").write_text("the real one")
    bench = _bench(tmp_path, kernel, path="./node_modules/.bin:/usr/bin:/bin")
    await bench.call("shell", command="echo evil > node_modules/.bin/git")
    assert (bench.folder / "node_modules/.bin/git").read_text() == "the real one"


SHEDS_EVERYTHING = """
import os, sys
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
for number in range(3):
    os.close(number)
os.open("/dev/null", os.O_RDWR)
os.dup(0)
os.dup(0)
later = 'import time; time.sleep(60); open(".envrc", "w")  # LABEL'
os.execve(sys.executable, [sys.executable, "-c", later], {})
"""


def _running(label: str) -> list[Path]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if label.encode() in path.read_bytes():
                found.append(path)
    return found


@pytest.mark.one_in(3)
@every_sandbox
@pytest.mark.parametrize(("more", "timeout"), [("true", 50), ("trap '' TERM; sleep 50", 1)], ids=["ends", "timed out"])
async def test_a_process_that_sheds_session_family_mark_and_output_is_ended_too(
    tmp_path: Path, kernel: Kernel, more: str, timeout: int
) -> None:
    bench, label = _bench(tmp_path, kernel), f"label-{secrets.token_hex(8)}-"
    bench.write("sheds.py", SHEDS_EVERYTHING.replace("LABEL", label))
    # Under bubblewrap it sees only its own processes, and the expression does not fit itself.
    started = f"python3 sheds.py; until grep -qs '{label[:-1]}[-]' /proc/[0-9]*/cmdline; do sleep 0.02; done; {more}"
    good, text = outcome(await bench.call("shell", command=started, timeout=timeout))
    assert good is (more == "true"), text
    assert _running(label) == []


@pytest.mark.one_in(3)
@every_sandbox
async def test_a_command_cannot_end_others_by_a_limit_of_processor_time(tmp_path: Path, kernel: Kernel) -> None:
    victim = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        bench = _bench(tmp_path, kernel, "ro")
        await bench.call("shell", command=f"prlimit --pid {victim.pid} --nofile=7:7")
        limits = Path(f"/proc/{victim.pid}/limits").read_text()
        assert " 7 " not in next(line for line in limits.splitlines() if line.startswith("Max open files"))
        own = outcome(await bench.call("shell", command="ulimit -n 99; ulimit -n"))
        assert own == (True, "99")
    finally:
        victim.kill()
        await victim.wait()


@pytest.mark.one_in(3)
@every_sandbox
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("exit 7", ("(exit code 7)",)),
        ("exec python3 -c 'import ctypes; ctypes.string_at(0)'", ("(ended by signal 11)", "(exit code 139)")),
    ],
)
async def test_how_a_command_ended_is_told_through_the_sandbox(
    tmp_path: Path, kernel: Kernel, command: str, told: tuple[str, ...]
) -> None:
    bench = _bench(tmp_path, kernel, "ro")
    text = outcome(await bench.call("shell", command=command))[1]
    assert text.startswith(told)


@every_sandbox
async def test_a_pipe_whose_reader_is_gone_ends_its_writer(tmp_path: Path, kernel: Kernel) -> None:
    bench = _bench(tmp_path, kernel, "ro")
    assert outcome(await bench.call("shell", command="yes | head -1")) == (True, "y")


CREDENTIALS = [
    ".git-credentials",
    ".bash_history",
    ".cargo/credentials.toml",
    ".config/google-chrome-beta/Default/Cookies",
    ".authinfo.gpg",
    ".vault-pass",
    "id_deploy",
    "wild.pem",
]


@pytest.mark.one_in(3)
@every_sandbox
@pytest.mark.parametrize("strength", ["ro", "rw"])
async def test_credentials_that_only_a_wildcard_names_cannot_be_read_either(
    tmp_path: Path, kernel: Kernel, strength: str
) -> None:
    for name in (*CREDENTIALS, "id_project/readme", "notes.txt"):
        (tmp_path / "person" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "person" / name).write_text(f"content of {name}\n")
    bench = _bench(tmp_path, kernel, strength)
    text = outcome(await bench.call("shell", command="cd ../person; cat " + " ".join(CREDENTIALS)))[1]
    assert "content of" not in text
    readable = outcome(await bench.call("shell", command="cd ../person; cat id_project/readme notes.txt"))
    assert readable == (True, "content of id_project/readme\ncontent of notes.txt")


@every_sandbox
async def test_credentials_that_a_variable_puts_elsewhere_cannot_be_read(tmp_path: Path, kernel: Kernel) -> None:
    for name in ("gh/hosts.yml", "google-chrome-beta/Cookies", "other/file"):
        (tmp_path / "moved" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "moved" / name).write_text(f"content of {name}\n")
    around = {"XDG_CONFIG_HOME": str(tmp_path / "moved")}
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell ro"]}, environment=around)
    text = outcome(await bench.call("shell", command="cat ../moved/*/*"))[1]
    assert [line for line in text.splitlines() if line.startswith("content")] == ["content of other/file"]


LOGINS = [
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/anthropic/credentials",
    ".vercel/auth.json",
    ".config/composer/auth.json",
    ".cursor/mcp.json",
    ".config/crush/crush.json",
    ".config/mods/mods.yml",
    ".config/weechat/sec.conf",
    ".dbt/profiles.yml",
    ".config/Slack/Cookies",
    ".config/Signal/config.json",
    ".config/aichat/config.yaml",
    ".config/heroku/x",
    ".config/wandb/settings",
    ".config/neomutt/neomuttrc",
    ".irssi/config",
    ".wakatime.cfg",
    ".config/fly/config.yml",
    ".config/zed/settings.json",
    ".replicate/x",
    ".modal.toml",
    ".claude/.credentials.json",
    ".Xauthority",
]
NAMED_EVERYWHERE = [
    ".unknown/credentials.json",
    ".unknown/deep/auth.json",
    ".config/unknown/deep/secrets.toml",
    ".local/share/unknown/cookies.txt",
    "Downloads/client_secret_1.json",
    "other/.env",
]


@pytest.mark.one_in(2)
@every_sandbox
@pytest.mark.parametrize("strength", ["ro", "rw"])
async def test_saved_logins_near_home_are_kept_from_commands_as_from_read_file(
    tmp_path: Path, kernel: Kernel, strength: str
) -> None:
    home = tmp_path / "person"
    secret, readable = [*LOGINS, *NAMED_EVERYWHERE], ["notes.txt", ".config/unknown/settings.toml"]
    authorities = "conda/ssl/cacert.pem"
    for name in (*secret, *readable, authorities):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"content of {name}\n")
    bench = open_bench(tmp_path, kernel=kernel, home=home, permissions={"allow": [f"shell {strength}"]})
    guarded = guarded_paths(home, {}).secret  # for which `read_file` asks
    assert [name for name in (*secret, *readable) if guarded.holds([home / name])] == secret
    command = f"cd {home}; cat {' '.join((*secret, *readable, authorities))}"
    text = outcome(await bench.call("shell", command=command))[1]
    seen = [line.removeprefix("content of ") for line in text.splitlines() if line.startswith("content of")]
    assert seen == [*readable, authorities]
    assert bench.user.asked == []


@every_sandbox
async def test_the_projects_own_files_stay_readable_wherever_it_is_below_home(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, home=tmp_path, permissions={"allow": ["shell ro"]})
    for name in ("ws/.env", "ws/sub/credentials.json", "neighbour/.env"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"content of {name}\n")
    text = outcome(await bench.call("shell", command="cat .env sub/credentials.json ../neighbour/.env"))[1]
    assert [line for line in text.splitlines() if line.startswith("content")] == [
        "content of ws/.env",
        "content of ws/sub/credentials.json",
    ]


@pytest.mark.one_in(2)
@every_sandbox
async def test_a_folder_full_of_secrets_is_kept_from_commands_as_a_whole(tmp_path: Path, kernel: Kernel) -> None:
    keys = tmp_path / "person" / "keys"
    keys.mkdir(parents=True)
    for number in range(200):
        (keys / f"{number}.pem").write_text("content")
    bench = open_bench(tmp_path, kernel=kernel, home=tmp_path / "person", permissions={"allow": ["shell ro"]})
    assert "content" not in outcome(await bench.call("shell", command=f"cat {keys}/7.pem"))[1]
    inside = open_bench(
        tmp_path / "person", kernel=kernel, home=tmp_path / "person", permissions={"allow": ["shell ro"]}
    )
    assert "content" not in outcome(await inside.call("shell", command=f"cat {keys}/7.pem"))[1]
