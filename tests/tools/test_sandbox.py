"""Commands under the narrowest rules, run for real: whatever their options do, the sandbox keeps its promise.

Each experiment runs in every sandbox that this machine has. Where it has none, they are skipped with the reason.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench, outcome
from tests.tools.sandboxes import BUBBLEWRAP, HERE, every_sandbox
from tui.tools.sandbox.sandbox import Kernel
from tui.tools.shell_words import begins_with


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "victim.txt").write_text("victim\n")
    return folder


def _bench(around: Path, kernel: Kernel, *rules: str) -> Bench:
    bench = open_bench(around, kernel=kernel, permissions={"allow": list(rules)})
    if (bench.folder / ".git").exists():
        return bench
    _fill(bench, around)
    (bench.folder / "link").symlink_to(around / "outside")
    for line in ("init -q", "add a.txt", "-c user.name=a -c user.email=a@b commit -qm one"):
        subprocess.run(["git", "-C", str(bench.folder), *line.split()], check=True, env={"PATH": os.environ["PATH"]})
    subprocess.run(["tar", "cf", "a.tar", "a.txt"], cwd=bench.folder, check=True)
    bench.permissions_file.write_text('allow = ["shell(canary-of-rules) ro"]\n')
    return bench


def _fill(bench: Bench, around: Path) -> None:
    bench.write("a.txt", "one\n")
    bench.write("b.txt", "two\n")
    bench.write("src/c.txt", "three\n")
    bench.write("script.sh", f"touch {around}/outside/x\n")
    bench.write("mk", f"all:\n\ttouch {around}/outside/x\n")
    bench.write("list", f"{around}/outside/x\n")
    bench.write(".envrc", "export A=1\n")
    bench.write(".vscode/tasks.json", "{}\n")


def _snapshot(*folders: Path) -> dict[str, object]:
    """Everything below, with contents, modes and times of files."""
    found: dict[str, object] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            status = path.lstat()
            if path.is_symlink():
                found[str(path)] = path.readlink()
            elif path.is_file():
                found[str(path)] = (path.read_bytes(), status.st_mode, status.st_mtime_ns)
            else:
                found[str(path)] = status.st_mode
    return found


OPTIONS_THAT_DO_MORE = [
    ("git log", "git log --output={cfg}"),
    ("git log", "git log -p --output={out}/x"),
    ("git show", "git show --output={out}/x HEAD"),
    ("git diff", "git diff --no-index --output={cfg} a.txt b.txt"),
    ("git", "git -c alias.x='!touch {out}/x' x"),
    ("git", "git -c core.fsmonitor='touch {out}/x' status"),
    ("git grep", "git grep --open-files-in-pager='touch {out}/x' one"),
    ("git config", "git config --global user.name x"),
    ("git config", "git config core.hooksPath {out}"),
    ("git branch", "git branch other"),
    ("git archive", "git archive -o {out}/x HEAD"),
    ("find", "find . -name a.txt -exec cp {{}} {out}/x +"),
    ("find", "find . -name a.txt -delete"),
    ("find", "find {out} -fprint {out}/x"),
    ("sed", "sed -n '1e touch {out}/x' a.txt"),
    ("sed", "sed -i s/one/two/ a.txt"),
    ("sed", "sed -n 'w {out}/x' a.txt"),
    ("tar", "tar xf a.tar --to-command='touch {out}/x'"),
    ("tar", "tar cf /dev/null --checkpoint=1 --checkpoint-action='exec=touch {out}/x' a.txt"),
    ("tar", "tar xf a.tar -C {out}"),
    ("sort", "sort -o {cfg} a.txt"),
    ("uniq", "uniq a.txt {out}/x"),
    ("split", "split a.txt {out}/x"),
    ("stdbuf", "stdbuf -o0 touch {out}/x"),
    ("env", "env touch {out}/x"),
    ("env", "env -S 'touch {out}/x'"),
    ("nice", "nice touch {out}/x"),
    ("timeout", "timeout 5 touch {out}/x"),
    ("xargs", "xargs -a list touch"),
    ("nohup", "nohup touch {out}/x"),
    ("setsid", "setsid touch {out}/x"),
    ("command", "command touch {out}/x"),
    ("awk", "awk 'BEGIN{{system(\"touch {out}/x\")}}'"),
    ("awk", "awk 'BEGIN{{print 1 > \"{out}/x\"}}'"),
    ("python3", 'python3 -c \'open("{out}/x", "w")\''),
    ("perl", "perl -e 'open(F, \">{out}/x\")'"),
    ("bash", "bash -c 'echo x > {cfg}'"),
    ("bash", "bash -c 'echo x > /dev/tcp/127.0.0.1/9 || touch {out}/x'"),
    ("bash", "bash script.sh"),
    ("make", "make -f mk"),
    ("tee", "tee {cfg}"),
    ("cp", "cp a.txt {cfg}"),
    ("cp", "cp a.txt link/x"),
    ("mv", "mv a.txt {out}/x"),
    ("mv", "mv {out}/victim.txt src/"),
    ("rm", "rm -f {out}/victim.txt"),
    ("ln", "ln -s /etc/passwd {out}/x"),
    ("ln", "ln -f a.txt {out}/victim.txt"),
    ("dd", "dd if=a.txt of={cfg}"),
    ("truncate", "truncate -s 0 {out}/victim.txt"),
    ("python3", "python3 -c 'import os; os.truncate(\"{out}/victim.txt\", 0)'"),
    ("python3", "python3 -c 'import os; os.open(\"{out}/victim.txt\", os.O_RDONLY | os.O_TRUNC)'"),
    ("python3", 'python3 -c \'import os; os.setxattr("{out}/victim.txt", "user.x", b"1")\''),
    ("chmod", "chmod 777 {cfg}"),
    ("chmod", "chmod -R 777 {out}"),
    ("install", "install a.txt {out}/x"),
    ("mkfifo", "mkfifo {out}/x"),
    ("mkdir", "mkdir {out}/x"),
    ("unshare", "unshare -Ur touch {out}/x"),
    ("bash", "bash -c 'unshare -Urm mount --bind src {out} && touch {out}/x'"),
]


@every_sandbox
@pytest.mark.parametrize("strength", ["ro", "rw"])
async def test_no_option_of_a_command_writes_more_than_its_rule_says(
    tmp_path: Path, outside: Path, kernel: Kernel, strength: str
) -> None:
    narrowest = [f"shell({rule}) {strength}" for rule in dict(OPTIONS_THAT_DO_MORE)]
    bench = _bench(tmp_path, kernel, *narrowest)
    all_commands = _bench(tmp_path, kernel, f"shell {strength}")
    kept = [outside, tmp_path / "person", *([bench.folder] if strength == "ro" else [bench.folder / ".git"])]
    escaped = {}
    for rule, template in OPTIONS_THAT_DO_MORE:
        if strength == "rw":
            _fill(bench, tmp_path)
        command = template.format(out=outside, cfg=bench.permissions_file)
        used = bench if begins_with(command, rule) else all_commands
        before = _snapshot(*kept)
        _, text = outcome(await used.call("shell", command=command))
        assert (used.user.asked, "Not executed" in text) == ([], False), command
        after = _snapshot(*kept)
        if after != before:
            escaped[command] = sorted(
                path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
            )
    assert escaped == {}


async def test_without_a_sandbox_the_same_commands_do_harm(tmp_path: Path, outside: Path) -> None:
    """Says that the experiments above try something."""
    harmful = 0
    for number, (_, template) in enumerate(OPTIONS_THAT_DO_MORE):
        around = tmp_path / str(number)
        (around / "outside").mkdir(parents=True)
        (around / "outside" / "victim.txt").write_text("victim\n")
        bench = _bench(around, Kernel())
        before = _snapshot(around)
        await bench.call("shell", "once", command=template.format(out=around / "outside", cfg=bench.permissions_file))
        harmful += _snapshot(around) != before
    assert harmful >= 50


THINGS_THAT_RUN_BY_THEMSELVES = [
    "echo x > .git/hooks/pre-commit",
    "git config core.fsmonitor 'touch x'",
    "echo x >> .git/config",
    "mkdir -p .git/info && echo '* filter=x' > .git/info/attributes",
    "echo .. > .git/commondir",
    "mv .git g && cp -r g .git",
    "rm -rf .git",
    "echo x > .envrc",
    "cp a.txt .envrc",
    "mv a.txt .envrc",
    "ln -f a.txt .envrc",
    "ln .envrc h && echo x > h",
    "ln -s .envrc h; echo x > h",
    "sed -i s/A/B/ .envrc",
    "echo x > .vscode/tasks.json",
    "echo x > .vscode/settings.json",
    "rm -rf .vscode && mkdir .vscode && echo x > .vscode/tasks.json",
    "mv .vscode v && mkdir .vscode",
    "python3 -c 'import os; os.truncate(\".envrc\", 0)'",
    "python3 -c 'import os; os.open(\".envrc\", os.O_RDONLY | os.O_TRUNC)'",
]


@every_sandbox
@pytest.mark.parametrize("command", THINGS_THAT_RUN_BY_THEMSELVES)
async def test_what_runs_by_itself_stays_as_it_is(tmp_path: Path, outside: Path, kernel: Kernel, command: str) -> None:
    bench = _bench(tmp_path, kernel, "shell rw")
    guarded = [bench.folder / name for name in (".git", ".vscode")]
    before = _snapshot(*guarded), (bench.folder / ".envrc").read_bytes(), _snapshot(outside)
    await bench.call("shell", command=command)
    assert bench.user.asked == []
    assert (_snapshot(*guarded), (bench.folder / ".envrc").read_bytes(), _snapshot(outside)) == before


@every_sandbox
@pytest.mark.parametrize("name", [".envrc", ".git/config", "src/.vscode/tasks.json", ".bashrc", "AGENTS.md"])
async def test_what_is_made_anew_and_would_run_by_itself_is_renamed_and_told(
    tmp_path: Path, kernel: Kernel, name: str
) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    good, text = outcome(await bench.call("shell", command=f"mkdir -p $(dirname {name}); echo mine > {name}"))
    assert not good
    assert not (bench.folder / name).exists()
    kept = [path for path in bench.folder.rglob("*") if path.is_file()]
    assert [path.read_text() for path in kept] == ["mine\n"]
    assert "was renamed to `" in text


@every_sandbox
async def test_rw_writes_the_working_folder(tmp_path: Path, outside: Path, kernel: Kernel) -> None:
    bench = _bench(tmp_path, kernel, "shell rw")
    command = (
        "echo x > src/new.txt && mkdir src/deep && mv src/new.txt src/newer.txt && echo y >> a.txt && rm src/c.txt"
    )
    result = outcome(await bench.call("shell", command=command))
    assert result == (True, "(no output, exit code 0)")
    assert (bench.folder / "src/newer.txt").read_text() == "x\n"
    assert (bench.folder / "a.txt").read_text() == "one\ny\n"


@every_sandbox
async def test_programs_that_run_without_the_sandbox_cannot_be_replaced(tmp_path: Path, kernel: Kernel) -> None:
    tools = tmp_path / "ws" / "venv" / "bin"
    tools.mkdir(parents=True)
    (tools / "git").write_text("the real one")
    bench = open_bench(
        tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]}, environment={"PATH": f"{tools}:/usr/bin:/bin"}
    )
    await bench.call(
        "shell", command="echo evil > venv/bin/git; mv venv v; mkdir -p venv/bin; echo evil > venv/bin/git"
    )
    kept = [path.read_text() for path in bench.folder.rglob("git")]
    assert kept == ["the real one"]


async def test_with_bubblewrap_rw_also_makes_files_beside_guarded_ones(tmp_path: Path, outside: Path) -> None:
    if not BUBBLEWRAP.strengths:
        pytest.skip("NO BUBBLEWRAP ON THIS MACHINE: not tested")
    bench = _bench(tmp_path, BUBBLEWRAP, "shell rw")
    result = outcome(await bench.call("shell", command="echo x > new.txt; sed -i s/one/1/ a.txt; chmod 700 new.txt"))
    assert result == (True, "(no output, exit code 0)")


@every_sandbox
async def test_a_private_temporary_folder_is_there_and_gone_afterwards(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell ro"]})
    good, text = outcome(await bench.call("shell", command="f=$(mktemp) && echo x > $f && cat $f && echo $TMPDIR"))
    assert (good, text.split("\n")[0]) == (True, "x")
    assert not Path(text.split("\n")[1]).exists()


@pytest.fixture
def listener() -> Iterator[tuple[socket.socket, int]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server, server.getsockname()[1]


@every_sandbox
async def test_nothing_reaches_the_network(tmp_path: Path, kernel: Kernel, listener: tuple[socket.socket, int]) -> None:
    server, port = listener
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.2)
        _, text = outcome(
            await bench.call(
                "shell",
                command=f"echo x > /dev/tcp/127.0.0.1/{port}; echo x > /dev/udp/127.0.0.1/{udp.getsockname()[1]}",
            )
        )
        with pytest.raises(TimeoutError):
            udp.recv(10)
    with pytest.raises(TimeoutError):
        server.accept()
    assert "/dev/tcp" in text


@every_sandbox
async def test_no_socket_of_the_file_system_is_reached(tmp_path: Path, outside: Path, kernel: Kernel) -> None:
    """docker.sock, systemd, an ssh agent: they do anything for whoever can talk to them."""
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(bench.folder / "s"))
        server.listen()
        server.settimeout(0.2)
        program = 'import socket; socket.socket(socket.AF_UNIX).connect("s")'
        assert not outcome(await bench.call("shell", command=f"python3 -c '{program}'"))[0]
        with pytest.raises(TimeoutError):
            server.accept()


@every_sandbox
async def test_no_other_process_is_signalled_or_read(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"OTHERS": "canary-of-env"})
    try:
        for command in (f"kill -9 {other.pid}", f"cat /proc/{other.pid}/environ", f"pkill -9 -P {os.getpid()}"):
            _, text = outcome(await bench.call("shell", command=command))
            assert "canary-of-env" not in text
        attach = f"import ctypes; print('attached', ctypes.CDLL(None).ptrace(16, {other.pid}, 0, 0))"
        _, text = outcome(await bench.call("shell", command=f'python3 -c "{attach}"'))
        assert "attached -1" in text
        assert other.poll() is None
    finally:
        other.send_signal(signal.SIGKILL)
        other.communicate()


@every_sandbox
async def test_ponders_own_files_and_saved_secrets_are_not_read(tmp_path: Path, kernel: Kernel) -> None:
    bench = _bench(tmp_path, kernel, "shell ro")
    secret = tmp_path / "person" / ".ssh" / "id_rsa"
    secret.parent.mkdir()
    secret.write_text("canary-of-ssh")
    (tmp_path / "person" / ".netrc").write_text("canary-of-netrc")
    (tmp_path / "person" / "notes.txt").write_text("readable")
    person = tmp_path / "person"
    files = f"{bench.permissions_file} {secret} {person}/.netrc {person}/notes.txt"
    _, text = outcome(await bench.call("shell", command=f"cat {files}"))
    assert "canary" not in text
    assert "readable" in text


@every_sandbox
async def test_everything_that_a_confined_command_started_is_dead_after_a_cancel(
    tmp_path: Path, kernel: Kernel
) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    mark = f"600.{os.getpid()}77"
    running = asyncio.ensure_future(bench.call("shell", command=f"echo x > .envrc; setsid sleep {mark} & sleep {mark}"))
    while not _alive(mark):
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (_alive(mark), (bench.folder / ".envrc").exists()) == (0, False)


def _alive(mark: str) -> int:
    count = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            count += line.startswith(b"sleep") and mark.encode() in line
    return count


def test_this_machine_says_what_it_has() -> None:
    assert HERE.words()
    if shutil.which("bwrap") is None:
        assert HERE.bubblewrap is None
