"""What the kernel is told, for kernels that this machine does not have, and for macOS as text."""

from __future__ import annotations

import errno
import json
import struct
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.tools.permissions.rules import Strength
from tui.tools.sandbox import landlock, seccomp, wrappers
from tui.tools.sandbox.guarded_entries import Guards
from tui.tools.sandbox.landlock import Right
from tui.tools.sandbox.sandbox import Kernel, Sandbox, filter_beside_landlock

READ_ONLY, WRITES, FULL = Strength.READ_ONLY, Strength.WRITES_FOLDER, Strength.FULL
X86, ARM = 0xC000003E, 0xC00000B7


@pytest.mark.parametrize(
    ("abi", "fs", "net", "scoped", "size"),
    [
        (1, 0x1FFF, 0, 0, 8),
        (2, 0x3FFF, 0, 0, 8),
        (3, 0x7FFF, 0, 0, 8),
        (4, 0x7FFF, 3, 0, 16),
        (5, 0xFFFF, 3, 0, 16),
        (6, 0xFFFF, 3, 3, 24),
        (7, 0xFFFF, 3, 3, 24),
        (9, 0x1FFFF, 3, 3, 24),
        (10, 0x1FFFF, 15, 3, 24),
        (99, 0x1FFFF, 15, 3, 24),
    ],
)
def test_each_version_of_landlock_is_asked_for_all_it_knows(
    abi: int, fs: int, net: int, scoped: int, size: int
) -> None:
    ruleset = landlock.ruleset_of(abi)
    assert (ruleset.fs, ruleset.net, ruleset.scoped, ruleset.size) == (fs, net, scoped, size)


@pytest.mark.parametrize("abi", range(1, 12))
def test_no_rule_grants_a_right_that_the_version_does_not_know(abi: int, tmp_path: Path) -> None:
    rules = landlock.read_only(abi, ())
    landlock.writable(rules, abi, tmp_path, ())
    assert all(rights & ~landlock.ruleset_of(abi).fs == 0 for rights in rules.values())
    made = Right.MAKE_CHAR | Right.MAKE_BLOCK
    assert not any(rights & made for rights in rules.values())


names = st.sampled_from(["a", "b", ".git", "c"])
paths = st.lists(names, min_size=1, max_size=3).map(tuple)


