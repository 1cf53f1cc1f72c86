"""What a rule denies or asks about stays closed by every tool and every name that leads to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench, outcome, words
from tui.tools.permissions.rules import Access, RequestedAccess, RuleEffect, read_rule

SHOWN = "ok.txt:1: needle in ok"


def _bench(tmp_path: Path, **lists: list[str]) -> Bench:
    bench = open_bench(tmp_path, permissions=lists)
    bench.write("ok.txt", "needle in ok\n")
    bench.write("secrets/a.txt", "needle in a\n")
    bench.write("secrets/deep/b.txt", "needle in b\n")
    return bench


@pytest.mark.one_in(5)
@pytest.mark.parametrize("effect", ["ask", "deny"])
@pytest.mark.parametrize(
    "rule", ["read(secrets/**)", "read(secrets/)", "read(secrets)", "*(./secrets/)", "grep(secrets)"]
)
async def test_a_search_of_the_folder_above_shows_nothing_of_it(tmp_path: Path, effect: str, rule: str) -> None:
    bench = _bench(tmp_path, **{effect: [rule]})
    assert outcome(await bench.call("grep", pattern="needle")) == (True, SHOWN)
    assert bench.user.asked == []
    assert not (await bench.call("grep", pattern="needle", path="ok.txt")).failed
    assert (await bench.call("grep", pattern="needle", path="secrets")).failed
    if not rule.startswith("grep"):
        assert words(await bench.call("glob", pattern="**/*.txt")) == "ok.txt"


async def test_matches_that_are_not_shown_do_not_end_a_search(tmp_path: Path) -> None:
    bench = _bench(tmp_path, deny=["read(secrets)"])
    bench.write("secrets/many.txt", "needle\n" * 50)
    bench.write("z.txt", "needle in z\n")
    result = words(await bench.call("grep", pattern="needle", max_matches=5))
    assert sorted(result.splitlines()) == [SHOWN, "z.txt:1: needle in z"]


async def test_a_folder_that_asks_is_searched_once_it_was_agreed_to(tmp_path: Path) -> None:
    bench = _bench(tmp_path, ask=["read(secrets/**)"], deny=["read(secrets/deep/**)"])
    result = await bench.call("grep", "once", pattern="needle", path="secrets")
    assert outcome(result) == (True, "secrets/a.txt:1: needle in a")
    assert len(bench.user.asked) == 1
    assert words(await bench.call("glob", "once", pattern="**", path="secrets")) == "a.txt"


async def test_a_more_specific_rule_still_opens_what_it_names(tmp_path: Path) -> None:
    bench = _bench(tmp_path, deny=["read(secrets)"], allow=["read(secrets/deep/**)"])
    assert (await bench.call("read_file", path="secrets/a.txt")).failed
    assert not (await bench.call("read_file", path="secrets/deep/b.txt")).failed
    assert words(await bench.call("grep", pattern="needle")).splitlines() == [
        SHOWN,
        "secrets/deep/b.txt:1: needle in b",
    ]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "rule", ["read(data/**)", "read(data)", "read(data/*.txt)", "read({ws}/data/*)", "read(~/link/*)"]
)
async def test_a_rule_about_a_path_through_a_link_is_about_where_it_leads(tmp_path: Path, rule: str) -> None:
    (tmp_path / "ws" / "store").mkdir(parents=True)
    (tmp_path / "ws" / "data").symlink_to("store")
    (tmp_path / "person").mkdir()
    (tmp_path / "person" / "link").symlink_to(tmp_path / "ws" / "store")
    bench = open_bench(tmp_path, permissions={"deny": [rule.replace("{ws}", str(tmp_path / "ws"))]})
    bench.write("store/x.txt", "needle\n")
    for path in ("data/x.txt", "store/x.txt"):
        assert words(await bench.call("read_file", path=path)).startswith("Denied by the user's rule")
    assert words(await bench.call("grep", pattern="needle")) == "No line matches."


async def test_a_rule_that_allows_is_not_widened_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "out").symlink_to(tmp_path / "elsewhere")
    bench = open_bench(tmp_path, permissions={"allow": ["write(out/**)"]})
    assert (await bench.call("write_file", path="out/x", content="x")).failed
    assert len(bench.user.asked) == 1


async def test_a_folder_named_without_slash_is_denied_with_all_in_it(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, permissions={"allow": ["write(**)"], "deny": ["write(src)", "write(a[*]b)"]})
    for path in ("src", "src/x", "src/deep/x", "a*b/x"):
        assert words(await bench.call("write_file", path=path, content="x")).startswith("Denied")
    for path in ("src2", "lib/src/x", "aXb/x"):
        assert not (await bench.call("write_file", path=path, content="x")).failed


async def test_in_a_denied_folder_a_rule_opens_the_one_file_that_it_names(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, permissions={"allow": ["write(src/x)"], "deny": ["write(src)"]})
    assert not (await bench.call("write_file", path="src/x", content="x")).failed
    assert (await bench.call("write_file", path="src/y", content="x")).failed


async def test_a_subject_with_a_wildcard_reads_its_path_like_any_other(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, permissions={"allow": ["read(~/notes/)"], "deny": ["*_file(~/notes/private/)"]})
    private = tmp_path / "person" / "notes" / "private"
    private.mkdir(parents=True)
    (private / "x").write_text("x")
    assert words(await bench.call("read_file", path="~/notes/private/x")).startswith("Denied")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("mcp_time", "tools of MCP servers are called `mcp_SERVER__TOOL`, with two underscores between the names"),
        ("fetch_url(bücher.example)", "hosts are compared in their ASCII form, such as `xn--bcher-kva.example`"),
        ("fetch_url(example.com:8080)", "the pattern is a host without port, brackets and final dot"),
        ("network([::1])", "the pattern is a host without port, brackets and final dot"),
        ("fetch_url(example.com.)", "the pattern is a host without port, brackets and final dot"),
        ("*_file(../x)", "paths are compared without `..`"),
    ],
)
async def test_a_denial_that_can_never_match_is_told_and_everything_asks(tmp_path: Path, rule: str, why: str) -> None:
    bench = open_bench(tmp_path, permissions={"deny": [rule], "allow": ["write(**)"]})
    assert [problem.message for problem in bench.toolbox.problems] == [f"The rule `{rule}` can never match: {why}."]
    await bench.call("write_file", path="x", content="x")
    assert len(bench.user.asked) == 1


@pytest.mark.parametrize("rule", ["mcp_time__*", "mcp_*", "mcp_time__get", "fetch_url(::1)", "network(*.python.org)"])
async def test_denials_that_can_match_are_not_told(tmp_path: Path, rule: str) -> None:
    assert open_bench(tmp_path, permissions={"deny": [rule]}).toolbox.problems == []


def test_dots_in_a_path_do_not_make_the_home_folder_a_narrow_place() -> None:
    with pytest.raises(Exception, match="never allowed permanently"):
        read_rule(RuleEffect.ALLOW, "write(/./home/person/**)", home="/home/person")


def test_a_requested_path_is_compared_as_a_whole() -> None:
    rule = read_rule(RuleEffect.DENY, "read(x)", home="/home/person")
    requested = RequestedAccess(tool="read_file", access=Access.READ, target="/ws/prefix-x", inside=True)
    assert not rule.names_exactly(requested)
