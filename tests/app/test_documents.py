"""PDFs, folders and patterns as attachments: what is read, what each wire sends, and what is refused before."""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import prefork
from tests.app.screen_stage import screen
from tests.app.stage import House, config, house
from tests.patience import PATIENCE_S
from tests.ui.stage import type_in, until
from tui.app.attachments import MAX_DOCUMENT, MOST_SEEN, read_attachment, read_attachments
from tui.domain.blocks import Block, DocumentBlock, ImageBlock, TextBlock
from tui.domain.errors import UsageError
from tui.domain.messages import Message, Role, Turn
from tui.domain.request import Reason
from tui.domain.stream import Finish, Stop
from tui.domain.usage import Part
from tui.store.codec import block_from, block_object

PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R>>endobj\n4 0 obj<</Type /Page /Parent 2 0 R>>endobj\n"
    b"trailer<</Root 1 0 R>>\n%%EOF\n"
)
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DATA = base64.b64encode(PDF).decode()
REPORT = DocumentBlock(data=DATA, name="report.pdf", pages=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "report.pdf").write_bytes(PDF)
    return tmp_path


def test_a_pdf_is_read_with_its_pages(folder: Path) -> None:
    assert read_attachment(folder / "report.pdf") == REPORT
    (folder / "odd.PDF").write_bytes(b"\x00no pdf")
    with pytest.raises(UsageError, match=r"`odd.PDF` is not a PDF, although its name says so"):
        read_attachment(folder / "odd.PDF")
    with (folder / "large.pdf").open("wb") as file:
        file.truncate(MAX_DOCUMENT + 1)
    with pytest.raises(UsageError, match="too large to attach"):
        read_attachment(folder / "large.pdf")


SENT = {
    "anthropic/claude-opus-5-5": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": DATA},
        "title": "report.pdf",
    },
    "openai/gpt-6-sol": {
        "type": "input_file",
        "filename": "report.pdf",
        "file_data": f"data:application/pdf;base64,{DATA}",
    },
    "google/gemini-2.5-pro": {"inlineData": {"mimeType": "application/pdf", "data": DATA}},
    "openrouter/anthropic/claude-opus-5-5": {
        "type": "file",
        "file": {"filename": "report.pdf", "file_data": f"data:application/pdf;base64,{DATA}"},
    },
}


def _asked(*blocks: Block) -> tuple[Turn, ...]:
    prompt = Message(id="m1", role=Role.USER, blocks=(*blocks, TextBlock(text="Sum it up.")))
    answer = Message(
        id="m2", role=Role.ASSISTANT, blocks=(TextBlock(text="It is short."),), stop=Stop(finish=Finish.STOP)
    )
    return (Turn(id="t1", messages=(prompt, answer)),)


async def _first_parts(h: House) -> list[Any]:
    body: Any = (await h.services.chat.wire_preview("And now?"))["body"]
    first = next(row for row in body.get("messages") or body.get("input") or body["contents"] if row["role"] == "user")
    parts = first.get("content") or first["parts"]
    assert isinstance(parts, list)
    return parts


@pytest.mark.parametrize("model", SENT)
async def test_each_wire_has_its_own_form(tmp_path: Path, model: str) -> None:
    keys = {f"{name}_API_KEY": f"key-of-{name}-0123456789" for name in ("ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER")}
    async with house(tmp_path, model=model, environment=keys, stored=_asked(REPORT)) as h:
        h.services.drafts.refuse_documents([REPORT])
        parts = await _first_parts(h)
        sent = [{key: value for key, value in part.items() if key != "cache_control"} for part in parts]
        assert SENT[model] in sent
        assert (await h.meter()).parts[Part.USER] > 400


