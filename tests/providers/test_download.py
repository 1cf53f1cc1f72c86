"""A download ends as one whole file or none, whatever the network, the hub and the disk do in between."""

from __future__ import annotations

import asyncio
import hashlib
import resource
import shutil
from pathlib import Path

import pytest

from tests.key_canary import CANARY
from tests.providers.gguf_files import chat_model, gguf_bytes
from tests.providers.scripted_hub import REPOSITORY, ScriptedHub
from tui.domain.errors import UsageError
from tui.providers.http.transport import Transport
from tui.providers.local.download import download, missing_bytes, require_space
from tui.providers.local.hub import (
    DownloadError,
    Hub,
    HubFile,
    HubName,
    chosen_files,
    parse_hub_name,
    projector_for,
)

NAME = "Tiny-Q8_0.gguf"
CONTENT = gguf_bytes(chat_model(), [("w", (256, 1_024), 0)])
AT_ONCE = (0.0, 0.0, 0.0)


async def fetch(
    hub: ScriptedHub, folder: Path, seen: list[int] | None = None, environment: dict[str, str] | None = None
) -> Path:
    transport = Transport(environ={})
    try:
        client = Hub(transport, {"HF_ENDPOINT": hub.url, **(environment or {})})
        (file,) = chosen_files(HubName(repository=REPOSITORY, file=NAME), await client.files(REPOSITORY))
        shown = [] if seen is None else seen
        return await download(client, REPOSITORY, file, folder, shown.append, pauses_s=AT_ONCE)
    finally:
        await transport.aclose()


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".lock"))


async def test_a_file_arrives_whole_and_the_token_goes_to_the_hub_only(tmp_path: Path) -> None:
    seen: list[int] = []
    async with ScriptedHub({NAME: CONTENT}) as hub:
        path = await fetch(hub, tmp_path, seen, {"HF_TOKEN": CANARY})
        assert [asked.headers.get("authorization") for asked in hub.asked] == [f"Bearer {CANARY}"] * 2
        assert [asked.headers.get("authorization") for asked in hub.contents.asked] == [None]
    assert path.read_bytes() == CONTENT
    assert visible(tmp_path) == [NAME]
    assert path.stat().st_mode & 0o077 == 0
    assert (seen[0], seen[-1]) == (0, len(CONTENT))
    assert seen == sorted(seen)


async def test_without_a_token_nothing_is_sent_in_its_place(tmp_path: Path) -> None:
    async with ScriptedHub({NAME: CONTENT}) as hub:
        await fetch(hub, tmp_path, None, {"HF_TOKEN": " "})
        assert all("authorization" not in asked.headers for asked in hub.asked)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tenth", range(10))
async def test_a_download_cut_anywhere_is_continued_by_itself(tmp_path: Path, tenth: int) -> None:
    cut = len(CONTENT) * tenth // 10
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.contents.cuts = [cut]
        path = await fetch(hub, tmp_path)
        assert [asked.headers.get("range") for asked in hub.contents.asked] == [None, f"bytes={cut}-" if cut else None]
    assert path.read_bytes() == CONTENT


@pytest.mark.one_in(3)
@pytest.mark.parametrize("tenth", range(1, 10))
async def test_a_download_is_continued_by_the_next_command(tmp_path: Path, tenth: int) -> None:
    cut = len(CONTENT) * tenth // 10
    seen: list[int] = []
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.contents.cuts = [cut, 0, 0, 0]
        with pytest.raises(DownloadError) as error:
            await fetch(hub, tmp_path)
        assert "are kept; the same command continues." in error.value.advice
        assert visible(tmp_path) == [part_name(CONTENT)]
        hub.contents.cuts, hub.contents.asked = [], []
        path = await fetch(hub, tmp_path, seen)
        assert [asked.headers["range"] for asked in hub.contents.asked] == [f"bytes={cut}-"]
    assert path.read_bytes() == CONTENT
    assert (seen[0], seen[-1]) == (cut, len(CONTENT))


def part_name(content: bytes) -> str:
    return f"{NAME}.{hashlib.sha256(content).hexdigest()[:12]}.part"


