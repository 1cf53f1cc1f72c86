"""What a sandboxed command cannot write, read, reach or end, tried for real.

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

from tests.fakes.bench import open_bench, outcome
from tests.tools.sandboxes import BUBBLEWRAP, HERE, every_sandbox, repository_bench, snapshot
from tui.tools.sandbox.sandbox import Kernel
from tui.tools.sandbox.wrappers import SYSTEM_FOLDERS

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


@pytest.mark.one_in(18)
@every_sandbox
@pytest.mark.parametrize("command", THINGS_THAT_RUN_BY_THEMSELVES)
async def test_what_runs_by_itself_stays_as_it_is(tmp_path: Path, outside: Path, kernel: Kernel, command: str) -> None:
    bench = repository_bench(tmp_path, kernel, "shell rw")
    guarded = [bench.folder / name for name in (".git", ".vscode")]
    before = snapshot(*guarded), (bench.folder / ".envrc").read_bytes(), snapshot(outside)
    await bench.call("shell", command=command)
    assert bench.user.asked == []
    assert (snapshot(*guarded), (bench.folder / ".envrc").read_bytes(), snapshot(outside)) == before


@pytest.mark.one_in(5)
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
    bench = repository_bench(tmp_path, kernel, "shell rw")
    command = (
        "echo x > src/new.txt && mkdir src/deep && mv src/new.txt src/newer.txt && echo y >> a.txt && rm src/c.txt"
    )
    result = outcome(await bench.call("shell", command=command))
    assert result == (True, "(no output, exit code 0)")
    assert (bench.folder / "src/newer.txt").read_text() == "x\n"
    assert (bench.folder / "a.txt").read_text() == "one\ny\n"


@pytest.mark.one_in(3)
@every_sandbox
async def test_a_folder_that_git_takes_for_a_repository_is_guarded_whatever_its_name(
    tmp_path: Path, kernel: Kernel
) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    subprocess.run(["git", "init", "-q", "--bare", str(bench.folder / "old")], check=True)
    (bench.folder / ".git").symlink_to("data")
    bench.write("data/hooks/sample", "old")
    before = snapshot(bench.folder / "old", bench.folder / "data")
    await bench.call("shell", command="echo x >> old/config; echo x > old/hooks/post-checkout; echo .. > old/commondir")
    await bench.call("shell", command="mv old o && cp -r o old; echo x > data/hooks/pre-commit")
    kept = {
        path: value for path, value in snapshot(bench.folder / "old", bench.folder / "data").items() if path in before
    }
    assert kept == before
    assert not (bench.folder / "old" / "commondir").exists()
    assert not (bench.folder / "data" / "hooks" / "pre-commit").exists()
    await bench.call("shell", command="git init -q --bare new && git -C new config core.fsmonitor 'touch x'")
    assert not (bench.folder / "new" / "config").exists()


@pytest.mark.one_in(3)
@every_sandbox
async def test_what_the_user_types_in_a_terminal_is_not_read(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell ro"]})
    ours, terminal = os.openpty()
    try:
        os.write(ours, b"canary-of-keys\n")
        _, text = outcome(await bench.call("shell", command=f"timeout 1 head -1 {os.ttyname(terminal)}"))
        assert "canary" not in text
        assert not outcome(await bench.call("shell", command=f"echo x > {os.ttyname(terminal)}"))[0]
    finally:
        os.close(ours)
        os.close(terminal)


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
    bench = repository_bench(tmp_path, BUBBLEWRAP, "shell rw")
    result = outcome(await bench.call("shell", command="echo x > new.txt; sed -i s/one/1/ a.txt; chmod 700 new.txt"))
    assert result == (True, "(no output, exit code 0)")


SETS_BITS = """
import ctypes, os, struct
libc = ctypes.CDLL(None)
for bits in (0o4755, 0o2755, 0o6711):
    for number, make in enumerate((
        lambda path: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, bits)),
        lambda path: os.mknod(path, 0o100000 | bits),
        lambda path: libc.creat(path.encode(), bits),
        lambda path: libc.syscall(437, -100, path.encode(), struct.pack("QQQ", 0o101, bits, 0), 24),  # openat2
        lambda path: (open(path, "w").close(), os.chmod(path, bits)),
        lambda path: os.fchmod(os.open(path, os.O_CREAT | os.O_WRONLY), bits),
    )):
        try:
            os.umask(0)
            make(f"made-{number}-{bits:o}")
        except OSError as error:
            print(error.strerror)