@pytest.mark.parametrize("model", ["ollama/qwen3", "deepseek/deepseek-v4-pro", "openai/gpt-3.5-turbo"])
async def test_a_model_without_pdf_gets_a_note_and_the_verdict_says_why(tmp_path: Path, model: str) -> None:
    async with house(tmp_path, model=model, stored=_asked(REPORT)) as h:
        with pytest.raises(UsageError, match=r"cannot read PDFs, so `report.pdf` was not attached"):
            h.services.drafts.refuse_documents([TextBlock(text="x"), REPORT])
        body = str((await h.services.chat.wire_preview("And now?"))["body"])
        preview = await h.services.chat.preview("")
    assert "[document report.pdf omitted: this model takes no PDF]" in body
    assert DATA not in body
    reasons = [verdict.reason for verdict in preview.request.outgoing.verdicts if verdict.kind == "document"]
    assert reasons == [Reason.UNSUPPORTED_INPUT]


def test_a_document_is_stored_and_read_again() -> None:
    assert block_from(block_object(REPORT)) == REPORT


async def test_the_screen_attaches_a_pdf_and_shows_one_line_for_it(folder: Path) -> None:
    async with screen(folder / "home", folder=folder, size=(120, 80)) as s:
        s.app.ui_services.attach("report.pdf")
        await until(s.pilot, lambda: "report.pdf" in s.app.chat.composer.text)
        await type_in(s.pilot, "read it")
        await s.pilot.press("enter")
        await s.until_it_says(f"▤ report.pdf · 2 pages · {len(PDF)} bytes")
        assert s.house.view().open_turn is not None or s.house.view().turns
        await until(s.pilot, lambda: len(s.house.view().turns) == 1)
        assert s.house.view().turns[0].messages[0].blocks == (REPORT, TextBlock(text="read it"))


async def test_the_screen_refuses_a_pdf_for_a_model_without_it(folder: Path) -> None:
    config(folder / "home", '[models."demo/fast"]\ninputs = ["text"]\n')
    async with screen(folder / "home", folder=folder) as s:
        s.app.ui_services.attach("report.pdf")
        await s.until_toast("fast cannot read PDFs, so report.pdf was not attached")
        assert s.app.chat.composer.text == ""


def test_a_run_without_a_screen_refuses_it_before_anything_is_sent(folder: Path) -> None:
    config(folder / "home", '[models."demo/fast"]\ninputs = ["text"]\n')
    words = [sys.executable, "-m", "tui", "-p", "Read it", "-m", "demo/fast", "--attach", str(folder / "report.pdf")]
    environment = prefork.surroundings(PONDER_HOME=str(folder / "home"))
    done = prefork.run(words, said=b"", env=environment, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"fast cannot read PDFs, so `report.pdf` was not attached" in done.stderr


def attached(folder: Path, name: str) -> tuple[tuple[str, Block], ...]:
    return read_attachments(folder, name, {}).blocks


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, content in {
        "src/a.py": b"a = 1\n",
        "src/inner/b.py": b"b = 2\n",
        "src/inner/c.txt": b"c\n",
        "src/picture.png": PIXEL,
        "src/program": b"\x7fELF\x00\x00",
        "src/.env": b"SECRET=1\n",
        "src/.editorconfig": b"root = true\n",
        "src/.git/config": b"[core]\n",
        "src/node_modules/x/d.py": b"d = 4\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("src", ["src/a.py", "src/inner/b.py", "src/inner/c.txt", "src/picture.png"]),
        ("src/inner/", ["src/inner/b.py", "src/inner/c.txt"]),
        ("src/*.py", ["src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/inner/b.py"]),
        ("src/inner/?.txt", ["src/inner/c.txt"]),
        ("src/.ed*", ["src/.editorconfig"]),
        ("src/a.py", ["a.py"]),
    ],
)
def test_folders_and_patterns_bring_their_files(tree: Path, name: str, files: list[str]) -> None:
    found = attached(tree, name)
    assert [shown for shown, _ in found] == files
    texts = [block.text for _, block in found if isinstance(block, TextBlock)]
    kept = [shown for shown in files if not shown.endswith(".png")]
    assert [text.partition("\n")[0] for text in texts] == [f'<file name="{shown}">' for shown in kept]
    assert [shown for shown, block in found if isinstance(block, ImageBlock)] == [
        x for x in files if x.endswith(".png")
    ]


