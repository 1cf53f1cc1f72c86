"""Rules about commands: how they are spelled, which commands they are about, and how those run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tui.domain.errors import ConfigError
from tui.tools.permissions.rules import Access, RequestedAccess, RuleBook, RuleEffect, Strength, read_rule

FOLDER, HOME = "/u/ann/ws", "/u/ann"
ALLOW, ASK, DENY = RuleEffect.ALLOW, RuleEffect.ASK, RuleEffect.DENY


def _both() -> frozenset[Strength]:
    return frozenset({Strength.READ_ONLY, Strength.WRITES_FOLDER})


def _book(**rules: list[str]) -> RuleBook:
    made = [read_rule(RuleEffect(effect), text, home=HOME) for effect, texts in rules.items() for text in texts]
    return RuleBook(FOLDER, tuple(made), enforceable=_both)


def _shell(command: str) -> RequestedAccess:
    return RequestedAccess(tool="shell", access=Access.SHELL, target=command)


SPELLINGS = [
    "/usr/bin/rm x",
    "command rm x",
    "env -i rm x",
    "env A=1 rm x",
    "nice -n 5 rm x",
    "timeout 5 rm x",
    "stdbuf -o0 rm x",
    "sudo -u root rm x",
    "xargs rm < list",
    "nohup rm x &",
    "RM x",
    "find . -exec rm {} +",
    "echo x | xargs -n1 rm",
    "sh -c 'rm x'",
    "sed -n '1e rm x' a",
    "tar xf a --to-command='rm x'",
    "if true; then rm x; fi",
    "f() { rm x; }; f",
    "rm\\\n x",
]
HIDDEN = [
    "/bin/r? x",
    "/bin/r[m] x",
    "{rm,x}",
    "{r,x}m x",
    "$'\\x72m' x",
    "r$1m x",
    "r${X}m x",
    "$(echo r)m x",
    "`echo r`m x",
    'eval "r""$X"',
    "X=r; ${X}m x",
    "echo 'r m' | tr -d ' ' | sh",
    "printf 'r%s' m | xargs -I% sh -c %",
    "python3 -c 'import os'",
    "perl -e 1",
    "awk 'BEGIN{system(1)}'",
    "sed 's/a/b/e' f",
    "bash <<X",
    "bash /dev/stdin",
    "ssh host",
    "echo # '",
    "trap x EXIT",
    "echo 'unclosed",
    "!!",
    "PATH=x ls",
    "LD_PRELOAD=x ls",
    "env BASH_ENV=x ls",
    "export GIT_CONFIG_COUNT=1",
    "script -c x",
]


@pytest.mark.parametrize("command", SPELLINGS)
def test_a_denied_command_is_denied_in_every_spelling_that_names_it(command: str) -> None:
    assert _book(allow=["shell"], deny=["shell(rm)"]).decide(_shell(command)).effect is DENY


@pytest.mark.parametrize("command", HIDDEN)
def test_a_command_that_cannot_be_read_asks_where_a_rule_denies_or_asks(command: str) -> None:
    for effect in ("deny", "ask"):
        ruling = _book(**{"allow": ["shell"], effect: ["shell(rm)"]}).decide(_shell(command))
        assert (ruling.effect, ruling.exact_opens) == (ASK, True)
    assert _book(allow=["shell"]).decide(_shell(command)).effect is ALLOW
    assert _book(allow=["shell", f"shell(={command}) full"], deny=["shell(rm)"]).decide(_shell(command)).effect is ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "git -C . push",
        "git --git-dir=.git --work-tree . push -f",
        "git --no-pager push",
        "/usr/bin/git 'push'",
        "git -P pu'sh'",
        "cd x && git -C .. push origin",
    ],
)
def test_options_between_the_words_of_a_denied_command_hide_nothing(command: str) -> None:
    assert _book(allow=["shell"], deny=["shell(git push)"]).decide(_shell(command)).effect is DENY


@pytest.mark.parametrize(
    ("denied", "command", "effect"),
    [
        ("git push", "git -c alias.p=push p", ASK),
        ("git push", "git --config-env=alias.p=X p", ASK),
        ("git push", "git config alias.p x && git p", ASK),
        ("git push", "git p", ASK),
        ("git push", "git-push x", DENY),
        ("git push", "/usr/lib/git-core/git-push", DENY),
        ("git push", "git stash push", ALLOW),
        ("git push", "CI=1 git status", ALLOW),
        ("git push", "make A=1", ALLOW),
        ("git push", "git commit -m push", ALLOW),
        ("git push", "git log", ALLOW),
        ("git push", "git -C a -C b status", ALLOW),
        ("git push", "git --git-dir=x --no-pager status", ALLOW),
        ("git push", "git for-each-repo --config=x push", ASK),
        ("git push", "git -C . for-each-repo --config x push", ASK),
        ("git push", "git bisect run x", ASK),
        ("git push", "git submodule foreach 'git push'", DENY),
        ("git push", "git submodule foreach x", ASK),
        ("git push", "git grep -O'git push'", DENY),
        ("git push", 'git grep -nO"git push" x', DENY),
        ("git push", "git grep '-Ogit push'", ASK),
        ("git push", "git grep -Ogit-push x", ASK),
        ("git push", "git grep -Olog x", ASK),
        ("git push", "git grep --open-files-in-pager=./x y", ASK),
        ("git push", "git grep --open ./x y", ASK),
        ("git push", "git grep -n push", ALLOW),
        ("git push", "git clone -u ./x y", ASK),
        ("git push", "git fetch --upload-pack ./x y", ASK),
        ("git push", "git branch --set-upstream-to=x", ALLOW),
        ("git push", "tar xf a -I'git push'", DENY),
        ("git push", 'tar xf a "-Igit push"', ASK),
        ("rm -rf", "rm -fr x", DENY),
        ("rm -rf", "rm x -r -f", DENY),
        ("rm -rf", "rm -r x", ASK),
        ("rm -rf", "rm x", ALLOW),
        ("git push --force", "git push --forc", DENY),
        ("git push --force", "git push -f", ASK),
        ("git push --force", "git push", ALLOW),
        ("rm*", "rmdir x", DENY),
        ("*", "ls", DENY),
        ("git *", "git status", DENY),
        ("rm", "grep 'a*[b]' x", ALLOW),
        ("rm", "python -m pytest", ALLOW),
        ("rm", "pytest -k 'a or b' && ls", ALLOW),
    ],
)
def test_what_a_rule_that_denies_is_about(denied: str, command: str, effect: RuleEffect) -> None:
    book = _book(allow=["shell", "shell(git)", "shell(rm)"], deny=[f"shell({denied})"])
    exact = _book(allow=["shell"], deny=[f"shell({denied})"])
    assert exact.decide(_shell(command)).effect is effect, book


@pytest.mark.parametrize(
    ("text", "pattern", "strength"),
    [
        ("shell(pytest) rw", "pytest", Strength.WRITES_FOLDER),
        ("shell(git log) ro", "git log", Strength.READ_ONLY),
        ("shell(=echo x) full", "=echo x", Strength.FULL),
        ("shell(=echo (x) ro) full", "=echo (x) ro", Strength.FULL),
        ("shell(=echo x) ro) full", "=echo x) ro", Strength.FULL),
        ("shell rw", None, Strength.WRITES_FOLDER),
        ("shell(*)", None, None),
        ("shell(*) ro", None, Strength.READ_ONLY),
        ("shell(git *)", "git", None),
    ],
)
def test_a_rule_about_commands_says_its_strength(text: str, pattern: str | None, strength: Strength | None) -> None:
    rule = read_rule(ALLOW, text, home=HOME)
    assert (rule.pattern, rule.strength) == (pattern, strength)
    assert read_rule(ALLOW, str(rule), home=HOME) == rule


@pytest.mark.parametrize("text", ["shell(pytest) full", "shell full", "write(**) rw", "read ro", "shell(x) wr"])
def test_a_strength_where_none_belongs_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        read_rule(ALLOW, text, home=HOME)


def test_full_for_a_prefix_names_the_way() -> None:
    with pytest.raises(ConfigError, match="whole command"):
        read_rule(ALLOW, "shell(npm) full", home=HOME)


def test_a_strength_of_a_rule_that_denies_is_refused() -> None:
    with pytest.raises(ConfigError, match="only rules that allow"):
        read_rule(DENY, "shell(rm) ro", home=HOME)


@pytest.mark.parametrize(
    ("rules", "command", "decided"),
    [
        (["shell(git log)"], "git log", (ALLOW, Strength.WRITES_FOLDER)),
        (["shell(git log) ro"], "git log", (ALLOW, Strength.READ_ONLY)),
        (["shell(git log) ro", "shell(git log) rw"], "git log", (ALLOW, Strength.WRITES_FOLDER)),
        (["shell(git log) ro", "shell(git) rw"], "git log", (ALLOW, Strength.READ_ONLY)),
        (["shell(git log) ro", "shell(=git log -1) full"], "git log -1", (ALLOW, Strength.FULL)),
        (["shell(=git log -1)"], "git log -1", (ALLOW, Strength.WRITES_FOLDER)),
    ],
)
def test_the_rule_decides_how_a_command_runs(
    rules: list[str], command: str, decided: tuple[RuleEffect, Strength]
) -> None:
    ruling = _book(allow=rules).decide(_shell(command))
    assert (ruling.effect, ruling.strength) == decided


@pytest.mark.parametrize(
    "text", ["shell(git log)", "shell(git log) ro", "shell(git log) rw", "shell", "shell(=git log)"]
)
def test_without_a_sandbox_only_an_exact_command_in_full_is_allowed(text: str) -> None:
    rule = read_rule(ALLOW, text, home=HOME)
    full = read_rule(ALLOW, "shell(=git log) full", home=HOME)
    assert RuleBook(FOLDER, (rule,)).decide(_shell("git log")).effect is ASK
    assert RuleBook(FOLDER, (rule, full)).decide(_shell("git log")).effect is ALLOW


def test_a_command_that_the_sandbox_stopped_asks_unless_it_is_allowed_in_full() -> None:
    stopped = replace(_shell("git log"), stopped=True)
    assert _book(allow=["shell(git log) rw"]).decide(stopped).effect is ASK
    assert _book(allow=["shell(git log) rw", "shell(=git log) full"]).decide(stopped).effect is ALLOW


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (ALLOW, "shell(make && ./run)"),
        (ALLOW, "shell(echo 'x)"),
        (ALLOW, "shell(=)"),
        (DENY, "shell(|)"),
        (DENY, "read(a/../b)"),
        (DENY, "fetch_url(https://example.org)"),
        (DENY, "network(Example.org)"),
        (ALLOW, "mcp_time_get_time"),
        (DENY, "mcp_time_set_time"),
    ],
)
def test_a_rule_that_can_never_match_is_told(effect: RuleEffect, text: str) -> None:
    rule = read_rule(effect, text, home=HOME)
    assert [told for told, _ in RuleBook(FOLDER, (rule,)).never_matching()] == [rule]


def test_rules_that_match_something_are_not_told() -> None:
    texts = [
        "shell(git log)",
        "shell(=a; b) full",
        "write(src/**)",
        "fetch_url(*.example.org)",
        "shell(*)",
        "mcp_x__y",
        "mcp_x_*",
    ]
    made = tuple(read_rule(ALLOW, text, home=HOME) for text in texts)
    assert RuleBook(FOLDER, made).never_matching() == []


@pytest.mark.parametrize(
    "command",
    [
        'git -C "my folder" push',
        "git --git-dir 'a b' push origin",
        "git -C my\u00a0folder push",
        "git '-C' 'a b' 'push'",
        'ls; git -C "a; b" push',
        "git --git-dir='a b' push",
        'git -C "it\'s" push',
    ],
)
def test_the_value_of_an_option_may_hold_blanks(command: str) -> None:
    assert _book(allow=["shell rw"], deny=["shell(git push)"]).decide(_shell(command)).effect is DENY


@pytest.mark.parametrize(
    "command",
    [
        "source <(base64 -d file)",
        ". <(cat file)",
        "base64 -d file | source /dev/stdin",
        ". /dev/fd/0 < file",
        "if true; then . /proc/self/fd/0; fi",
        "command . /dev/stdin",
        "A=1 source /dev/fd/3",
        "R -e 'x'",
        "Rscript -e x",
        "pwsh -Command x",
        "julia -e x",
        "emacs --batch --eval x",
        "nu -c x",
        "guile -c x",
        "gdb -ex x",
        "m4 -",
        "make --eval='x:;$(shell r$()m a)'",
        "make -f - < file",
        "make -f/dev/stdin",
        "make --file=/dev/fd/0",
        "make SHELL=/tmp/x",
        "sh +x -c 'set r m; $1$2 a'",
        "bash +O extglob -c 'set r m; $1$2 a'",
        "ksh -m -c x",
        "busybox ash +x -c x",
        "python3-dbg -c x",
        "python3.13t -c x",
        "bash-static -c x",
        "rbash -c x",
        "ipython -c x",
        "python -m timeit x",
        "uv run -m pdb x",
        "env -u X -S 'a b'",
        "env -iS 'a b'",
        "find /bin -name 'r[m]' -exec '{}' a ';'",
        "find /bin -name 'r[m]' -execdir './{}' a ';'",
        "find /bin -name 'r[m]' -exec nice '{}' a ';'",
        "fd 'r.' /bin -x '{}' a",
        # A word that is a command by itself, not the value of an option in the same word.
        "watch 'set r m; $1$2 a'",
        "flock f -c 'set r m; $1$2 a'",
        "tar --to-command 'set r m; $1$2 a' -xf x",
        "split --filter 'set r m; $1$2 a' x",
        "sqlite3 x '.shell set r m; $1$2 a'",
        "watch '/bin/r? a'",
        "watch 'cd /bin; r[m] a'",
        "time git commit -m 'set r m; $1$2 a'",
    ],
)
def test_a_program_in_arguments_or_input_asks_where_a_rule_denies(command: str) -> None:
    assert _book(allow=["shell rw"], deny=["shell(rm)"]).decide(_shell(command)).effect is ASK


@pytest.mark.parametrize(
    "command",
    [
        "source venv/bin/activate",
        ". ./env.sh && pytest -q",
        "find . -name x.py",
        "ls . -la",
        "make -j4 all",
        "make -f other.mk",
        "grep -r source -n",
        "cd . ; cargo build",
        "python -m pytest -q",
        "find . -name '*.py' -newer x",
        "find . -exec grep x a ';'",
        "grep -n 'a; b $HOME/*.py' x",
        "git commit -m 'Use `x`; set $HOME'",
        "jq '.a | {b, c}' x.json",
        "docker ps --format '{{.ID}} {{.Names}}'",
        "pytest -k 'a or b' -x",
        "ls -x",
    ],
)
def test_common_commands_stay_allowed_beside_a_denial(command: str) -> None:
    assert _book(allow=["shell rw"], deny=["shell(rm)"]).decide(_shell(command)).effect is ALLOW


IN_VALUES = [
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='rm victim' victim",
    "tar -Irm -cf x victim",
    "tar -cIrm -f x victim",
    "make CC='rm victim'",
    "make CC=/bin/rm",
    "gcc -wrapper rm,victim x.c",
    "gcc -wrapper /bin/rm,victim x.c",
    "view -c '!rm victim'",
    "view -c 'call x()'",
    "nvim --headless +'!rm victim' +q",
    "hg --config alias.x='!rm victim' x",
    "hg --config=alias.x='!rm victim' x",
    "cargo --config=alias.x='rm victim' x",
    "svn --config-option=config:tunnels:x='rm victim' x",
    "apt-get -o Dpkg::Pre-Invoke::='rm victim' update",
    "socat - EXEC:'rm victim'",
    "strace -o '!rm victim' ls",
    "sqlite3 x '.shell \"rm\" victim' --x='(rm)'",
    # What a second shell would make of it.
    "make CC='r\"\"m victim'",
    "make CC='r$@m victim'",
    "make CC='`x` victim'",
    "make CC='/bin/r?'",
    "tar cf x --checkpoint-action=exec='/bin/r? victim' victim",
    "tar cf x --checkpoint-action=exec='r${X}m victim' victim",
    "socat - SYSTEM:'r$@m victim'",
    "strace -o '!r$@m victim' ls",
    "strace -o '|{r,x}m victim' ls",
]


@pytest.mark.parametrize("command", IN_VALUES)
def test_a_denied_program_that_is_named_inside_a_value_never_runs_without_a_question(command: str) -> None:
    for effect in ("deny", "ask"):
        ruling = _book(**{"allow": ["shell"], effect: ["shell(rm)"]}).decide(_shell(command))
        assert ruling.effect is not ALLOW
    assert _book(allow=["shell"]).decide(_shell(command)).effect is ALLOW


@pytest.mark.parametrize(
    ("denied", "command", "effect"),
    [
        ("git push", "make CC='git -C x push'", ASK),
        ("git push", "gcc -wrapper git,push x.c", ASK),
        ("git push", "make X='push git'", ALLOW),
        ("rm -rf", "make CC='rm -rf x'", ASK),
        ("rm*", "make CC=rmdir", ASK),
        ("g++", "make CC=g++", ASK),
        ("g++", "make CC=gcc", ALLOW),
        ("rm", "make CC=gcc CFLAGS='-O2 -Wall'", ALLOW),
        ("rm", "docker ps --rm-x --format='a: b'", ALLOW),
        ("rm", "tar --exclude='src/*.o' -cf x.tar src", ALLOW),
        ("rm", "git log --format='%h [%an] %s' --grep='end$'", ALLOW),
        ("rm", "git commit -m 'Fix: arms, warm and $5'", ALLOW),
        ("rm", "git commit -m 'Fix (rm): x'", DENY),
        ("rm", "gh pr view 3", ALLOW),
        ("rm", "curl -o form.html 'https://example.org/rms?a=b'", ALLOW),
    ],
)
def test_what_is_named_inside_a_value(denied: str, command: str, effect: RuleEffect) -> None:
    assert _book(allow=["shell"], deny=[f"shell({denied})"]).decide(_shell(command)).effect is effect


@pytest.mark.long
def test_a_command_of_one_long_path_is_read_at_once() -> None:
    """It took half a minute for the longest command, with a pattern that began anew at every slash."""
    book = _book(allow=["shell"], deny=["shell(rm)"])
    for command in (f"make CC='{'/' * 99_000}'", f"watch 'x {'/' * 99_000}'"):
        assert book.decide(_shell(command)).effect is ALLOW


def test_a_part_of_what_is_denied_stays_allowed_beside_values() -> None:
    book = _book(allow=["shell(rm build) rw"], deny=["shell(rm)"])
    assert book.decide(_shell("rm build 'my file' --interactive=never")).effect is ALLOW
