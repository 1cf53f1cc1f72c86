"""A model in a file is asked like any other: its server is started, shared and ended by ponder."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.app.local_stage import OWN_SERVER, processes, scripted_model, surroundings, wait_for_end
from tests.app.stage import House, heard_until, house
from tests.patience import PATIENCE_S
from tests.providers.gguf_files import write_gguf
from tui.catalog.catalog import packaged_catalog
from tui.catalog.model_spec import parse_spec
from tui.domain.blocks import TextBlock
from tui.domain.errors import PonderError
from tui.domain.events import MessageCompleted, Streamed, TurnFailed, TurnFinished
from tui.domain.stream import ModelLoading, TextDelta
from tui.domain.thinking import ModelSpec
from tui.headless.run_result import text_of
from tui.providers.local.memory import ModelSize, fitting_window
from tui.providers.local.server_folder import ServerFolder
from tui.providers.local.servers import LocalOptions, LocalServers, ModelFiles

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")


def asking(folder: Path, model: Path, home: str = "home") -> AbstractAsyncContextManager[House]:
    """ponder, asking this model with the scripted server."""
    return house(folder / home, environment=surroundings(folder), model=str(model), assignments=OWN_SERVER)


async def said(h: House) -> str:
    heard = await h.say("Hi")
    assert [event.error for event in heard if isinstance(event, TurnFailed)] == []
    return "".join(text_of(event.message) for event in heard if isinstance(event, MessageCompleted))


async def failure(h: House) -> PonderError:
    (error,) = [event.error for event in await h.say("Hi") if isinstance(event, TurnFailed)]
    return error


async def test_a_file_is_asked_and_its_server_ends_with_ponder(tmp_path: Path) -> None:
    async with asking(tmp_path, scripted_model(tmp_path, says="Hello from a file.")) as h:
        assert h.current.spec.provider == "local"
        assert await said(h) == "Hello from a file."
        running = processes(tmp_path)
        assert len(running) == 2
        assert await said(h) == "Hello from a file."
        assert processes(tmp_path) == running
    wait_for_end(tmp_path)


async def test_the_first_request_tells_how_far_the_model_is(tmp_path: Path) -> None:
    async with asking(tmp_path, scripted_model(tmp_path)) as h:
        told = [
            [e.event for e in await h.say("Hi") if isinstance(e, Streamed) and isinstance(e.event, ModelLoading)]
            for _ in range(2)
        ]
    assert told[0][-1] == ModelLoading(1.0, done=True)
    assert told[1] == []
    wait_for_end(tmp_path)


async def test_what_the_server_says_about_the_model_is_known_after_the_first_answer(tmp_path: Path) -> None:
    async with asking(tmp_path, scripted_model(tmp_path, n_ctx=2048, vision=True)) as h:
        assert h.current.facts.context_window == 40_960  # as the file says
        await said(h)
        assert (h.current.facts.context_window, h.current.facts.inputs) == (2048, frozenset({"text", "image"}))
    wait_for_end(tmp_path)


async def test_two_windows_share_one_server_and_the_last_one_ends_it(tmp_path: Path) -> None:
    model = scripted_model(tmp_path)
    async with asking(tmp_path, model) as second:
        async with asking(tmp_path, model) as first:
            await asyncio.gather(said(first), said(second))
            running = processes(tmp_path)
            assert len(running) == 2
        assert await said(second) == "Hello from here."
        assert processes(tmp_path) == running
    wait_for_end(tmp_path)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("unknown model architecture: 'zzama'", "This version of llama.cpp does not know the architecture `zzama`."),
        ("data is not within the file bounds, model is corrupted or incomplete", "The model's file is damaged"),
        ("mmap failed: Cannot allocate memory", "There is not enough memory for this model."),
        ("something new", "The model's server ended with code 1: llama_model_load: error loading model: something new"),
    ],
)
async def test_a_model_that_cannot_be_loaded_is_explained(tmp_path: Path, line: str, sentence: str) -> None:
    async with asking(tmp_path, scripted_model(tmp_path, fails=line)) as h:
        error = await failure(h)
        assert error.message.startswith(sentence)
        assert error.advice
    wait_for_end(tmp_path)


@pytest.mark.parametrize(
    ("number", "word"),
    [(signal.SIGILL, "AVX2"), (signal.SIGKILL, "memory"), (signal.SIGSEGV, "crashed (SIGSEGV)")],
)
@pytest.mark.long
async def test_a_server_that_is_killed_while_it_loads_is_explained(tmp_path: Path, number: int, word: str) -> None:
    async with asking(tmp_path, scripted_model(tmp_path, signal=int(number))) as h:
        assert word in (await failure(h)).message
    wait_for_end(tmp_path)


@pytest.mark.long
async def test_a_crash_within_an_answer_is_explained_and_the_next_request_starts_it_again(tmp_path: Path) -> None:
    model = scripted_model(tmp_path, says="It begins well and then", dies_after=3)
    async with asking(tmp_path, model) as h:
        assert "crashed (SIGSEGV)" in (await failure(h)).message
        scripted_model(tmp_path, says="All is well.")
        assert await said(h) == "All is well."
    wait_for_end(tmp_path)


async def test_an_earlier_failure_does_not_stay(tmp_path: Path) -> None:
    model = scripted_model(tmp_path, fails="something new")
    async with asking(tmp_path, model) as h:
        await failure(h)
        scripted_model(tmp_path)
        assert await said(h) == "Hello from here."
    wait_for_end(tmp_path)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("which", ["keeper", "server"])
@pytest.mark.long
async def test_a_killed_process_leaves_no_other_and_the_next_request_starts_both(tmp_path: Path, which: str) -> None:
    async with asking(tmp_path, scripted_model(tmp_path)) as h:
        await said(h)
        (place,) = (tmp_path / "home" / "state" / "local").iterdir()
        state = ServerFolder(place).read()
        assert state is not None
        os.kill(state.keeper if which == "keeper" else state.process, signal.SIGKILL)
        wait_for_end(tmp_path)
        assert await said(h) == "Hello from here."
    wait_for_end(tmp_path)


async def test_without_the_program_it_says_so(tmp_path: Path) -> None:
    model = scripted_model(tmp_path)
    async with house(tmp_path / "home", environment={"PATH": ""}, model=str(model), assignments=OWN_SERVER) as h:
        assert (await failure(h)).message == "There is no `llama-server` on the PATH."


async def test_its_files_are_private_and_the_key_is_not_on_a_command_line(tmp_path: Path) -> None:
    async with asking(tmp_path, scripted_model(tmp_path)) as h:
        await said(h)
        (place,) = (tmp_path / "home" / "state" / "local").iterdir()
        state = ServerFolder(place).read()
        assert state is not None
        assert state.key
        for path in (place, *place.rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path
        for process in processes(tmp_path):
            assert state.key.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()
    wait_for_end(tmp_path)


@pytest.mark.long
async def test_status_shows_the_server_and_after_a_failure_the_end_of_its_log(tmp_path: Path) -> None:
    model = scripted_model(tmp_path, fails="something new")
    async with asking(tmp_path, model) as h:
        assert await h.services.model_server() == "- model server: not running"
        await failure(h)
        told = await h.services.model_server()
        assert "The model's server ended with code 1" in told
        assert told.splitlines()[-2] == "0.00.019.978 E llama_model_load: error loading model: something new"
        scripted_model(tmp_path)
        await said(h)
        assert (await h.services.model_server()).startswith("- model server: ready, process ")
        assert "4,096 tokens of context" in await h.services.model_server()
    wait_for_end(tmp_path)


async def test_without_keys_the_model_of_a_file_answers_and_is_offered(tmp_path: Path) -> None:
    home = tmp_path / "home"
    model = scripted_model(home / "data" / "models")
    model.rename(model.with_name("Other-Q4_K_M.gguf"))
    around = surroundings(tmp_path)
    async with house(home, environment=around, model=None, assignments=OWN_SERVER) as h:
        assert h.current.spec.provider == "demo"
        await h.services.discover()
        assert str(h.current.spec) == "local/Other-Q4_K_M/med"
        (row,) = [row for row in h.services.keys.availability() if row.provider == "local"]
        assert (row.ready, row.detail) == (True, "1 model")
        assert await said(h) == "Hello from here."
        (picked,) = [row for row in h.services.models.models() if row.spec.provider == "local"]
        assert (picked.available, picked.window, picked.price) == (True, 4096, (0.0, 0.0))
    wait_for_end(home)


async def test_a_model_that_cannot_be_run_is_listed_with_what_is_missing(tmp_path: Path) -> None:
    write_gguf(tmp_path / "home" / "data" / "models" / "Other.gguf")
    async with house(tmp_path / "home", environment={"PATH": ""}, model=None, assignments=OWN_SERVER) as h:
        await h.services.discover()
        assert h.current.spec.provider == "demo"
        (row,) = [row for row in h.services.models.models() if row.spec.provider == "local"]
        assert (row.available, row.reason.partition(":")[0]) == (False, "There is no llama-server on the PATH")


async def test_a_file_can_be_chosen_on_the_screen_and_a_broken_one_is_refused(tmp_path: Path) -> None:
    model = scripted_model(tmp_path)
    (broken := tmp_path / "broken.gguf").write_bytes(b"GGUF")
    async with house(tmp_path / "home", environment=surroundings(tmp_path), assignments=OWN_SERVER) as h:
        told = await h.services.models.set_model(f"{model}/low")
        assert told.startswith("Models on this machine · Tiny.gguf · openai-chat")
        assert h.current.facts.context_window == 40_960
        with pytest.raises(PonderError, match="cannot be used"):
            await h.services.models.set_model(str(broken))
        assert h.current.spec.model == str(model)
        assert await said(h) == "Hello from here."
    wait_for_end(tmp_path)


@pytest.mark.parametrize(
    ("level", "fields"),
    [
        ("none", {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}),
        ("low", {"reasoning_budget_tokens": 5_462}),
        ("high", {"chat_template_kwargs": {"enable_thinking": True, "thinking": True}}),
        ("700", {"reasoning_budget_tokens": 700}),
    ],
)
async def test_levels_are_what_llama_cpp_can_do(tmp_path: Path, level: str, fields: dict[str, object]) -> None:
    model = scripted_model(tmp_path)
    async with house(tmp_path / "home", environment=surroundings(tmp_path), model=f"{model}/{level}") as h:
        assert dict(h.view().plan.fields) == fields


@pytest.mark.long
async def test_the_exact_count_is_what_the_server_reports_after_the_request(tmp_path: Path) -> None:
    async with asking(tmp_path, scripted_model(tmp_path)) as h:
        for _ in range(3):
            (answer,) = [event.message for event in await h.say("And now?") if isinstance(event, MessageCompleted)]
            sent = h.program.backend.last_of(h.current.session_id)
            assert sent is not None
            assert answer.usage is not None
            assert answer.usage.input == await h.current.call(h.program.backend.count(sent.target, sent.request))
        assert await h.services.chat.count_exactly() is not None
    wait_for_end(tmp_path)


async def test_a_model_whose_file_is_gone_is_missed_when_it_is_asked(tmp_path: Path) -> None:
    model = scripted_model(tmp_path)
    async with asking(tmp_path, model) as h:
        await said(h)
        session = h.current.session_id
    async with house(tmp_path / "home", environment=surroundings(tmp_path), assignments=OWN_SERVER) as h:
        model.unlink()
        with pytest.raises(PonderError, match="cannot be read: No such file"):
            await h.services.models.set_model(str(model))
        await h.current.use(ModelSpec(provider="local", model=str(model)))
        assert "cannot be read: No such file" in (await failure(h)).message
    assert session
    wait_for_end(tmp_path)


async def test_a_folder_that_cannot_be_written_is_an_error_of_the_request(tmp_path: Path) -> None:
    (tmp_path / "home" / "state").mkdir(parents=True)
    (tmp_path / "home" / "state" / "local").write_text("in the way")
    async with asking(tmp_path, scripted_model(tmp_path)) as h:
        assert (await failure(h)).message.startswith("The model cannot be started: ")


async def test_without_the_package_it_says_what_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.providers.local.servers.PACKAGE", "not_there_at_all")
    async with house(tmp_path, environment={}, model=str(scripted_model(tmp_path))) as h:
        error = await failure(h)
        assert error.message == "The package not_there_at_all is not installed."
        assert "pip install 'ponder-tui[local]'" in error.advice


@pytest.mark.long
async def test_an_idle_model_leaves_the_memory_and_comes_back_with_the_next_request(tmp_path: Path) -> None:
    idle = (*OWN_SERVER, "local.idle=0.005")
    model = scripted_model(tmp_path)
    async with house(tmp_path, environment=surroundings(tmp_path), model=str(model), assignments=idle) as h:
        await said(h)
        await asyncio.to_thread(wait_for_end, tmp_path)
        async with asyncio.timeout(PATIENCE_S):
            while await h.services.model_server() != "- model server: not running":
                await asyncio.sleep(0.01)  # its files are removed when it has ended
        assert await said(h) == "Hello from here."
    wait_for_end(tmp_path)


async def test_a_model_that_is_answering_is_not_idle(tmp_path: Path) -> None:
    model = scripted_model(tmp_path, says="one two", hangs_after=1)
    async with asking(tmp_path, model) as h:
        _, subscription = h.services.chat.attach()
        await h.services.chat.submit((TextBlock(text="Hi"),))
        async for batch in subscription.batches(0):
            if any(isinstance(s.event, Streamed) and isinstance(s.event.event, TextDelta) for s in batch):
                break
        subscription.close()
        (place,) = (tmp_path / "home" / "state" / "local").iterdir()
        assert ServerFolder(place).last_uses() == [math.inf]
        _, subscription = h.services.chat.attach()
        await h.services.chat.cancel()
        await heard_until(subscription, TurnFinished, TurnFailed)
        assert ServerFolder(place).last_uses() < [math.inf]
    wait_for_end(tmp_path)


@pytest.mark.long
async def test_a_smaller_window_can_be_set_and_is_one_of_another_server(tmp_path: Path) -> None:
    async with asking(tmp_path, scripted_model(tmp_path)) as h:
        await said(h)
        before = await h.services.model_server()
        await h.services.settings.assign("local.context", "2048")
        await said(h)
        assert await h.services.model_server() != before
        told = [Path(f"/proc/{process}/cmdline").read_bytes() for process in processes(tmp_path)]
        assert any(b"--ctx-size\x002048\x00" in arguments for arguments in told)
    wait_for_end(tmp_path)


@pytest.mark.parametrize(
    ("available", "window"),
    [(None, 0), (8 * 10**9, 0), (3 * 10**9, 16_384), (2 * 10**9, 7_168), (10**9, 2_048)],
)
def test_the_window_is_what_fits_into_the_memory(available: int | None, window: int) -> None:
    size = ModelSize(weights=10**9, window=40_960, bytes_per_token=100_000)
    assert fitting_window(size, available) == window


def test_a_path_is_a_model_and_may_have_a_level(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = packaged_catalog()
    for name in ("x.gguf", "./x.gguf", str(tmp_path / "x.gguf")):
        assert parse_spec(name, catalog).provider == "local"
        assert Path(parse_spec(f"{name}/low", catalog).model) == tmp_path / "x.gguf"
        assert str(parse_spec(str(parse_spec(f"{name}/8k", catalog)), catalog)) == f"local/{tmp_path}/x.gguf/8000"
    assert parse_spec("openrouter/x.gguf", catalog).provider == "openrouter"


async def test_a_model_with_a_second_file_sees_images(tmp_path: Path) -> None:
    model = scripted_model(tmp_path)
    eyes = write_gguf(model.with_name("mmproj-Tiny.gguf"), {"general.architecture": "clip", "general.type": "mmproj"})
    async with asking(tmp_path, model) as h:
        assert h.current.facts.inputs == {"text", "image"}
        await said(h)
        told = [Path(f"/proc/{process}/cmdline").read_bytes() for process in processes(tmp_path)]
        assert any(os.fsencode(eyes) in arguments.split(b"\0") for arguments in told)
    wait_for_end(tmp_path)


async def test_requests_at_the_same_time_start_and_claim_one_server(tmp_path: Path) -> None:
    model = scripted_model(tmp_path)
    servers = LocalServers(
        tmp_path / "local",
        surroundings(tmp_path),
        lambda: LocalOptions(server="llama-server"),
        lambda name: ModelFiles(path=Path(name)),
        lambda name, props: None,
    )
    states = await asyncio.gather(*(servers.ready(str(model)) for _ in range(8)))
    assert len({state.port for state in states}) == 1
    (place,) = (tmp_path / "local").iterdir()
    assert len(ServerFolder(place).last_uses()) == 1
    servers.close()
    wait_for_end(tmp_path)
