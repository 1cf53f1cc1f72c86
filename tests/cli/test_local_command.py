"""``ponder local`` as a user runs it: a process of its own, a hub on this machine, its streams and its exit code."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import prefork
from tests.key_canary import CANARY
from tests.patience import PATIENCE_S
from tests.providers.gguf_files import chat_model, gguf_bytes, write_gguf
from tests.providers.scripted_hub import REPOSITORY, ScriptedHub
from tests.providers.test_local_library import hugging_face_model, ollama_model
from tui.cli.progress_bar import ProgressBar, progress_line
from tui.providers.local.known_models import known_models

PONDER = (sys.executable, "-m", "tui", "local")
NAME = "Tiny-Q8_0.gguf"
READY = "Tiny-Q8_0 is ready: ponder -m local/Tiny-Q8_0\n"
CONTENT = gguf_bytes(chat_model(), [("w", (256, 1_024), 0)])


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    home = tmp_path / "home"
    found = prefork.surroundings(PONDER_HOME=str(tmp_path / "ponder"), HOME=str(home), HF_TOKEN=CANARY)
    own = {name: value for name, value in found.items() if not name.startswith(("XDG_", "LLAMA_"))}
    return {**own, "OLLAMA_MODELS": str(home / ".ollama/models")}


def models(environment: dict[str, str]) -> Path:
    return Path(environment["PONDER_HOME"]) / "data" / "models"


def run(environment: dict[str, str], *arguments: str, said: str = "") -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    done = prefork.run([*PONDER, *arguments], said=said.encode(), env=environment, timeout=PATIENCE_S)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


async def get(environment: dict[str, str], hub: ScriptedHub, *arguments: str, said: str = "") -> tuple[int, str, str]:
    around = {**environment, "HF_ENDPOINT": hub.url}
    return await asyncio.to_thread(run, around, "get", *arguments, said=said)


def shown_on(terminal: int, process: subprocess.Popen[bytes]) -> str:
    """What a process writes to its terminal until it ends. A terminal that nobody reads would stop it."""
    shown = b""
    while select.select([terminal], [], [], 0.02)[0] or process.poll() is None:
        if select.select([terminal], [], [], 0)[0]:
            shown += os.read(terminal, 65_536)
    return shown.decode()


def test_a_machine_without_models_is_told_how_to_get_one(environment: dict[str, str]) -> None:
    assert run(environment, "list") == (
        0,
        "",
        "No models on this machine. `ponder local get` lists some to download.\n",
    )


def test_the_list_shows_models_of_all_programs_and_what_they_can(environment: dict[str, str]) -> None:
    home = Path(environment["HOME"])
    ollama_model(home / ".ollama/models", "registry.ollama.ai/library/qwen3/0.6b")
    plain = {"general.architecture": "llama", "llama.context_length": 8_192, "general.file_type": 7}
    write_gguf(home / ".lmstudio/models/a/b/plain-Q8_0.gguf", plain)
    link = hugging_face_model(home / ".cache/huggingface/hub", "a/b", "half.gguf")
    link.resolve().write_bytes(b"GGUF")
    code, out, _ = run(environment, "list")
    assert (code, [line.split() for line in out.splitlines()]) == (
        0,
        [
            ["qwen3:0.6b", "6", "kB", "Q4_K_M", "41k", "Ollama", "thinks,", "tools"],
            ["plain-Q8_0", "320", "bytes", "Q8_0", "8.2k", "LM", "Studio"],
            [
                "half",
                "4",
                "bytes",
                "?",
                "Hugging",
                "Face",
                *["The", "file", "is", "cut", "off:", "it", "ends", "before", "its", "contents", "do."],
            ],
        ],
    )
    code, out, _ = run(environment, "list", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [(row["name"], row["window"], row["thinks"], row["can_disable_thinking"]) for row in rows] == [
        ("qwen3:0.6b", 40_960, True, True),
        ("plain-Q8_0", 8_192, False, False),
        ("half", None, None, None),
    ]


def test_everything_about_one_model(environment: dict[str, str], tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "Mine-Q4_K_M.gguf")
    code, out, _ = run(environment, "show", str(path))
    assert code == 0
    assert dict(line.split(maxsplit=1) for line in out.splitlines()) == {
        "name": "Mine-Q4_K_M",
        "from": "file",
        "file": str(path),
        "size": f"{path.stat().st_size / 1e3:.0f} kB",
        "model": "Tiny",
        "architecture": "qwen3",
        "weights": "0.00 billion",
        "format": "Q4_K_M",
        "window": "40,960 tokens",
        "context": "115 kB a token",
        "licence": "apache-2.0",
        "can": "thinks, tools",
    }


def test_a_file_is_added_where_it_is_and_taken_off_the_list(environment: dict[str, str], tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "Mine-Q4_K_M.gguf")
    seeing = write_gguf(tmp_path / "mmproj-Mine-f16.gguf", {"general.architecture": "clip"})
    assert run(environment, "add", str(path)) == (0, "Added Mine-Q4_K_M. The file stays where it is.\n", "")
    code, _, said = run(environment, "add", str(path))
    assert (code, said) == (2, "ponder: `Mine-Q4_K_M` is in the list already.\n")
    assert "thinks, tools, images" in run(environment, "list")[1]
    assert run(environment, "remove", "mine-q4_k_m") == (0, "Removed mine-q4_k_m.\n", "")
    assert run(environment, "list")[1] == ""
    assert path.exists()
    assert seeing.exists()
    assert [*models(environment).rglob("*")] == []


@pytest.mark.parametrize("content", [b"", b"<html>", CONTENT[:-1]])
def test_a_file_that_is_no_model_is_not_added(environment: dict[str, str], tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    code, out, said = run(environment, "add", str(tmp_path / "x.gguf"))
    assert (code, out) == (2, "")
    assert said.startswith("ponder: `x.gguf` cannot be used. ")
    assert run(environment, "add", str(tmp_path / "none.gguf"))[0] == 1


def test_models_of_other_programs_are_not_removed(environment: dict[str, str]) -> None:
    blob = ollama_model(Path(environment["HOME"]) / ".ollama/models", "registry.ollama.ai/library/qwen3/0.6b")
    assert run(environment, "remove", "qwen3:0.6b", "--yes") == (
        2,
        "",
        "ponder: `qwen3:0.6b` belongs to another program.\n`ollama rm qwen3:0.6b` removes it.\n",
    )
    assert blob.exists()
    assert run(environment, "remove", "qwen3:8b")[::2] == (
        2,
        "ponder: There is no local model `qwen3:8b`.\nDid you mean qwen3:0.6b?\n",
    )


async def test_a_download_shows_progress_and_is_in_the_list_afterwards(environment: dict[str, str]) -> None:
    seeing = gguf_bytes({"general.architecture": "clip"})
    async with ScriptedHub({NAME: CONTENT, "mmproj-F16.gguf": seeing}) as hub:
        code, out, said = await get(environment, hub, f"hf:{REPOSITORY}")
        assert (code, out) == (0, READY)
        assert said.splitlines()[0].startswith(f"1/2 {NAME}  ░░░░")
        assert any(line.startswith(f"1/2 {NAME}  {'█' * 24}  1 MB of 1 MB") for line in said.splitlines())
        assert CANARY not in out + said
        assert await get(environment, hub, f"hf:{REPOSITORY}") == (
            0,
            "Tiny-Q8_0 is here already: ponder -m local/Tiny-Q8_0\n",
            "",
        )
        assert len(hub.contents.asked) == 2
    assert (models(environment) / REPOSITORY / NAME).read_bytes() == CONTENT
    assert "thinks, tools, images" in run(environment, "list")[1]
    assert run(environment, "remove", "Tiny-Q8_0")[0] == 2
    assert run(environment, "remove", "Tiny-Q8_0", "--yes") == (0, "Removed Tiny-Q8_0.\n", "")
    assert [*models(environment).rglob("*")] == []


async def test_what_another_program_has_is_not_downloaded_again(environment: dict[str, str]) -> None:
    digest = hashlib.sha256(CONTENT).hexdigest()
    root = Path(environment["OLLAMA_MODELS"])
    ollama_model(root, "registry.ollama.ai/library/tiny/latest", digest).write_bytes(CONTENT)
    async with ScriptedHub({NAME: CONTENT}) as hub:
        code, out, _ = await get(environment, hub, f"hf:{REPOSITORY}")
        assert (code, out) == (0, "tiny is the same model, from Ollama: ponder -m local/tiny\n")
        assert hub.contents.asked == []


async def test_everything_but_get_is_offline(environment: dict[str, str], tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "Mine-Q4_K_M.gguf")
    async with ScriptedHub({NAME: CONTENT}) as hub:
        around = {**environment, "HF_ENDPOINT": hub.url, "HTTPS_PROXY": hub.url, "HTTP_PROXY": hub.url}
        for words in (("add", str(path)), ("list",), ("show", "Mine-Q4_K_M"), ("get",), ("remove", "Mine-Q4_K_M")):
            assert (await asyncio.to_thread(run, around, *words))[0] == 0
        assert hub.asked == []


async def test_only_the_words_of_a_model_are_downloaded(environment: dict[str, str]) -> None:
    async with ScriptedHub({NAME: CONTENT, "mmproj-F16.gguf": CONTENT}) as hub:
        assert (await get(environment, hub, f"hf:{REPOSITORY}:Q8_0", "--text-only"))[0] == 0
        assert [asked.path for asked in hub.contents.asked] == [f"/{NAME}"]


async def test_a_large_download_needs_a_yes(environment: dict[str, str]) -> None:
    async with ScriptedHub({NAME: CONTENT}) as hub:
        (listed,) = hub._list()[1:]
        large = {**listed, "lfs": {"oid": "a" * 64, "size": 2_500_000_000}}
        hub._list = lambda: [large]  # type: ignore[method-assign]
        assert await get(environment, hub, f"hf:{REPOSITORY}", said="y\n") == (
            2,
            "",
            f"ponder: {NAME}: 2.50 GB to download. Download it? Add --yes to download it.\n",
        )
        assert hub.contents.asked == []


async def test_a_repository_that_is_not_there(environment: dict[str, str]) -> None:
    async with ScriptedHub({}) as hub:
        code, out, said = await get(environment, hub, "hf:nobody/nothing")
        assert (code, out) == (1, "")
        assert said == (
            f"ponder: `127.0.0.1:{hub.port}` has no repository `nobody/nothing`, or does not show it without a token.\n"
        )
    code, _, said = await get(environment, hub, f"hf:{REPOSITORY}")
    assert (code, said) == (1, f"ponder: `127.0.0.1:{hub.port}` refused the connection.\nCheck the network.\n")


async def test_ctrl_c_keeps_what_came_and_the_next_command_continues(environment: dict[str, str]) -> None:
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.contents.holding = asyncio.Event()
        process = prefork.start(
            [*PONDER, "get", f"hf:{REPOSITORY}"],
            env={**environment, "HF_ENDPOINT": hub.url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        part = models(environment) / REPOSITORY
        while not any(path.stat().st_size >= len(CONTENT) // 2 for path in part.glob("*.part")):
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, said = await asyncio.to_thread(process.communicate, timeout=PATIENCE_S)
        assert (process.returncode, out) == (130, b"")
        assert said.decode().splitlines()[-1].endswith(" kB are kept; the same command continues.")
        _, listed, _ = await asyncio.to_thread(run, environment, "list")
        assert "Tiny-Q8_0: " in listed
        assert listed.endswith(" kB downloaded, not finished\n")
        hub.contents.holding.set()
        assert (await get(environment, hub, f"hf:{REPOSITORY}"))[:2] == (0, READY)
        assert int(hub.contents.asked[-1].headers["range"].removeprefix("bytes=").rstrip("-")) >= len(CONTENT) // 2
    assert run(environment, "list")[1].count("\n") == 1


async def test_an_unfinished_download_can_be_removed(environment: dict[str, str]) -> None:
    async with ScriptedHub({NAME: CONTENT}, stated={NAME: "a" * 64}) as hub:
        folder = models(environment) / REPOSITORY
        folder.mkdir(parents=True)
        (folder / f"{NAME}.{'a' * 12}.part").write_bytes(b"x")
        assert run(environment, "remove", "Tiny-Q8_0") == (0, "Removed Tiny-Q8_0.\n", "")
        assert [*models(environment).rglob("*")] == []
        assert hub.asked == []


async def test_two_processes_make_one_file(environment: dict[str, str]) -> None:
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.contents.holding = asyncio.Event()
        first = asyncio.ensure_future(get(environment, hub, f"hf:{REPOSITORY}"))
        await hub.contents.at_the_middle.wait()
        code, _, said = await get(environment, hub, f"hf:{REPOSITORY}")
        assert (code, said) == (1, f"ponder: Another ponder is downloading `{NAME}`.\n")
        hub.contents.holding.set()
        assert (await first)[:2] == (0, READY)


def test_the_known_models_are_listed_with_size_licence_and_memory(environment: dict[str, str]) -> None:
    code, out, _ = run(environment, "get")
    assert code == 0
    assert out.splitlines()[0].split(maxsplit=8)[:8] == ["qwen3-0.6b", "639", "MB", "1.9", "GB", "of", "memory", "41k"]
    assert len(out.splitlines()) == len(known_models())
    sizes = [model.download for model in known_models().values()]
    assert sizes == sorted(sizes)
    for model in known_models().values():
        assert model.memory > model.download / 1e9 + 0.3


def test_an_unknown_name_is_answered_with_the_list(environment: dict[str, str]) -> None:
    code, _, said = run(environment, "get", "gpt-9")
    assert code == 2
    assert said.startswith("ponder: `gpt-9` is not in the list of models.\nIt has qwen3-0.6b, ")
    assert run(environment, "get", "Qwen/Qwen3-4B-GGUF")[2].endswith("\nDid you mean hf:Qwen/Qwen3-4B-GGUF?\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
async def test_on_a_terminal_one_line_is_redrawn(environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    async with ScriptedHub({NAME: CONTENT}) as hub:
        process = prefork.start(
            [*PONDER, "get", f"hf:{REPOSITORY}"],
            env={**environment, "HF_ENDPOINT": hub.url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        shown = await asyncio.to_thread(shown_on, ours, process)
        os.close(theirs)
        os.close(ours)
    assert process.returncode == 0
    assert shown.startswith("\r\x1b[2K")
    assert "1 MB of 1 MB" in shown
    assert shown.count("\n") == 1


def test_the_line_fits_any_width() -> None:
    wide = progress_line(NAME, 412_000_000, 639_000_000, 12_300_000.0, columns=100)
    assert wide == f"{NAME}  {'█' * 15}{'░' * 9}  412 MB of 639 MB  12.3 MB/s  18 s left"
    for columns in range(10, 120):
        assert len(progress_line("a" * 200, 412_000_000, 639_000_000, 12.3, columns=columns)) < columns


def test_the_rate_is_that_of_the_last_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter((0.0, 10.0, 12.0, 13.0))
    bar = ProgressBar("x", 100_000_000, clock=lambda: next(times))
    for there in (0, 10_000_000, 50_000_000, 20_000_000):
        bar.show(there)
    assert [line.split("  ")[2:] for line in capsys.readouterr().err.splitlines()] == [
        ["0 bytes of 100 MB"],
        ["10 MB of 100 MB", "1.0 MB/s", "1 m 30 s left"],
        ["50 MB of 100 MB", "20.0 MB/s", "2.5 s left"],
    ]


def test_names_are_completed(environment: dict[str, str]) -> None:
    write_gguf(models(environment) / "a/b/Mine-Q4_K_M.gguf")

    def words(kind: str, typed: str) -> list[str]:
        done = prefork.run([*PONDER[:3], "completions", "--words", kind, "--typed", typed], env=environment)
        printed: str = done.stdout.decode()
        return printed.split()

    assert (words("local", "Mi"), words("downloads", "qwen3.5-9")) == (["Mine-Q4_K_M"], ["qwen3.5-9b"])


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal")
async def test_a_large_download_is_asked_about_on_a_terminal(environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    async with ScriptedHub({NAME: CONTENT}) as hub:
        (listed,) = hub._list()[1:]
        large = {**listed, "lfs": {"oid": "a" * 64, "size": 2_500_000_000}}
        hub._list = lambda: [large]  # type: ignore[method-assign]
        os.write(ours, b"n\n")
        process = prefork.start(
            [*PONDER, "get", f"hf:{REPOSITORY}"],
            env={**environment, "HF_ENDPOINT": hub.url},
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        shown = await asyncio.to_thread(shown_on, ours, process)
        os.close(theirs)
        os.close(ours)
        assert hub.contents.asked == []
    assert process.returncode == 2
    assert "2.50 GB to download. Download it? [y/N]" in shown


async def test_a_known_name_asks_for_its_repository(environment: dict[str, str]) -> None:
    async with ScriptedHub({}) as hub:
        assert (await get(environment, hub, "Qwen3.5-4B"))[0] == 1
        assert [asked.path for asked in hub.asked] == ["/api/models/unsloth/Qwen3.5-4B-GGUF/tree/main?recursive=true"]
