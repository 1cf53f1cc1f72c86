"""The rules engine: who wins, what guards and taint do, and that nothing is allowed by nobody."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.domain.errors import ConfigError
from tui.tools.permissions.rules import (
    DEFAULTS,
    Access,
    GuardedKind,
    RequestedAccess,
    Rule,
    RuleBook,
    RuleEffect,
    Strength,
    read_rule,
)

FOLDER, HOME = "/u/ann/ws", "/u/ann"
ALLOW, ASK, DENY = RuleEffect.ALLOW, RuleEffect.ASK, RuleEffect.DENY


def _book(**rules: list[str]) -> RuleBook:
    made = [read_rule(RuleEffect(effect), text, home=HOME) for effect, texts in rules.items() for text in texts]
    return RuleBook(FOLDER, tuple(made), enforceable=_both)


def _both() -> frozenset[Strength]:
    return frozenset({Strength.READ_ONLY, Strength.WRITES_FOLDER})


def _shell(command: str) -> RequestedAccess:
    return RequestedAccess(tool="shell", access=Access.SHELL, target=command)


def _path(access: Access, path: str, guard: GuardedKind = GuardedKind.NONE) -> RequestedAccess:
    tool = "edit_file" if access is Access.WRITE else "read_file"
    whole = path if path.startswith("/") else f"{FOLDER}/{path}"
    return RequestedAccess(tool=tool, access=access, target=whole, inside=whole.startswith(FOLDER + "/"), guard=guard)


READ, WRITE = Access.READ, Access.WRITE
HOST = RequestedAccess(tool="fetch_url", access=Access.NETWORK, target="docs.example.org")
CLOCK = RequestedAccess(tool="mcp_time__now", access=Access.MCP, target="0123456789abcdef")


@pytest.mark.parametrize(
    ("requested", "effect"),
    [
        (_path(READ, "src/a.py"), ALLOW),
        (_path(READ, "/etc/hosts"), ASK),
        (_path(READ, "/u/ann/ws-evil/a"), ASK),
        (_path(READ, ".env", GuardedKind.SECRET), ASK),
        (_path(WRITE, "src/a.py"), ASK),
        (_shell("ls"), ASK),
        (HOST, ASK),
        (CLOCK, ASK),
    ],
)
def test_without_rules_only_reading_the_working_folder_is_allowed(
    requested: RequestedAccess, effect: RuleEffect
) -> None:
    assert RuleBook(FOLDER).decide(requested).effect is effect


@pytest.mark.parametrize(
    ("book", "requested", "effect"),
    [
        (_book(allow=["write(src/**)"], deny=["write"]), _path(WRITE, "src/a.py"), ALLOW),
        (_book(allow=["write(src/**)"], deny=["write(src/gen/**)"]), _path(WRITE, "src/gen/a.py"), DENY),
        (_book(allow=["write(src/a.py)"], deny=["write(src/**)"]), _path(WRITE, "src/a.py"), ALLOW),
        (_book(allow=["write(src/**)"], deny=["write(src/**)"]), _path(WRITE, "src/a.py"), DENY),
        (_book(allow=["write(src/**)"], ask=["write(src/**)"]), _path(WRITE, "src/a.py"), ASK),
        (_book(allow=["edit_file(src/**)"], deny=["write(src/**)"]), _path(WRITE, "src/a.py"), ALLOW),
        (_book(deny=["read"]), _path(READ, "a.py"), DENY),
        (_book(deny=["*"]), HOST, DENY),
        (_book(allow=["write"]), _path(WRITE, "/u/ann/other/a"), ASK),
        (_book(deny=["write"]), _path(WRITE, "/u/ann/other/a"), DENY),
        (_book(allow=["read(~/notes/)"]), _path(READ, "/u/ann/notes/x/y"), ALLOW),
        (_book(allow=["shell(git status)"]), _shell("git status -s"), ALLOW),
        (_book(allow=["shell(git *)"]), _shell("git push"), ALLOW),
        (_book(allow=["shell(git)"], deny=["shell(git push)"]), _shell("git push -f"), DENY),
        (_book(allow=["shell(git push)"], deny=["shell(git)"]), _shell("git push"), ALLOW),
        (_book(allow=["fetch_url(*.example.org)"]), HOST, ALLOW),
        (_book(allow=["network(example.org)"]), HOST, ASK),
        (_book(allow=["mcp_time__*"]), CLOCK, ALLOW),
        (_book(allow=["mcp_time__now(0123456789abcdef)"]), CLOCK, ALLOW),
        (_book(allow=["mcp_time__now(fedcba9876543210)"]), CLOCK, ASK),
    ],
)
def test_the_most_specific_rule_wins_and_deny_beats_ask_beats_allow(
    book: RuleBook, requested: RequestedAccess, effect: RuleEffect
) -> None:
    assert book.decide(requested).effect is effect


@pytest.mark.parametrize(
    "command",
    [
        "git status; rm -rf .",
        "git status && rm -rf .",
        "git status | sh",
        "git status & rm x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status > .bashrc",
        "git status < x",
        "git status\nrm x",
        "git status \\\nx",
        "git 'status",
        "GIT_PAGER=x git status",
        "gitx status",
        "git statusx",
        "/tmp/git status",
        "git -c core.pager=x status",
        "(git status)",
    ],
)
def test_a_prefix_never_speaks_for_a_command_that_does_more(command: str) -> None:
    assert _book(allow=["shell(git status)"]).decide(_shell(command)).effect is ASK


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf .",
        "cd x && rm y",
        "/bin/rm x",
        "sudo rm x",
        "echo $(rm x)",
        "'rm' x",
        "r\\m x",
        'r"m" x',
        "x|rm",
        "x\nrm y",
    ],
)
def test_a_command_that_is_denied_is_denied_however_it_is_wrapped(command: str) -> None:
    assert _book(allow=["shell"], deny=["shell(rm)"]).decide(_shell(command)).effect is DENY


def test_a_whole_command_can_be_allowed_as_it_stands_and_only_so() -> None:
    book = _book(allow=["shell(=make && ./run)"])
    commands = ("make && ./run", "make && ./run x", "make")
    assert [book.decide(_shell(one)).effect for one in commands] == [ALLOW, ASK, ASK]


def test_guarded_places_ask_whatever_the_rules_say_and_denials_stay() -> None:
    allowing, denying = _book(allow=["write", "write(.git/**)", "write(.git/config)"]), _book(deny=["write"])
    requested = _path(WRITE, ".git/config", GuardedKind.ALWAYS_ASKS)
    assert (allowing.decide(requested).effect, denying.decide(requested).effect) == (ASK, DENY)


def test_a_secret_opens_only_by_its_own_name() -> None:
    requested = _path(READ, ".env", GuardedKind.SECRET)
    books = (_book(allow=["read"]), _book(allow=["read(**)"]), _book(allow=["read(.env)"]))
    assert [book.decide(requested).effect for book in books] == [ASK, ASK, ALLOW]


@pytest.mark.parametrize(
    ("requested", "effect"),
    [(_path(READ, "a"), ALLOW), (_path(WRITE, "a"), ASK), (_shell("ls"), ASK), (HOST, ASK), (CLOCK, ASK)],
)
def test_after_words_of_others_everything_but_reading_asks(requested: RequestedAccess, effect: RuleEffect) -> None:
    book = _book(allow=["read", "write", "shell", "network", "mcp"])
    assert (book.decide(requested).effect, book.decide(requested, tainted=True).effect) == (ALLOW, effect)


def test_rules_that_could_not_be_read_make_everything_ask_but_what_was_agreed_to_since() -> None:
    book = RuleBook(FOLDER, (Rule(ALLOW, "shell"),), cautious=True, enforceable=_both)
    agreed = book.with_session_rules([Rule(ALLOW, "shell", "ls")])
    commands = ("ls", "pwd")
    assert [agreed.decide(_shell(one)).effect for one in commands] == [ALLOW, ASK]
    assert book.decide(_path(READ, "a")).effect is ASK


@pytest.mark.parametrize(
    "text",
    [
        "",
        "shell(",
        "(x)",
        "a b",
        "*",
        "read(/**)",
        "read(/)",
        "read(~/**)",
        "write(~)x",
        "read(/u/**)",
        "write(../x)",
        "read({a,b}.txt)",
    ],
)
def test_what_is_no_rule_or_too_wide_a_one_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read_rule(ALLOW, text, home=HOME)


def test_a_folder_with_wildcards_in_its_name_is_that_folder() -> None:
    book = RuleBook("/u/ann/[x]*", (read_rule(DENY, "write(a.txt)", home=HOME),))
    both = [RequestedAccess(tool="edit_file", access=WRITE, target=f"/u/ann/{name}/a.txt") for name in ("[x]*", "x1")]
    assert [book.decide(requested).effect for requested in both] == [DENY, ASK]


TARGETS = (
    "git status",
    "git push -f",
    "rm x",
    "ls; rm x",
    f"{FOLDER}/src/a.py",
    "/etc/hosts",
    "docs.example.org",
    "0f",
)
WISHES = [
    RequestedAccess(tool=tool, access=access, target=target, inside=target.startswith(FOLDER), guard=guard)
    for (tool, access), target, guard in itertools.product(
        [
            ("read_file", READ),
            ("edit_file", WRITE),
            ("shell", Access.SHELL),
            ("fetch_url", Access.NETWORK),
            ("mcp_t__x", Access.MCP),
        ],
        TARGETS,
        GuardedKind,
    )
]
SUBJECTS = ("*", "read", "write", "shell", "network", "mcp", "read_file", "edit_file", "fetch_url", "mcp_*", "mcp_t__x")
PATTERNS = (None, "git", "git status", "rm", "=ls; rm x", "src/**", "**", "/etc/hosts", "*.example.org", "*", "0f")
rules = st.builds(
    Rule,
    st.sampled_from(RuleEffect),
    st.sampled_from(SUBJECTS),
    st.sampled_from(PATTERNS),
    st.sampled_from([None, *Strength]),
)
books = st.builds(
    RuleBook,
    st.just(FOLDER),
    st.lists(rules, max_size=6).map(tuple),
    st.lists(rules, max_size=3).map(tuple),
    st.booleans(),
    st.sampled_from([_both, frozenset]),
)


@given(books, st.sampled_from(WISHES), st.booleans())
def test_nothing_is_allowed_without_a_rule_that_allows_it(
    book: RuleBook, requested: RequestedAccess, tainted: bool
) -> None:
    ruling = book.decide(requested, tainted=tainted)
    if ruling.effect is ALLOW:
        assert ruling.rule in (*book.rules, *book.session, *DEFAULTS)
        assert ruling.rule.effect is ALLOW
        assert ruling.rule.covers(requested)
        assert requested.guard is not GuardedKind.ALWAYS_ASKS
        assert requested.access is READ or not tainted


@given(books, rules, st.sampled_from(WISHES), st.booleans())
def test_one_more_denial_never_widens(book: RuleBook, rule: Rule, requested: RequestedAccess, tainted: bool) -> None:
    more = replace(book, rules=(*book.rules, Rule(DENY, rule.subject, rule.pattern)))
    before, after = book.decide(requested, tainted=tainted).effect, more.decide(requested, tainted=tainted).effect
    assert after.strictness >= before.strictness


@given(books, st.sampled_from(WISHES))
def test_taint_and_caution_never_widen(book: RuleBook, requested: RequestedAccess) -> None:
    plain = book.decide(requested).effect.strictness
    careful = replace(book, cautious=True)
    assert book.decide(requested, tainted=True).effect.strictness >= plain
    assert careful.decide(requested).effect.strictness >= plain


@given(st.lists(rules, max_size=5), st.sampled_from(WISHES), st.randoms(use_true_random=False))
def test_the_order_of_the_rules_does_not_matter(some: list[Rule], requested: RequestedAccess, random: Random) -> None:
    shuffled = some[:]
    random.shuffle(shuffled)
    effects = {RuleBook(FOLDER, tuple(order)).decide(requested).effect for order in (some, shuffled)}
    assert len(effects) == 1


@given(books, st.sampled_from(WISHES))
def test_full_is_only_for_exactly_the_command_that_was_named(book: RuleBook, requested: RequestedAccess) -> None:
    ruling = book.decide(requested)
    if requested.access is Access.SHELL and ruling.effect is ALLOW:
        assert ruling.rule is not None
        assert ruling.strength in book.enforceable() or ruling.rule == Rule(
            ALLOW, ruling.rule.subject, ruling.rule.pattern, Strength.FULL
        )