async def test_attempts_that_bring_something_are_never_too_many(tmp_path: Path) -> None:
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.contents.cuts = [len(CONTENT) // 20] * 19
        assert (await fetch(hub, tmp_path)).read_bytes() == CONTENT


async def test_a_server_that_ignores_ranges_sends_all_again(tmp_path: Path) -> None:
    seen: list[int] = []
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.contents.takes_ranges = False
        hub.contents.cuts = [1_000_000]
        assert (await fetch(hub, tmp_path, seen)).read_bytes() == CONTENT
    assert 0 in seen[1:]


async def test_a_part_of_another_version_is_not_continued(tmp_path: Path) -> None:
    older = bytes(reversed(CONTENT))
    (tmp_path / part_name(older)).write_bytes(older[:5_000])
    async with ScriptedHub({NAME: CONTENT}) as hub:
        await fetch(hub, tmp_path)
        assert "range" not in hub.contents.asked[0].headers
    assert visible(tmp_path) == [NAME]


async def test_a_damaged_part_is_found_out_and_begun_again(tmp_path: Path) -> None:
    (tmp_path / part_name(CONTENT)).write_bytes(b"x" * 5_000)
    async with ScriptedHub({NAME: CONTENT}) as hub:
        with pytest.raises(DownloadError, match="does not have the checksum that the hub states"):
            await fetch(hub, tmp_path)
        assert visible(tmp_path) == []
        assert (await fetch(hub, tmp_path)).read_bytes() == CONTENT


async def test_a_wrong_checksum_leaves_nothing(tmp_path: Path) -> None:
    async with ScriptedHub({NAME: CONTENT}, stated={NAME: "a" * 64}) as hub:
        with pytest.raises(DownloadError, match="does not have the checksum"):
            await fetch(hub, tmp_path)
    assert visible(tmp_path) == []


async def test_a_file_without_a_checksum_is_not_downloaded(tmp_path: Path) -> None:
    async with ScriptedHub({NAME: CONTENT}, stated={NAME: ""}) as hub:
        with pytest.raises(DownloadError, match="states no checksum"):
            await fetch(hub, tmp_path)
        assert hub.contents.asked == []


async def test_more_bytes_than_stated_are_refused(tmp_path: Path) -> None:
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.contents.files = {NAME: CONTENT + b"more"}
        with pytest.raises(DownloadError):
            await fetch(hub, tmp_path)
    assert NAME not in visible(tmp_path)


@pytest.mark.parametrize(
    ("refusal", "token", "sentence"),
    [
        ((404, {"x-error-code": "EntryNotFound"}), "", "`HUB` does not have this file of `Qwen/Tiny-GGUF`."),
        ((404, {}), "", "`HUB` does not have this file of `Qwen/Tiny-GGUF`."),
        (
            (401, {"x-error-code": "GatedRepo"}),
            "",
            "`HUB` gives `Qwen/Tiny-GGUF` only to users who are signed in and have accepted its terms.",
        ),
        (
            (403, {"x-error-code": "GatedRepo"}),
            CANARY,
            "`HUB` refuses `Qwen/Tiny-GGUF` with the token in HF_TOKEN.",
        ),
        (
            (401, {"x-error-code": "RepoNotFound"}),
            "",
            "`HUB` has no repository `Qwen/Tiny-GGUF`, or does not show it without a token.",
        ),
        ((401, {}), "", "`HUB` has no repository `Qwen/Tiny-GGUF`, or does not show it without a token."),
        ((401, {}), CANARY, "`HUB` refuses `Qwen/Tiny-GGUF` with the token in HF_TOKEN."),
        ((418, {}), "", "`HUB` answered with HTTP status 418."),
        ((503, {}), "", "`HUB` answered with HTTP status 503."),
        ((302, {}), "", "`HUB` redirects to an address without encryption. Nothing was downloaded."),
    ],
)
async def test_what_the_hub_refuses_is_said(
    tmp_path: Path, refusal: tuple[int, dict[str, str]], token: str, sentence: str
) -> None:
    async with ScriptedHub({NAME: CONTENT}, refusal=refusal) as hub:
        with pytest.raises(DownloadError) as error:
            await fetch(hub, tmp_path, None, {"HF_TOKEN": token})
        assert error.value.message == sentence.replace("HUB", f"127.0.0.1:{hub.port}")
        assert CANARY not in error.value.advice
    assert [name for name in visible(tmp_path) if not name.endswith(".part")] == []


@pytest.mark.parametrize(
    "target",
    ["http://example.com/x", "ftp://example.com/x", "http://10.0.0.1/x", "http://[", "file:///etc/passwd"],
)
async def test_redirects_lead_to_encrypted_addresses_only(tmp_path: Path, target: str) -> None:
    async with ScriptedHub({NAME: CONTENT}, redirect=target) as hub:
        with pytest.raises(DownloadError, match="without encryption"):
            await fetch(hub, tmp_path)


async def test_redirects_in_a_circle_end(tmp_path: Path) -> None:
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.redirect = f"{hub.url}/{REPOSITORY}/resolve/main/{NAME}"
        with pytest.raises(DownloadError, match="redirects in a circle"):
            await fetch(hub, tmp_path)


async def test_a_cancelled_download_keeps_what_came(tmp_path: Path) -> None:
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.contents.holding = asyncio.Event()
        seen: list[int] = []
        task = asyncio.ensure_future(fetch(hub, tmp_path, seen))
        while not seen or seen[-1] < len(CONTENT) // 2:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert visible(tmp_path) == [part_name(CONTENT)]
        hub.contents.holding.set()
        assert (await fetch(hub, tmp_path)).read_bytes() == CONTENT


async def test_two_at_once_are_one_download(tmp_path: Path) -> None:
    async with ScriptedHub({NAME: CONTENT}) as hub:
        hub.contents.holding = asyncio.Event()
        first = asyncio.ensure_future(fetch(hub, tmp_path))
        await hub.contents.at_the_middle.wait()
        with pytest.raises(DownloadError, match=f"Another ponder is downloading `{NAME}`."):
            await fetch(hub, tmp_path)
        hub.contents.holding.set()
        assert (await first).read_bytes() == CONTENT
        assert (await fetch(hub, tmp_path)).read_bytes() == CONTENT
        assert len(hub.contents.asked) == 1
    assert visible(tmp_path) == [NAME]


async def test_a_full_disk_is_said_and_what_came_is_kept(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with ScriptedHub({NAME: CONTENT}) as hub:
        resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
        try:
            with pytest.raises(DownloadError) as error:
                await fetch(hub, tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert error.value.message == f"`{NAME}` cannot be written: File too large."
        assert visible(tmp_path) == [part_name(CONTENT)]
        assert (tmp_path / part_name(CONTENT)).stat().st_size == 500_000
        assert (await fetch(hub, tmp_path)).read_bytes() == CONTENT
        assert hub.contents.asked[-1].headers["range"] == "bytes=500000-"


async def test_a_link_in_place_of_the_part_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / part_name(CONTENT)).symlink_to(victim)
    async with ScriptedHub({NAME: CONTENT}) as hub:
        with pytest.raises(DownloadError, match="cannot be written"):
            await fetch(hub, folder)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("endpoint", ["hf-mirror.com", "http://example.com", "ftp://x", "https://", "http://["])
def test_an_endpoint_that_is_none_is_said(endpoint: str) -> None:
    with pytest.raises(UsageError, match="HF_ENDPOINT is not an address with encryption"):
        Hub(Transport(environ={}), {"HF_ENDPOINT": endpoint})


def test_space_is_checked_before(tmp_path: Path) -> None:
    require_space(tmp_path / "not" / "there", 0)
    with pytest.raises(DownloadError) as error:
        require_space(tmp_path, shutil.disk_usage(tmp_path).free + 1)
    assert error.value.message.startswith("The disk has ")


def test_what_is_missing_of_a_file(tmp_path: Path) -> None:
    file = HubFile(path="a/b.gguf", size=10, sha256="f" * 64)
    (tmp_path / "a").mkdir()
    assert missing_bytes(tmp_path, file) == 10
    (tmp_path / f"a/b.gguf.{'f' * 12}.part").write_bytes(b"abc")
    assert missing_bytes(tmp_path, file) == 7
    (tmp_path / "a/b.gguf").write_bytes(b"0123456789")
    assert missing_bytes(tmp_path, file) == 0


async def listed(entries: object) -> tuple[str, ...]:
    async with ScriptedHub({}) as hub:
        hub._list = lambda: entries  # type: ignore[assignment,method-assign,return-value]
        transport = Transport(environ={})
        try:
            return tuple(file.path for file in await Hub(transport, {"HF_ENDPOINT": hub.url}).files(REPOSITORY))
        finally:
            await transport.aclose()


@pytest.mark.parametrize(
    "path",
    [
        "../x.gguf", "/etc/x.gguf", "a/../x.gguf", "a//x.gguf", "a\\x.gguf", "C:x.gguf", ".hidden.gguf", "a/.x.gguf",
        "x.gguf ", "x\n.gguf", "x\u202e.gguf", "x.safetensors", "", "x" * 300 + ".gguf", 7, None,
    ],
)  # fmt: skip
async def test_a_list_cannot_name_files_elsewhere(path: object) -> None:
    entry = {"type": "file", "path": path, "size": 3, "lfs": {"oid": "a" * 64, "size": 3}}
    assert await listed([entry, {**entry, "path": "fine.gguf"}, 3, None]) == ("fine.gguf",)


@pytest.mark.parametrize("entries", [{}, None, 3, "x", [[]]])
async def test_a_list_of_another_shape_is_empty(entries: object) -> None:
    assert await listed(entries) == ()


def files(*paths: str) -> tuple[HubFile, ...]:
    return tuple(HubFile(path=path, size=1, sha256="a" * 64) for path in paths)


@pytest.mark.parametrize(
    ("wanted", "there", "chosen"),
    [
        ("", ["a-Q2_K.gguf", "a-Q4_K_M.gguf", "a-Q8_0.gguf"], ["a-Q4_K_M.gguf"]),
        ("", ["a-Q8_0.gguf", "a-F16.gguf", "mmproj-F16.gguf"], ["a-Q8_0.gguf"]),
        ("", ["odd.gguf"], ["odd.gguf"]),
        ("", ["mtp-odd.gguf", "odd.gguf"], ["odd.gguf"]),
        ("MXFP4", ["eagle3-x-MXFP4.gguf", "x-MXFP4.gguf"], ["x-MXFP4.gguf"]),
        ("", ["a-UD-Q4_K_M.gguf", "a-UD-Q2_K_XL.gguf"], ["a-UD-Q4_K_M.gguf"]),
        ("Q4_K_M", ["a-Q4_K_M.gguf", "a-UD-Q4_K_M.gguf"], ["a-Q4_K_M.gguf"]),
        ("ud-q4_k_m", ["a-Q4_K_M.gguf", "a-UD-Q4_K_M.gguf"], ["a-UD-Q4_K_M.gguf"]),
        ("q8_0", ["a-Q4_K_M.gguf", "a-Q8_0.gguf"], ["a-Q8_0.gguf"]),
        ("Q8_0/a-Q8_0.gguf", ["Q8_0/a-Q8_0.gguf", "b.gguf"], ["Q8_0/a-Q8_0.gguf"]),
        ("a-Q8_0", ["Q8_0/a-Q8_0.gguf", "b.gguf"], ["Q8_0/a-Q8_0.gguf"]),
        ("MXFP4", ["gpt-oss-20b-mxfp4.gguf", "x-Q4_K_M.gguf"], ["gpt-oss-20b-mxfp4.gguf"]),
        (
            "Q8_0",
            ["Q8_0/a-Q8_0-00002-of-00002.gguf", "Q8_0/a-Q8_0-00001-of-00002.gguf"],
            ["Q8_0/a-Q8_0-00001-of-00002.gguf", "Q8_0/a-Q8_0-00002-of-00002.gguf"],
        ),
    ],
)
def test_which_file_of_a_repository(wanted: str, there: list[str], chosen: list[str]) -> None:
    found = chosen_files(HubName(repository="a/b", file=wanted), files(*there))
    assert [file.path for file in found] == chosen


@pytest.mark.parametrize(
    ("wanted", "there", "sentence"),
    [
        ("", [], "`a/b` has no GGUF file."),
        ("", ["mmproj-F16.gguf"], "`a/b` has no GGUF file."),
        ("", ["one.gguf", "two.gguf"], "`a/b` has several files."),
        ("Q4_0", ["one.gguf"], "`a/b` has no file `Q4_0`."),
        ("Q8_0", ["one-Q8_0.gguf", "two-Q8_0.gguf"], "`a/b` has several files `Q8_0`."),
    ],
)
def test_an_unclear_choice_is_left_to_the_user(wanted: str, there: list[str], sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        chosen_files(HubName(repository="a/b", file=wanted), files(*there))
    assert error.value.message == sentence


def test_the_part_that_sees() -> None:
    assert projector_for(files("a.gguf")) is None
    found = projector_for(files("mmproj-F32.gguf", "mmproj-BF16.gguf", "mmproj-F16.gguf"))
    assert found is not None
    assert found.path == "mmproj-F16.gguf"


@pytest.mark.parametrize("name", ["hf:", "hf:x", "hf:a/b/c", "hf:../b", "hf:a/..", "hf:a b/c", "hf:a/b?x=1"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(UsageError):
        parse_hub_name(name)


def test_names_of_repositories() -> None:
    assert parse_hub_name("hf:Qwen/Qwen3-0.6B-GGUF") == HubName(repository="Qwen/Qwen3-0.6B-GGUF")
    assert parse_hub_name("hf:a/b:Q8_0") == HubName(repository="a/b", file="Q8_0")
