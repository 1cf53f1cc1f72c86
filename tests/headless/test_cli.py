"""``ponder -p`` as scripts run it: a process of its own, its streams and its exit code."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from tests import prefork
from tests.fakes.bench import ScriptedUser, outcome
from tests.patience import PATIENCE_S
from tests.providers.more_strangers import Cutting
from tests.providers.strangers import Claudelike, serving
from tests.tools.scripted_model import ScriptedModel
from tui.app.launch_options import LaunchOptions
from tui.bootstrap.program import build_program
from tui.domain.blocks import ToolCallBlock
from tui.tools.sandbox.sandbox import this_kernel

PONDER = (sys.executable, "-m", "tui")
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return prefork.surroundings(PONDER_HOME=str(tmp_path), MY_KEY="key-of-mine-9876")


def _ponder(environment: dict[str, str], *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return prefork.run([*PONDER, *arguments], said=stdin, env=environment, timeout=PATIENCE_S)


def _configure(environment: dict[str, str], row: str) -> None:
    folder = Path(environment["PONDER_HOME"]) / "config"
    folder.mkdir()
    (folder / "config.toml").write_text(f"[providers.mine]\n{row}\n", "utf-8")


@pytest.mark.parametrize("option", ["-r", "--session"])
def test_an_empty_id_names_no_session(environment: dict[str, str], option: str) -> None:
    done = _ponder(environment, "-p", "Hello", "-m", "demo/fast", option, "")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"There is no session ``" in done.stderr


@pytest.mark.one_in(2)
@pytest.mark.parametrize("home", ["here", "a/b", ".", "~nobody-knows/x"])
def test_a_relative_home_is_below_the_current_folder_and_keeps_sessions(
    environment: dict[str, str], tmp_path: Path, home: str
) -> None:
    environment["PONDER_HOME"] = home
    for words, said in ((["-p", "Hello", "-m", "demo/fast"], b""), (["-p", "more", "-c", "-m", "demo/fast"], b"")):
        done = prefork.run([*PONDER, *words], said=b"", env=environment, cwd=tmp_path, timeout=PATIENCE_S)
        assert (done.returncode, done.stderr) == (0, said)
    with closing(sqlite3.connect(tmp_path / home / "data" / "sessions.db")) as connection:
        assert connection.execute("SELECT turns FROM session").fetchall() == [(2,)]


UNKNOWN_USER = """
import pwd, sys
def unknown(uid): raise KeyError(uid)
pwd.getpwuid = unknown
from tui.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The program for a user whom the system does not know, as in containers."""


def test_an_answer_that_is_kept_nowhere_says_so_and_is_1(environment: dict[str, str], tmp_path: Path) -> None:
    environment = {
        name: value for name, value in environment.items() if not name.startswith(("XDG_", "HOME", "PONDER_HOME"))
    }
    done = subprocess.run(
        [sys.executable, "-c", UNKNOWN_USER, "-p", "Hello", "-m", "demo/fast"],
        input=b"", env=environment, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout[:10]) == (1, b"## Welcome")
    assert b"ponder: NOT SAVED: No home folder was found" in done.stderr


@pytest.mark.parametrize("price", ["[inf, inf]", "[1e308, 1e308]"])
def test_a_price_that_is_no_price_is_told_and_the_json_stays_json(environment: dict[str, str], price: str) -> None:
    folder = Path(environment["PONDER_HOME"]) / "config"
    folder.mkdir()
    (folder / "config.toml").write_text(f'[models."demo/fast"]\nprice = {price}\n')
    done = _ponder(environment, "-p", "Hello", "-m", "demo/fast", "--json")
    assert json.loads(done.stdout, parse_constant=pytest.fail)["error"] is None
    assert b"`models.demo/fast.price` cannot be" in done.stderr


@pytest.mark.parametrize(
    "row",
    [
        'wire = "openai-chat"\nbase_url = "http://["',
        'wire = "ollama"\nbase_url = "http://a"\nbases = {gemini = "http://["}',
    ],
)
def test_an_address_that_is_none_is_told_and_everything_else_works(environment: dict[str, str], row: str) -> None:
    _configure(environment, row)
    for words in (("-p", "Hello", "-m", "demo/fast"), ("doctor",), ("models", "fast")):
        done = _ponder(environment, *words)
        assert done.returncode == 0, done.stderr
    assert b"is not a web address" in done.stderr


def test_a_wrong_name_where_all_models_are_known_is_2_with_a_suggestion(environment: dict[str, str]) -> None:
    done = _ponder(environment, "-p", "Hello", "-m", "demo/fats")
    said = b"ponder: There is no model `demo/fats`.\nDid you mean demo/fast, demo/chat?\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", said)
    assert not (Path(environment["PONDER_HOME"]) / "data").exists()


def test_a_server_that_does_not_start_is_named_and_the_answer_comes_without_it(environment: dict[str, str]) -> None:
    folder = Path(environment["PONDER_HOME"]) / "config"
    folder.mkdir()
    servers = '[mcp.servers.gone]\ncommand = "no-such-program"\n[mcp.servers.off]\ncommand = "x"\nenabled = false\n'
    (folder / "config.toml").write_text(servers, "utf-8")
    done = _ponder(environment, "-p", "Hello", "-m", "demo/fast")
    assert (done.returncode, done.stdout[:22]) == (0, b"## Welcome to ponder\n\n")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("ponder: The MCP server gone is not used: ")
    assert "could not be started" in line or "pip install" in line


def test_an_answer_is_all_there_is_on_stdout_and_0(environment: dict[str, str]) -> None:
    done = _ponder(environment, "-p", "Hello", "-m", "demo/fast")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"## Welcome to ponder\n")
    assert done.stdout.endswith(b"\n")
    assert not done.stdout.endswith(b"\n\n")


def test_what_the_provider_refuses_is_1_and_stdout_stays_clean(environment: dict[str, str]) -> None:
    done = _ponder(environment, "-p", "error quota", "-m", "demo/fast")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"ponder: You exceeded your current quota")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-m", "claude-opos-5"), "Did you mean anthropic/claude-opus-5,"),
        (("--set", "reasoning.effort=hihg"), "Did you mean high"),
        (("-m", "demo/fast", "--thinking-budget", "lots"), "`lots` is neither a level nor a budget."),
        (("--profile", "nope"), "There is no profile `nope`."),
        (("--json", "--jsonl"), "not allowed with argument"),
    ],
)
def test_a_wrong_word_is_2_with_the_nearest_right_one(
    arguments: tuple[str, ...], said: str, environment: dict[str, str]
) -> None:
    done = _ponder(environment, "-p", "Hello", *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()


def test_a_missing_key_is_3_and_says_what_to_do(environment: dict[str, str]) -> None:
    done = _ponder(environment, "-p", "Hello", "-m", "claude-opus-5", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, done.stderr, error["kind"]) == (3, b"", "no_key")
    assert error["advice"].startswith("Set `ANTHROPIC_API_KEY` or run `ponder auth set anthropic`.")


def test_an_answer_that_is_cut_is_4_and_what_came_is_there(environment: dict[str, str]) -> None:
    with serving(Cutting) as (url, _):
        _configure(environment, f'wire = "openai-chat"\nbase_url = "{url}/v1"\nauth = "none"')
        done = _ponder(environment, "-p", "Hello", "-m", "mine/m")
    assert (done.returncode, done.stdout) == (4, b"Half of\n")
    assert b"cut by the output limit" in done.stderr


@pytest.fixture
def slow(environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    arguments = [*PONDER, "-p", "show me markdown", "-m", "demo/demo/none", "--jsonl"]
    pipe = subprocess.PIPE
    with prefork.start(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
        yield process
        process.kill()


def test_ctrl_c_is_130_at_once_and_the_session_keeps_what_came(
    slow: subprocess.Popen[bytes], environment: dict[str, str]
) -> None:
    assert slow.stdout is not None
    lines: list[dict[str, Any]] = []
    while "".join(line["text"] for line in lines if line["type"] == "text")[:16] != "# What an answer":
        lines.append(json.loads(slow.stdout.readline()))
    slow.send_signal(signal.SIGINT)
    rest, said = slow.communicate(timeout=PATIENCE_S)
    result = json.loads(rest.splitlines()[-1])
    assert (slow.returncode, said) == (130, b"")
    assert (result["type"], result["finish"]) == ("result", "cancelled")
    assert result["answer"].startswith("# What an answer")
    shown = _ponder(environment, "sessions", "show", lines[0].get("session") or result["session"])
    assert "# What an answer" in shown.stdout.decode()


def test_ctrl_c_again_ends_it_at_once_and_what_was_saved_is_saved(
    slow: subprocess.Popen[bytes], environment: dict[str, str]
) -> None:
    assert slow.stdout is not None
    lines = [json.loads(slow.stdout.readline())]
    while lines[-1]["type"] != "text":
        lines.append(json.loads(slow.stdout.readline()))
    database = Path(environment["PONDER_HOME"]) / "data" / "sessions.db"
    with closing(sqlite3.connect(database, timeout=PATIENCE_S, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # ending in order has to wait for this
        while slow.poll() is None:
            slow.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                slow.wait(timeout=0.1)
    rest, said = slow.communicate()
    assert (slow.returncode, said) == (130, b"")
    assert b'"result"' not in rest
    shown = _ponder(environment, "sessions", "show", "show me markdown")  # by its title
    assert (shown.returncode, shown.stdout.count(b"show me markdown") >= 2) == (0, True)  # title and prompt


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("permissions.toml", "allow = ["),
        ("permissions.toml", 'deny = "shell(rm)"'),
        ("config.toml", '[permissions]\ndeny = ["shell(rm)"'),
        ("config.toml", 'permissions = ["shell(rm)"]'),
        ("config.toml", '[permission]\ndeny = ["shell(rm)"]'),
    ],
)
def test_no_option_opens_what_rules_that_cannot_be_read_may_deny(
    environment: dict[str, str], tmp_path: Path, file: str, text: str
) -> None:
    config = tmp_path / "config"
    config.mkdir()
    (config / file).write_text(text)
    options = LaunchOptions(folder=tmp_path, headless=True, allow=("shell(touch)", "shell(=touch here) full"))
    toolbox = build_program({**environment, "HOME": str(tmp_path)}, options).toolbox
    user = ScriptedUser()
    for command in ("touch here", "touch there"):
        call = ToolCallBlock(call_id="c", name="shell", arguments=json.dumps({"command": command}))
        result = asyncio.run(toolbox.run(call, user.run()))
        good, text = outcome(result)
        assert not good
        assert "needs approval" in text
    assert not (tmp_path / "here").exists()


BROKEN = 'theme = "dark"\nmodel = "demo/fast\n'


@pytest.mark.parametrize("form", [(), ("--json",), ("--jsonl",)])
def test_no_other_model_answers_for_one_that_a_broken_configuration_may_name(
    environment: dict[str, str], tmp_path: Path, form: tuple[str, ...]
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(BROKEN)
    done = _ponder(environment, "-p", "Hello", *form)
    assert (done.returncode, done.stdout) == (2, b"")
    [first, second] = done.stderr.decode().splitlines()
    assert first.startswith("ponder: `config.toml`, line 2, column 19: ")
    assert second == "Nothing was sent: correct it, or name a model (-m PROVIDER/MODEL)."
    assert not (tmp_path / "data").exists() or not list((tmp_path / "data").glob("*.db"))


@pytest.mark.parametrize("config", ["model = 5", 'modle = "demo/fast"'])
def test_nor_for_one_whose_name_is_wrong(environment: dict[str, str], tmp_path: Path, config: str) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text(config)
    done = _ponder(environment, "-p", "Hello")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"ponder: `config.toml`, line 1, column 1: " in done.stderr
    assert b"Nothing was sent" in done.stderr


def test_nothing_is_spent_without_a_limit_that_cannot_be_read(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[budget]\nday = "5 USD"\n')
    done = _ponder(environment, "-p", "Hello", "-m", "demo/fast")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"config.toml`, line 2, column 1: `budget.day`" in done.stderr
    assert b"Nothing was sent: correct it, or set a limit (--max-cost DOLLARS)." in done.stderr
    assert _ponder(environment, "-p", "Hello", "-m", "demo/fast", "--max-cost", "1").returncode == 0


@pytest.mark.parametrize("words", [("-m", "demo/fast"), ("--set", "model=demo/fast"), ("--profile", "mine")])
def test_a_model_of_the_command_line_answers_without_the_broken_file(
    environment: dict[str, str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "config" / "profiles").mkdir(parents=True)
    (tmp_path / "config" / "config.toml").write_text(BROKEN)
    (tmp_path / "config" / "profiles" / "mine.toml").write_text('model = "demo/fast"\n')
    done = _ponder(environment, "-p", "Hello", "--json", *words)
    assert (done.returncode, json.loads(done.stdout)["model"]) == (0, "fast"), done.stderr
    assert done.stderr.startswith(b"ponder: `config.toml`, line 2, column 19: ")


CHILD = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGTERM, signal.SIG_IGN)
Path("started").touch()
time.sleep(600)
"""


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("strength", ["full", "rw"])
def test_a_signal_ends_the_run_with_its_commands_in_order(
    environment: dict[str, str], tmp_path: Path, name: str, strength: str
) -> None:
    """`timeout`, `docker stop` and a closed terminal send these signals."""
    if strength != "full" and not this_kernel().strengths:
        pytest.skip("NO SANDBOX ON THIS MACHINE: not tested")
    number = getattr(signal, name)
    folder, temporary = tmp_path / "ws", tmp_path / "tmp"
    folder.mkdir()
    temporary.mkdir()
    (folder / "child.py").write_text(CHILD)
    command = f"echo evil > .envrc; {sys.executable} child.py"
    with ScriptedModel([[("shell", {"command": command})], "done"]) as model:
        config = Path(environment["PONDER_HOME"]) / "config"
        config.mkdir()
        (config / "config.toml").write_text(model.config("openai-chat"))
        with subprocess.Popen(
            [*PONDER, "-p", "go", "--json", "--allow", f"shell(={command}) {strength}"],
            env={**environment, "TMPDIR": str(temporary)},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # the tests may run under nohup
        ) as process:
            until = time.monotonic() + PATIENCE_S
            while not (folder / "started").exists() and time.monotonic() < until:
                time.sleep(0.05)
            assert (folder / "started").exists()
            process.send_signal(number)
            written, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, json.loads(written)["finish"]) == (128 + number, "cancelled")
    assert list(temporary.iterdir()) == []
    assert (folder / ".envrc").exists() == (strength == "full")
    running = [path for path in Path("/proc").glob("[0-9]*/cwd") if _leads_to(path, folder)]
    assert running == []