@given(st.sets(paths, max_size=12), st.sets(paths, max_size=4))
def test_what_is_left_out_is_granted_by_no_rule_and_the_rest_by_one(
    files: set[tuple[str, ...]], out: set[tuple[str, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve()
        for parts in files:
            root.joinpath(*parts).mkdir(parents=True, exist_ok=True)
        carved = tuple(root.joinpath(*parts) for parts in out)
        rules: landlock.Rules = {}
        landlock.grant(rules, root, landlock.WRITE, carved)
        granted = {Path(path) for path in rules}
        for path in root.rglob("*"):
            covered = bool(granted & {path, *path.parents})
            is_out = bool(set(carved) & {path, *path.parents})
            holds_out = any(path in one.parents for one in carved)
            assert covered == (not is_out and not holds_out)


def test_links_are_not_granted_where_a_folder_is_granted_by_its_entries(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("/etc")
    rules: landlock.Rules = {}
    landlock.grant(rules, tmp_path, landlock.WRITE, (tmp_path / ".git",))
    assert list(rules) == [str(tmp_path / "a")]


def _answer(program: bytes, number: int, *arguments: int, architecture: int = X86) -> int:
    """Runs a filter as the kernel does: 0 when it allows the call, else the error."""
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=iIQ6Q", number, architecture, 0, *(one & 0xFFFFFFFFFFFFFFFF for one in padded))
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at = register = 0
    while True:
        kind, yes, no, value = code[at]
        at += 1
        match kind:
            case seccomp.LOAD:
                register = struct.unpack_from("=I", data, value)[0]
            case seccomp.AND:
                register &= value
            case seccomp.JUMP_EQUAL:
                at += yes if register == value else no
            case seccomp.JUMP_AT_LEAST:
                at += yes if register >= value else no
            case seccomp.RETURN:
                return 0 if value == seccomp.ALLOW else value & 0xFFFF
            case other:
                raise AssertionError(other)


CALLS = {
    "x86_64": (
        X86,
        {"read": 0, "write": 1, "socket": 41, "socketpair": 53, "ioctl": 16, "openat": 257, "kill": 62, "fcntl": 72},
    ),
    "aarch64": (
        ARM,
        {
            "read": 63,
            "write": 64,
            "socket": 198,
            "socketpair": 199,
            "ioctl": 29,
            "openat": 56,
            "kill": 129,
            "fcntl": 25,
        },
    ),
}
AF_UNIX, AF_VSOCK = 1, 40


@pytest.mark.parametrize("machine", CALLS)
@pytest.mark.parametrize("abi", [1, 2, 3, 5, 6, 7])
@pytest.mark.parametrize("strength", [READ_ONLY, WRITES])
def test_beside_landlock_the_filter_refuses_what_the_version_does_not_know(
    machine: str, abi: int, strength: Strength
) -> None:
    audit, numbers = CALLS[machine]
    program = seccomp.program_of(filter_beside_landlock(abi, strength), machine)

    def answer(name: str, *arguments: int) -> int:
        return _answer(program, numbers[name], *arguments, architecture=audit)

    assert [answer(name) for name in ("read", "write", "socketpair")] == [0, 0, 0]
    families = (AF_UNIX, seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK, AF_VSOCK)
    assert [answer("socket", family) for family in families] == [errno.EPERM] * 5
    assert [answer("ioctl", 0, request) for request in (0x5401, 0x5412, 0x40086602)] == [0, errno.EPERM, errno.EPERM]
    signals = errno.EPERM if abi < 6 else 0
    assert answer("kill", 1, 9) == signals
    # F_SETOWN, F_SETSIG, F_SETOWN_EX and FIOSETOWN; F_GETFL
    assert [answer("fcntl", 0, command) for command in (8, 10, 15)] == [signals] * 3
    assert (answer("ioctl", 0, 0x8901), answer("fcntl", 0, 3)) == (signals, 0)
    truncating, writing, reading = 0x200, 0x201, 0
    expected = errno.EPERM if abi < 3 else 0
    assert [answer("openat", 0, 0, flags) for flags in (truncating, writing, reading)] == [expected, 0, 0]


@pytest.mark.parametrize("machine", CALLS)
def test_inside_bubblewrap_only_the_network_of_its_own_is_open(machine: str) -> None:
    audit, numbers = CALLS[machine]
    families = frozenset({seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK})
    program = seccomp.program_of(seccomp.Filter(refused=seccomp.OUT_OF_PROCESS, sockets=families), machine)
    tried = (AF_UNIX, seccomp.AF_INET, seccomp.AF_INET6, seccomp.AF_NETLINK, AF_VSOCK)
    answers = [_answer(program, numbers["socket"], family, architecture=audit) for family in tried]
    assert answers == [errno.EPERM, 0, 0, 0, errno.EPERM]


@pytest.mark.parametrize("machine", CALLS)
@pytest.mark.parametrize("abi", [None, 1, 7])
def test_no_filter_allows_a_user_namespace(machine: str, abi: int | None) -> None:
    """``None`` is bubblewrap."""
    audit, column = CALLS[machine][0], list(CALLS).index(machine)
    wanted = seccomp.Filter(refused=seccomp.OUT_OF_PROCESS) if abi is None else filter_beside_landlock(abi, READ_ONLY)
    program = seccomp.program_of(wanted, machine)
    clone, clone3 = (seccomp.NUMBERS[name][column] or 0 for name in ("clone", "clone3"))
    of_a_thread, of_a_process, new_user = 0x3D0F00, 0x1200011, 0x10000000
    answers = [
        _answer(program, clone, flags, architecture=audit)
        for flags in (of_a_thread, of_a_process, of_a_process | new_user, new_user)
    ]
    assert answers == [0, 0, errno.EPERM, errno.EPERM]
    assert _answer(program, clone3, 0, 88, architecture=audit) == errno.ENOSYS


MADE, TEMPORARY = 0x40 | 1, 0x410000 | 2  # O_CREAT and O_TMPFILE, for writing
MODES = {0o755: 0, 0o1777: 0, 0o4755: errno.EPERM, 0o2755: errno.EPERM, 0o6000: errno.EPERM, 0o104755: errno.EPERM}


@pytest.mark.parametrize("machine", CALLS)
@pytest.mark.parametrize("abi", [None, 1, 3, 7])
def test_no_filter_allows_a_file_that_runs_with_its_owners_rights(machine: str, abi: int | None) -> None:
    """``None`` is bubblewrap, in which modes can be changed."""
    audit = CALLS[machine][0]
    column = list(CALLS).index(machine)
    wanted = seccomp.Filter(refused=frozenset()) if abi is None else filter_beside_landlock(abi, WRITES)
    program = seccomp.program_of(wanted, machine)

    def answer(name: str, *arguments: int) -> int:
        number = seccomp.NUMBERS[name][column]
        return -1 if number is None else _answer(program, number, *arguments, architecture=audit)

    for mode, expected in MODES.items():
        changed = {answer(name, 3, mode) for name in ("chmod", "fchmod")}
        changed |= {answer(name, 3, 0, mode) for name in ("fchmodat", "fchmodat2")}
        assert changed - {-1} == {expected if abi is None else errno.EPERM}
        made = {answer(name, 0, mode) for name in ("creat", "mknod")} | {answer("mknodat", 3, 0, mode)}
        made |= {answer("open", 0, flags, mode) for flags in (MADE, TEMPORARY)}
        made |= {answer("openat", 3, 0, flags, mode) for flags in (MADE, TEMPORARY)}
        assert made - {-1} == {expected}
        truncates = errno.EPERM if abi == 1 else 0
        # Without such a flag there may be anything in the place of the mode.
        assert {answer("open", 0, 1, mode), answer("openat", 3, 0, 1, mode)} - {-1} == {0}
        assert answer("openat", 3, 0, 0x200, mode) == truncates
        assert answer("openat", 3, 0, 0x200 | 0x40, mode) == (expected or truncates)
    assert answer("openat2", 3, 0, 0, 24) == errno.ENOSYS


def test_calls_of_another_architecture_are_refused() -> None:
    program = seccomp.program_of(filter_beside_landlock(7, READ_ONLY), "x86_64")
    assert _answer(program, 3, architecture=0x40000003) == errno.EPERM
    assert _answer(program, 0x40000000 + 41, seccomp.AF_INET) == errno.ENOSYS
    assert _answer(program, 41, (1 << 32) + AF_UNIX) == errno.EPERM


@pytest.mark.parametrize("machine", CALLS)
def test_every_call_that_is_refused_has_a_number_of_its_own(machine: str) -> None:
    column = 0 if machine == "x86_64" else 1
    numbers = [pair[column] for pair in seccomp.NUMBERS.values() if pair[column] is not None]
    assert len(numbers) == len(set(numbers))


def test_the_numbers_are_those_of_the_kernels_headers() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("NO KERNEL HEADERS ON THIS MACHINE: not compared")
    known = {}
    for line in header.read_text().splitlines():
        if line.startswith("#define __NR_"):
            name, number = line.removeprefix("#define __NR_").split()
            known[name] = int(number)
    ours = {name: pair[0] for name, pair in seccomp.NUMBERS.items() if pair[0] is not None and name in known}
    assert ours == {name: known[name] for name in ours}
    assert len(ours) > 50


@pytest.mark.parametrize(
    ("kernel", "held"),
    [
        (Kernel(), False),
        (Kernel(landlock=7), False),
        (Kernel(seccomp=True), False),
        (Kernel(landlock=1, seccomp=True), True),
        (Kernel(seccomp=True, bubblewrap="/usr/bin/bwrap"), True),
        (Kernel(bubblewrap="/usr/bin/bwrap"), False),
        (Kernel(seatbelt=True), True),
    ],
)
def test_a_strength_is_held_only_where_all_of_it_is(kernel: Kernel, held: bool) -> None:
    assert kernel.strengths == (frozenset({READ_ONLY, WRITES}) if held else frozenset())
    assert kernel.description().startswith("none") is not held


def test_bubblewrap_mounts_the_working_folder_then_what_it_must_not_change_then_what_it_must_not_see(
    tmp_path: Path,
) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "netrc").write_text("")
    line = wrappers.bubblewrap_arguments(
        "/usr/bin/bwrap",
        temporary=Path("/t"),
        writable=Path("/ws"),
        carved=[Path("/ws/.git")],
        hidden=[tmp_path / "hidden", tmp_path / "netrc"],
    )
    text = " ".join(line)
    assert line[0] == "/usr/bin/bwrap"
    assert line[-1] == "--"
    isolated = ("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent")
    assert all(option in line for option in isolated)
    steps = [
        "--ro-bind / / --dev /dev --proc /proc",
        "--bind /ws /ws",
        "--ro-bind /ws/.git /ws/.git",
        f"--perms 0000 --tmpfs {tmp_path}/hidden",
        f"--ro-bind /dev/null {tmp_path}/netrc",
        "--bind /t /t --",
    ]
    places = [text.index(step) for step in steps]
    assert places == sorted(places)
    assert "--bind /ws" not in " ".join(wrappers.bubblewrap_arguments("/b", temporary=Path("/t"), writable=None))


@pytest.mark.parametrize(
    ("number", "landlock_abi", "program"),
    [
        pytest.param(100, 7, "/usr/bin/bwrap", marks=pytest.mark.long),
        (300, 7, sys.executable),
        pytest.param(300, 0, "/usr/bin/bwrap", marks=pytest.mark.long),
    ],
)
async def test_bubblewrap_is_left_where_it_would_mount_very_much(
    tmp_path: Path, number: int, landlock_abi: int, program: str
) -> None:
    for name in range(number):
        (tmp_path / str(name)).mkdir()
        (tmp_path / str(name) / ".envrc").touch()
    sandbox = Sandbox(
        folder=tmp_path,
        guards=Guards(lambda path: path.name == ".envrc"),
        kernel=lambda: Kernel(landlock=landlock_abi, seccomp=True, bubblewrap="/usr/bin/bwrap"),
    )
    async with sandbox.confine(WRITES, ["/bin/true"], {}) as confined:
        assert confined.argv[0] == program


def test_a_bwrap_of_the_working_folder_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = wrappers.bubblewrap_program.__wrapped__()
    assert found is None or not found.startswith(str(tmp_path))
    assert not (tmp_path / "ran").exists()


async def test_the_profile_of_macos_refuses_all_it_does_not_name(tmp_path: Path) -> None:
    folder, config = tmp_path / 'w"s', tmp_path / "config"
    folder.mkdir()
    config.mkdir()
    (folder / ".envrc").write_text("")
    sandbox = Sandbox(
        folder=folder,
        guards=Guards(lambda path: path.name == ".envrc"),
        hidden=lambda: [config],
        kernel=lambda: Kernel(seatbelt=True),
    )
    profiles = {}
    for strength in (READ_ONLY, WRITES):
        async with sandbox.confine(strength, ["/bin/bash", "-c", "ls"], {}) as confined:
            program, flag, profile, *command = confined.argv
            temporary = confined.environment["TMPDIR"]
            assert (program, flag, command) == ("/usr/bin/sandbox-exec", "-p", ["/bin/bash", "-c", "ls"])
            profiles[strength] = profile
        assert f'(allow file-read* file-write* (subpath "{temporary}"))' in profile
        assert profile.startswith("(version 1)\n(deny default)\n")
        assert profile.index("(allow file-read*)") < profile.index(f'(deny file-read* (subpath "{config}"))')
        assert "network" not in profile
        assert profile.count("(") == profile.count(")")
    quoted = str(folder).replace('"', '\\"')
    assert f'(allow file-write* (subpath "{quoted}"))' not in profiles[READ_ONLY]
    allowed = profiles[WRITES].index(f'(allow file-write* (subpath "{quoted}"))')
    assert allowed < profiles[WRITES].index("(deny file-write* (regex ")


async def test_what_the_child_is_told_can_be_read_as_json(tmp_path: Path) -> None:
    sandbox = Sandbox(folder=tmp_path, guards=Guards(lambda _: False), kernel=lambda: Kernel(landlock=4, seccomp=True))
    async with sandbox.confine(WRITES, ["/bin/true"], {"HOME": "/h"}) as confined:
        assert confined.specification is not None
        told = json.loads(confined.specification.read_text())
        assert confined.environment["HOME"] == "/h"
    assert (told["landlock"]["net"], told["landlock"]["size"]) == (3, 16)
    assert told["landlock"]["rules"][str(tmp_path)] & int(Right.WRITE_FILE)
    assert not confined.specification.exists()


def test_full_needs_no_sandbox_and_ranks_highest() -> None:
    assert sorted(Strength, key=lambda one: one.rank) == [READ_ONLY, WRITES, FULL]
