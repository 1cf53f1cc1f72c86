"""Prompt templates: how they are read, filled in and sent, and what those of a project cannot do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.app.screen_stage import screen
from tests.app.stage import FAST, config
from tests.ui.stage import type_in, until
from tui.app.prompt_templates import (
    PromptTemplate,
    PromptTemplates,
    commands_in,
    filled_in,
    read_templates,
    template_blocks,
)
from tui.commands.builtin import registry
from tui.domain.blocks import TextBlock
from tui.domain.errors import UsageError
from tui.ui.dialogs.approval import Approval

REVIEW = """---
description: "Review a file"
argument-hint: FILE [FOCUS]
model: demo/chat
level: high
allowed-tools: shell
---
Review $1 with regard to $2. All of it: $ARGUMENTS
"""


def _write(folder: Path, **texts: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, "utf-8")
    return folder


def _read(own: Path, project: Path | None = None) -> PromptTemplates:
    return read_templates(own, project, registry().slash_words)


def test_the_head_and_the_blanks(tmp_path: Path) -> None:
    found = _read(_write(tmp_path / "prompts", review=REVIEW, explain="# Explain\nExplain this simply."))
    review, explain = found.by_name["review"], found.by_name["explain"]
    assert (review.description, review.usage, review.spec) == ("Review a file", "FILE [FOCUS]", "demo/chat/high")
    assert filled_in(review, "'a b.py' speed") == "Review a b.py with regard to speed. All of it: 'a b.py' speed"
    assert filled_in(review, "a.py") == "Review a.py with regard to . All of it: a.py"
    assert filled_in(review, "it's") == "Review it's with regard to . All of it: it's"
    assert (explain.description, explain.usage) == ("Explain", "TEXT")
    assert filled_in(explain, "monads") == "# Explain\nExplain this simply.\n\nmonads"
    assert filled_in(explain, " ") == "# Explain\nExplain this simply."
    assert found.problems == []


@pytest.mark.parametrize(
    ("text", "arguments", "made"),
    [
        ("costs $100 or $1", "a", "costs $100 or a"),
        ("$1x $ARGUMENTSX $0", "a", "$1x $ARGUMENTSX $0\n\na"),
        ("$1", "$2 $ARGUMENTS", "$2"),
        ("$ARGUMENTS", "$1", "$1"),
        ("---\nnot: a head", "", "---\nnot: a head"),
    ],
)
def test_only_blanks_are_filled_and_arguments_are_not_read_again(text: str, arguments: str, made: str) -> None:
    assert filled_in(PromptTemplate(name="x", text=text), arguments) == made


def test_names_of_commands_cannot_be_taken_and_projects_replace_nothing(tmp_path: Path) -> None:
    own = _write(tmp_path / "prompts", help="mine", Review="mine")
    (own / "no name.md").write_text("x")
    project = tmp_path / "project"
    _write(project / ".ponder" / "prompts", quit="theirs", review="theirs", extra="theirs", trust="theirs")
    found = _read(own, project)
    assert {name: (row.text, row.project) for name, row in found.by_name.items()} == {
        "review": ("mine", None),
        "extra": ("theirs", project),
    }
    assert found.problems == [
        "The prompt `help.md` is not used: `/help` is a command of ponder.",
        "The prompt `no name.md` is not used: its name needs letters, digits, `-` and `_`.",
        "The prompt `quit.md` of the project is not used: `/quit` is a command of ponder.",
        "The prompt `review.md` of the project is not used: there is another `/review`.",
        "The prompt `trust.md` of the project is not used: `/trust` is a command of ponder.",
    ]


def test_every_builtin_wins(tmp_path: Path) -> None:
    words = registry().slash_words
    folder = _write(tmp_path / "prompts", **dict.fromkeys(words, "theirs"))
    found = _read(folder)
    assert (found.by_name, len(found.problems)) == ({}, len(words))


def test_files_are_attached_by_the_template_and_not_by_its_arguments(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("remember", "utf-8")
    (tmp_path / "other.txt").write_text("secret", "utf-8")
    template = PromptTemplate(name="x", text="Use @notes.txt, mail me@notes.txt and @missing.txt: $ARGUMENTS")
    assert template_blocks(template, "@other.txt", tmp_path) == (
        TextBlock(text='<file name="notes.txt">\nremember\n</file>'),
        TextBlock(text="Use @notes.txt, mail me@notes.txt and @missing.txt: @other.txt"),
    )


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "link.txt", "inside/../../secret.txt"])
def test_a_template_of_a_project_attaches_nothing_from_outside_it(tmp_path: Path, name: str) -> None:
    project = tmp_path / "project"
    (project / "inside").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    (project / "link.txt").symlink_to(tmp_path / "secret.txt")
    (project / "fine.txt").write_text("fine", "utf-8")
    assert len(template_blocks(PromptTemplate(name="x", text="@fine.txt", project=project), "", project)) == 2
    with pytest.raises(UsageError, match="which is not in the project"):
        template_blocks(PromptTemplate(name="x", text=f"Look at @{name}", project=project), "", project)


@pytest.mark.parametrize("name", [".env", "deploy/id_rsa", "harmless.txt", ".ENV"])
def test_a_template_of_a_project_attaches_no_secrets_of_the_user(tmp_path: Path, name: str) -> None:
    (tmp_path / "deploy").mkdir()
    for secret in {name, ".env"} - {"harmless.txt"}:
        (tmp_path / secret).write_text("TOKEN=abc", "utf-8")
    (tmp_path / "harmless.txt").symlink_to(".env")
    project = PromptTemplate(name="x", text=f"Look at @{name}", project=tmp_path)
    with pytest.raises(UsageError, match=f"names `{re.escape(name)}`, which may hold secrets"):
        template_blocks(project, "", tmp_path)
    own = PromptTemplate(name="x", text=f"Look at @{name}")
    assert "TOKEN" in str(template_blocks(own, "", tmp_path)[0])


def test_a_template_of_a_project_that_is_a_link_to_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    project = tmp_path / "project"
    folder = _write(project / ".ponder" / "prompts")
    (folder / "leak.md").symlink_to(tmp_path / "secret.txt")
    found = _read(tmp_path / "prompts", project)
    assert (found.by_name, found.problems) == (
        {},
        ["The prompt `leak.md` of the project cannot be read: it leads out of the project."],
    )


def test_a_template_of_a_project_that_is_a_link_to_secrets_is_not_read(tmp_path: Path) -> None:
    project = tmp_path / "project"
    folder = _write(project / ".ponder" / "prompts")
    (project / ".env").write_text("TOKEN=abc", "utf-8")
    (folder / "leak.md").symlink_to(project / ".env")
    found = _read(tmp_path / "prompts", project)
    assert (found.by_name, found.problems) == (
        {},
        ["The prompt `leak.md` of the project cannot be read: it leads to a file that may hold secrets."],
    )


def test_the_file_that_was_checked_is_the_one_that_is_attached(tmp_path: Path) -> None:
    """A repository can hold a file whose name differs by a quote from a link to elsewhere."""
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes").symlink_to(tmp_path / "secret.txt")
    (project / "notes'").write_text("harmless", "utf-8")
    (project / "named").symlink_to("notes'")
    file, _ = template_blocks(PromptTemplate(name="x", text="Look at @named", project=project), "", project)
    assert file == TextBlock(text='<file name="notes\'">\nharmless\n</file>')


def test_a_template_of_a_project_that_leads_to_itself_is_told(tmp_path: Path) -> None:
    folder = _write(tmp_path / "project" / ".ponder" / "prompts", fine="Fine.")
    (folder / "loop.md").symlink_to("loop.md")
    found = _read(tmp_path / "prompts", tmp_path / "project")
    assert (list(found.by_name), len(found.problems)) == (["fine"], 1)
    assert found.problems[0].startswith("The prompt `loop.md` of the project cannot be read:")


async def test_a_template_is_a_command_of_the_running_program(tmp_path: Path) -> None:
    _write(tmp_path / "config" / "prompts", review=REVIEW.replace("demo/chat", "demo/fast"), shout="Shout: $ARGUMENTS!")
    async with screen(tmp_path) as s:
        await s.enter("/shout hello")
        await s.until_it_says("Shout: hello!")
        await until(s.pilot, lambda: len(s.house.view().turns) == 1)
        assert s.house.view().turns[0].messages[0].blocks == (TextBlock(text="Shout: hello!"),)
        await s.enter("/review a.py speed")
        await until(s.pilot, lambda: len(s.house.view().turns) == 2)
        text = "Review a.py with regard to speed. All of it: a.py speed"
        assert s.house.view().turns[1].messages[0].blocks == (TextBlock(text=text),)
        assert str(s.house.current.spec) == "demo/fast/high"
        _write(tmp_path / "config" / "prompts", later="Later.")
        await s.enter("/prompts")
        await s.until_it_says("/later Later.")
        await s.pilot.press("escape")
        await s.enter("/later")
        await until(s.pilot, lambda: len(s.house.view().turns) == 3)


@pytest.mark.long
async def test_prompts_of_a_project_come_with_trust_and_go_with_it(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    _write(root / ".ponder" / "prompts", deploy="---\nmodel: demo/chat\nlevel: high\n---\nSay how to deploy.")
    async with screen(tmp_path / "home", folder=root) as s:
        assert s.app.registry.by_slash("deploy") is None
        await s.enter("/trust")
        await s.until_toast("is trusted")
        await s.enter("/deploy")
        await until(s.pilot, lambda: len(s.house.view().turns) == 1)
        assert str(s.house.current.spec) == FAST  # it cannot send the conversation to another model
        await s.enter("/trust off")
        await s.until_toast("is not trusted any more")
        assert s.app.registry.by_slash("deploy") is None


def test_a_folder_named_like_the_home_folder_leads_to_no_file_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    for folder, words in ((home, "the key"), (project / "~", "bait")):
        (folder / ".ssh").mkdir(parents=True)
        (folder / ".ssh" / "id_rsa").write_text(words, "utf-8")
    monkeypatch.setenv("HOME", str(home))
    template = PromptTemplate(name="x", text="Look at @~/.ssh/id_rsa", project=project)
    with pytest.raises(UsageError, match="may hold secrets"):
        template_blocks(template, "", project)
    own = PromptTemplate(name="x", text="Look at @~/.ssh/id_rsa")
    assert template_blocks(own, "", project)[0] == TextBlock(text='<file name="id_rsa">\nthe key\n</file>')


@pytest.mark.parametrize(
    ("text", "arguments", "commands"),
    [
        ("Explain:\n!git log -1", "", ("git log -1",)),
        ("On !`git branch` now, !`date`.", "", ("git branch", "date")),
        ("!git show $1", "HEAD", ("git show HEAD",)),
        ("!git show $1", "'a; touch made'", ("git show 'a; touch made'",)),
        ("!git show $1", "$(touch made)", ("git show '$(touch'",)),
        ("!ls $ARGUMENTS", "a 'b c' `x`", ("ls a 'b c' '`x`'",)),
        ("!ls $2", "a", ("ls ''",)),
        ("!awk '{print $1}' f", "x", ("awk '{print $1}' f",)),
        ('!ls \\"$1', "a b", ('ls \\"a',)),
        ("!ls \\$1 $$1 \\\\$1", "'a; id'", ("ls \\$1 $$1 \\\\'a; id'",)),
        ("!ls $(ls $1) `ls $1` '\\' $1", "'a; id'", ("ls $(ls 'a; id') `ls 'a; id'` '\\' 'a; id'",)),
        ("!ls\n!ls", "", ("ls",)),
        ("```\n!ls\n!`ls`\n```", "", ()),
        ("![a](b) and !!ls and ! ls and x!`ls`", "", ()),
    ],
)
def test_commands_in_a_template(text: str, arguments: str, commands: tuple[str, ...]) -> None:
    template = PromptTemplate(name="x", text=text)
    assert commands_in(template, arguments) == commands
    assert template.has_commands == bool(commands)


@pytest.mark.parametrize(
    "text",
    ['!ls "$1"', '!ls "a $ARGUMENTS b"', '!ls "$(ls "$1")"', '!ls "$(ls $1)"', '!ls `ls "$1"`', "!ls $'a\\'$1'"],
)
def test_an_argument_between_double_quotes_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is in quotes"):
        commands_in(PromptTemplate(name="x", text=text), "$(touch made)")


@pytest.mark.parametrize(
    "text", ["!echo $(( $1 ))", "!((x = $1))", "!echo $[$1]", "!echo ${HOME:$1}", "!ls $((1+(2)*$1))"]
)
def test_an_argument_that_a_shell_would_evaluate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="where a shell evaluates it"):
        commands_in(PromptTemplate(name="x", text=text), "a[$(touch made)]")


def test_a_template_has_few_commands() -> None:
    with pytest.raises(UsageError, match="21 commands"):
        commands_in(PromptTemplate(name="x", text="\n".join(f"!echo {n}" for n in range(21))), "")


def test_the_output_takes_the_place_of_the_command_and_is_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("remember", "utf-8")
    template = PromptTemplate(name="x", text="See:\n!show $1\nNow !`date` and $1.")
    outputs = {"show a": "@notes $1 !`rm`\n```", "date": "\x1b[1mtoday\x1b[0m\n"}
    assert template_blocks(template, "a", tmp_path, outputs) == (
        TextBlock(text="See:\n````console\n$ show a\n@notes $1 !`rm`\n```\n````\nNow today and a."),
    )


async def test_commands_of_a_template_are_run_by_the_rules(tmp_path: Path) -> None:
    config(tmp_path, "[permissions]\nallow = ['shell(=printf on) full']\ndeny = ['shell(touch)']\n")
    _write(tmp_path / "config" / "prompts", fine="It is !`printf on`.", never="!printf on\n!touch made $1")
    async with screen(tmp_path, tools=True) as s:
        await s.enter("/fine")
        await until(s.pilot, lambda: len(s.house.view().turns) == 1)
        assert s.house.view().turns[0].user_blocks == (TextBlock(text="It is on."),)
        await type_in(s.pilot, "/never 'a b'")  # it is back in the composer as soon as it was refused
        await s.pilot.press("enter")
        await s.until_toast("Denied by the user's rule shell(touch)")
        await s.until_toast("/never was not sent.")
        await until(s.pilot, lambda: s.app.chat.composer.text == "/never 'a b'")
        assert len(s.house.view().turns) == 1
    assert not (tmp_path / "made").exists()


async def test_a_command_of_a_project_asks_whatever_is_allowed(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    config(tmp_path / "home", "[permissions]\nallow = ['shell(=touch made) full']\n")
    _write(root / ".ponder" / "prompts", look="!touch made")
    async with screen(tmp_path / "home", folder=root, tools=True) as s:
        await s.enter("/trust")
        await s.until_toast("is trusted")
        await s.enter("/look")
        await until(s.pilot, lambda: isinstance(s.app.screen, Approval))
        await s.until_it_says("touch made")
        await until(s.pilot, lambda: not s.app.screen._is_quiet())  # type: ignore[attr-defined]
        await s.pilot.press("escape", "escape")
        await s.until_toast("/look was not sent.")
        assert s.house.view().turns == ()
    assert not (root / "made").exists()