"""


@pytest.mark.one_in(2)
@every_sandbox
async def test_no_command_makes_a_file_that_runs_with_its_owners_rights(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    bench.write("old", "")
    bench.write("bits.py", SETS_BITS)
    commands = ("chmod u+s old", "chmod 2755 old", "install -m 6755 old new", f"{sys.executable} -I -S bits.py")
    texts = [outcome(await bench.call("shell", command=command))[1] for command in commands]
    assert all("Operation not permitted" in text for text in texts), texts
    found = {path.name: path.stat().st_mode & 0o6000 for path in bench.folder.iterdir()}
    assert {name: bits for name, bits in found.items() if bits} == {}
    assert "old" in found


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


@pytest.mark.one_in(2)
@every_sandbox
async def test_no_setting_of_the_kernel_is_written_by_root_either(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    settings = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/printk_ratelimit", "/proc/self/oom_score_adj"]
    for each in settings:
        text = outcome(await bench.call("shell", command=f": >> {each}"))[1]
        assert "Permission denied" in text or "Read-only file system" in text, each


@every_sandbox
async def test_no_user_namespace_is_made(tmp_path: Path, kernel: Kernel) -> None:
    bench = repository_bench(tmp_path, kernel, "shell(python3 t.py) ro")
    bench.write(
        "t.py",
        "import ctypes, os, subprocess, threading\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "number = {'x86_64': 56, 'aarch64': 220}[os.uname().machine]\n"
        "print(libc.syscall(number, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno())\n"
        "thread = threading.Thread(target=print, args=('a thread',))\n"
        "thread.start(), thread.join()\n"
        "print(subprocess.run(['sh', '-c', 'echo a process | cat'], capture_output=True, text=True).stdout)\n",
    )
    good, text = outcome(await bench.call("shell", command="python3 t.py"))
    assert (good, text.split("\n")[:3]) == (True, ["-1 1", "a thread", "a process"])


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


@pytest.mark.one_in(3)
@every_sandbox
async def test_no_other_process_is_signalled_or_read(tmp_path: Path, kernel: Kernel) -> None:
    bench = open_bench(tmp_path, kernel=kernel, permissions={"allow": ["shell rw"]})
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"OTHERS": "canary-of-env"})
    try:
        for command in (f"kill -9 {other.pid}", f"cat /proc/{other.pid}/environ", f"pkill -9 -P {os.getpid()}"):
            _, text = outcome(await bench.call("shell", command=command))
            assert "canary-of-env" not in text
        owner = f"import fcntl,os; r,w=os.pipe(); fcntl.fcntl(r,8,{other.pid}); fcntl.fcntl(r,10,9); "
        owner += "fcntl.fcntl(r,4,0o20000); os.write(w,b'x')"  # the signal of a file that can be read
        await bench.call("shell", command=f'python3 -c "{owner}"')
        attach = f"import ctypes; print('attached', ctypes.CDLL(None).ptrace(16, {other.pid}, 0, 0))"
        _, text = outcome(await bench.call("shell", command=f'python3 -c "{attach}"'))
        assert "attached -1" in text
        assert other.poll() is None
    finally:
        other.send_signal(signal.SIGKILL)
        other.communicate()


@every_sandbox
async def test_ponders_own_files_and_saved_secrets_are_not_read(tmp_path: Path, kernel: Kernel) -> None:
    bench = repository_bench(tmp_path, kernel, "shell ro")
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
    assert HERE.description()
    if shutil.which("bwrap", path=SYSTEM_FOLDERS) is None:  # whatever else is in the user's PATH
        assert HERE.bubblewrap is None