def _leads_to(link: Path, folder: Path) -> bool:
    try:
        return link.readlink() == folder
    except OSError:
        return False


def test_a_reader_that_leaves_is_130_and_nothing_is_said(slow: subprocess.Popen[bytes]) -> None:
    assert slow.stdout is not None
    slow.stdout.readline()
    slow.stdout.close()
    assert slow.stderr is not None
    assert (slow.wait(timeout=PATIENCE_S), slow.stderr.read()) == (130, b"")


def test_stdin_is_context_whatever_bytes_it_holds(environment: dict[str, str]) -> None:
    with serving(Claudelike) as (url, server):
        _configure(environment, f'wire = "anthropic"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]')
        done = _ponder(environment, "-p", "What is this?", "-m", "mine/m", stdin=b"caf\xe9 \xff" + b"long " * 100_000)
    sent = server.seen[0]["messages"][0]["content"]
    assert (done.returncode, done.stdout) == (0, b"Fine, then.\n")
    assert [part["text"][:6] for part in sent] == ["caf\ufffd \ufffd", "What i"]


def test_a_command_in_the_configuration_prints_the_key(environment: dict[str, str]) -> None:
    with serving(Claudelike) as (url, server):
        _configure(environment, f'wire = "anthropic"\nbase_url = "{url}"\nkey_command = "printenv THE_VAULT"')
        environment["THE_VAULT"] = environment["MY_KEY"]
        done = _ponder(environment, "-p", "Hello", "-m", "mine/m")
        listed = _ponder(environment, "auth", "list")
        del environment["THE_VAULT"]
        failed = _ponder(environment, "-p", "Hello", "-m", "mine/m")
    assert (done.returncode, done.stdout, len(server.seen)) == (0, b"Fine, then.\n", 1)
    assert (listed.returncode, listed.stdout.split()) == (0, [b"mine", b"key_command"])
    assert (failed.returncode, failed.stdout) == (3, b"")
    assert b"The command for the key of mine, `printenv THE_VAULT`, failed with exit code 1." in failed.stderr