UNASKED = {
    ".gitignore": "build/\n*.log\n",
    ".git/info/exclude": "mine.txt\n",
    "src/.gitignore": "local.py\n!kept.log\n",
    "src/a.py": "a = 1\n",
    "src/build/out.txt": "out\n",
    "src/credentials": "SECRET\n",
    "src/kept.log": "kept\n",
    "src/local.py": "SECRET\n",
    "src/mine.txt": "SECRET\n",
    "src/prod.env": "SECRET\n",
    "src/run.log": "log\n",
    "src/server.pem": "SECRET\n",
    "src/terraform.tfstate": "SECRET\n",
}
LEFT_OUT = (
    "src/credentials (may hold secrets), src/local.py (ignored by git), src/mine.txt (ignored by git), "
    "src/prod.env (may hold secrets), src/run.log (ignored by git), src/server.pem (may hold secrets)"
)


@pytest.fixture
def unasked(tmp_path: Path) -> Path:
    for name, content in UNASKED.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


@pytest.mark.parametrize(("name", "build"), [("src", "src/build/"), ("src/**/*", "src/build/out.txt")])
def test_secret_and_ignored_files_are_left_out_and_named(unasked: Path, name: str, build: str) -> None:
    found = read_attachments(unasked, name, {})
    assert [shown for shown, _ in found.blocks] == ["src/a.py", "src/kept.log"]
    assert found.left_out == (
        f"Left out: {build} (ignored by git), {LEFT_OUT}, src/terraform.tfstate (may hold secrets)."
    )


def test_the_repository_counts_above_the_working_folder_too(unasked: Path) -> None:
    assert [shown for shown, _ in attached(unasked / "src", ".")] == ["a.py", "kept.log"]


def test_ignore_files_count_without_a_repository(unasked: Path) -> None:
    (unasked / ".git").rename(unasked / "other")
    assert [shown for shown, _ in attached(unasked, "src")] == ["src/a.py", "src/kept.log", "src/mine.txt"]


def test_a_link_to_a_secret_is_a_secret(unasked: Path) -> None:
    (unasked / "src" / "notes.txt").symlink_to(unasked / "src" / "server.pem")
    found = read_attachments(unasked, "src/[an]*", {})
    assert found.left_out == "Left out: src/notes.txt (may hold secrets)."


@pytest.mark.parametrize("name", ["server.pem", "local.py", "run.log", "build/out.txt"])
def test_what_is_named_itself_is_attached(unasked: Path, name: str) -> None:
    found = read_attachments(unasked, f"src/{name}", {})
    assert ([shown for shown, _ in found.blocks], found.left_out) == ([Path(name).name], "")


def test_a_pattern_for_secrets_only_says_why_it_brings_nothing(unasked: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_attachments(unasked, "src/*.pem", {})
    assert caught.value.message == "`src/*.pem` has no file that can be attached."
    assert caught.value.advice == "Left out: src/server.pem (may hold secrets). Name a file itself to attach it."


def test_a_long_list_of_files_left_out_is_counted(unasked: Path) -> None:
    for number in range(20):
        (unasked / "src" / f"{number:02}.pem").write_text("SECRET\n")
    left_out = read_attachments(unasked, "src", {}).left_out
    assert left_out.startswith("Left out: src/00.pem (may hold secrets), ")
    assert left_out.endswith("src/07.pem (may hold secrets) and 20 more.")


async def test_the_screen_says_what_a_folder_left_out(unasked: Path) -> None:
    async with screen(unasked / "home", folder=unasked) as s:
        s.app.ui_services.attach("src/*.p*")
        await s.until_toast("Left out: src/local.py (ignored by git), src/server.pem (may hold secrets).")
        assert "src/a.py" in s.app.chat.composer.text


def test_a_run_without_a_screen_says_what_a_folder_left_out(unasked: Path) -> None:
    words = [sys.executable, "-m", "tui", "-p", "Read it", "-m", "demo/fast", "--attach", "src/*.p*"]
    environment = prefork.surroundings(PONDER_HOME=str(unasked / "home"))
    done = prefork.run(words, said=b"", env=environment, cwd=unasked, timeout=PATIENCE_S)
    said = b"ponder: Left out: src/local.py (ignored by git), src/server.pem (may hold secrets).\n"
    assert (done.returncode, done.stderr.splitlines(keepends=True)[:1]) == (0, [said])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("src/*.rs", "`src/*.rs` has no file that can be attached."),
        ("src/node_modules/x/*.md", "has no file that can be attached"),
        ("nowhere", "`nowhere` is not a file."),
    ],
)
def test_nothing_found_is_told(tree: Path, name: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        attached(tree, name)
    assert said in caught.value.message


def test_too_much_is_refused(tree: Path) -> None:
    for number in range(60):
        (tree / "src" / f"{number}.py").write_text("x\n")
    with pytest.raises(UsageError, match=r"has too much to attach"):
        attached(tree, "src")


def test_a_file_whose_name_is_a_pattern_is_that_file(tree: Path) -> None:
    (tree / "what[1].txt").write_text("yes")
    assert [name for name, _ in attached(tree, "what[1].txt")] == ["what[1].txt"]


async def test_a_pattern_becomes_chips(tree: Path) -> None:
    async with screen(tree / "home", folder=tree) as s:
        s.app.ui_services.attach("src/**/*.py")
        await until(s.pilot, lambda: "b.py" in s.app.chat.composer.text)
        assert "src/a.py" in s.app.chat.composer.text


def test_a_folder_of_many_files_is_refused_before_they_are_read(tmp_path: Path) -> None:
    for number in range(MOST_SEEN + 1):
        (tmp_path / f"{number}.bin").write_bytes(b"\0")
    with pytest.raises(UsageError, match="has too much to attach"):
        attached(tmp_path, ".")


@pytest.mark.parametrize("named", ["src", "src/*", "**/*.txt"])
def test_links_that_lead_out_of_a_folder_are_left_out(tmp_path: Path, named: str) -> None:
    """They were made by whoever made the folder, and the user did not name them."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    (project / "src" / "code.txt").write_text("code", "utf-8")
    (project / "src" / "out.txt").symlink_to(tmp_path / "secret.txt")
    (project / "src" / "loop.txt").symlink_to("loop.txt")
    assert [name for name, _ in attached(project, named)] == ["src/code.txt"]
    assert attached(project, "src/out.txt")[0][0] == "out.txt"


def test_a_folder_whose_name_looks_like_a_pattern_is_that_folder(tmp_path: Path) -> None:
    for name, text in (("[id]", "right"), ("i", "wrong")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "page.txt").write_text(text, "utf-8")
    right = TextBlock(text='<file name="page.txt">\nright\n</file>')
    assert attached(tmp_path / "[id]", "*.txt") == (("page.txt", right),)
    [(name, block)] = attached(tmp_path, "[id]/*.txt")
    assert (name, block) == ("[id]/page.txt", TextBlock(text='<file name="[id]/page.txt">\nright\n</file>'))


def test_quotes_and_blanks_in_names_are_part_of_them(tmp_path: Path) -> None:
    for name in ("it", "it'", "it "):
        (tmp_path / name).write_text(f"({name})", "utf-8")
    texts = [block.text for _, block in attached(tmp_path, ".") if isinstance(block, TextBlock)]
    assert [text.splitlines()[1] for text in texts] == ["(it)", "(it )", "(it')"]
    assert attached(tmp_path, "it'")[0][0] == "it'"
    assert attached(tmp_path, "'it'")[0][0] == "it"


@pytest.mark.parametrize(
    ("name", "said"),
    [  # the second words are those of newer Pythons, which take such a pattern and know that there is no such file
        ("src/**b", "is not a pattern|has no file"),
        ("a" * 5000, "cannot be read|is not a file"),
    ],
)
def test_a_name_that_cannot_be_is_told(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "src").mkdir()
    with pytest.raises(UsageError, match=said):
        attached(tmp_path, name)