def test_without_a_question_stdin_is_the_question(environment: dict[str, str]) -> None:
    done = _ponder(environment, "-p", "-m", "demo/fast", "--json", stdin="Grüße".encode())
    assert (done.returncode, json.loads(done.stdout)["thinking"][:24]) == (0, 'The user says: "Grüße".\n')


def test_a_locale_without_letters_changes_nothing(environment: dict[str, str]) -> None:
    bare = {**environment, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = _ponder(bare, "-p", "Grüße", "-m", "demo/fast", "--show-thinking")
    assert done.returncode == 0
    assert 'The user says: "Grüße".' in done.stderr.decode()


@pytest.mark.one_in(4)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">/dev/full"])
def test_closed_streams_are_no_traceback(closed: str, environment: dict[str, str]) -> None:
    command = f"{sys.executable} -m tui -p Hello -m demo/fast {closed}"
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, timeout=PATIENCE_S, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == (1 if "full" in closed else 0)


def test_a_session_goes_on_in_another_process_and_by_other_words(environment: dict[str, str]) -> None:
    with serving(Claudelike) as (url, server):
        _configure(environment, f'wire = "anthropic"\nbase_url = "{url}"\nkey_env = ["MY_KEY"]')
        first = json.loads(_ponder(environment, "-p", "One", "-m", "mine/m", "--json").stdout)
        _ponder(environment, "-p", "Two", "--session", first["session"])
        last = _ponder(environment, "-p", "Three", "-c", "-m", "mine/n", "--json")
    assert json.loads(last.stdout)["session"] == first["session"]
    assert [body["model"] for body in server.seen] == ["m", "m", "n"]
    assert [len(body["messages"]) for body in server.seen] == [1, 3, 5]
