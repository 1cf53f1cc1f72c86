"""Parses shell commands for permission rules: into plain words, or not at all.

A rule that allows must be certain; a rule that denies must not be evaded by another spelling. So a rule that allows
matches only plain words, a rule that denies matches wherever its words occur, and the user is asked about commands
for which neither is certain.
"""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase
from itertools import pairwise

_SPECIAL = re.compile(r"[;|&$()<>`\x00-\x08\x0a-\x1f\x7f\\]")
"""With any of these a command can do more than its first words say, so no prefix can be allowed."""
_OPERATORS = re.compile(r"[\n;|&$()<>`{}]+")
_WILDCARDS = re.compile(r"[*?\[]")

_RUNS_ANYTHING = re.compile(
    r"(?:ash|awk|bash|bun|busybox|chroot|chrt|command|csh|dash|deno|doas|docker|env|eval|exec|expect|fakeroot|find"
    r"|firejail|fish|flock|gawk|gdb|ionice|ksh|ld|lua|make|mawk|nawk|nc|nice|node|nohup|npx|nsenter|osascript|parallel"
    r"|perl|php|pipx|podman|python|ruby|runuser|screen|script|sed|setarch|setpriv|setsid|sh|ssh|stdbuf|strace|su|sudo"
    r"|systemd-run|tar|taskset|tclsh|tcsh|time|timeout|tmux|unshare|uv|uvx|watch|xargs|zsh)[0-9.]*"
)
"""Programs whose arguments are programs: only the complete command is offered."""
_DESTROYS_OR_SENDS = re.compile(
    r"(?:chattr|chgrp|chmod|chown|cp|curl|dd|ftp|install|kill|killall|ln|mkfs.*|mount|mv|pkill|reboot|rm|rmdir|rsync"
    r"|scp|sftp|shred|shutdown|socat|tee|telnet|truncate|umount|unlink|wget)"
)
"""Programs that only destroy, overwrite or send: only the complete command is offered."""
_HAS_SUBCOMMANDS = re.compile(
    r"git|hg|jj|npm|pnpm|yarn|cargo|go|pip[0-9.]*|poetry|gh|kubectl|helm|terraform|aws|gcloud|brew|apt"
)
"""Programs with subcommands: the name alone is not offered."""
_WRITES_GUARDED = frozenset({"git", "hg", "jj", "svn"})
"""Programs that write where no sandbox allows writing, so `rw` would not work."""

_HIDES_WORDS = frozenset("$`\\{}[]*?!")
"""Outside quotes, these produce words that do not appear in the text."""
_HIDES_WORDS_IN_QUOTES = frozenset("$`\\!")
_INTERPRETER = re.compile(
    r"(?:ash|bash|bun|busybox|clisp|csh|dash|dc|deno|ecl|elixir|elvish|emacs|emacsclient|erl|fish|gdb|ghc|gnuplot|groovy"
    r"|guile|iex|jshell|julia|kotlin|ksh|lldb|lua|luajit|m4|mksh|node|nu|ocaml|octave|osascript|perl|php|powershell|pwsh"
    r"|pypy|r|racket|raku|rscript|ruby|runghc|sbcl|scala|sh|swift|tclsh|tcsh|ts-node|tsx|xonsh|zsh"
    r"|python|bpython|ipython|jython|micropython|ptpython|jruby|mruby|nodejs|qjs|rbash|rksh|rzsh|loksh|oksh|osh|posh"
    r"|yash|ysh|fennel|hy|janet|newlisp|wish)[0-9.]*[dmtuw]?(?:-(?:dbg|debug|static|minimal|intel64|arm64|32|64))?"
)
_FINDERS = frozenset({"find", "fd", "fdfind"})
_STARTS_A_PROGRAM = re.compile(r"-{1,2}(?:exec(?:dir|-batch)?|ok(?:dir)?)|-[xX]")
"""Options of those programs; ``{}`` behind them is a file that was found."""
_RUNS_CODE_AS_MODULE = frozenset(
    {"asyncio", "bpython", "code", "cprofile", "idlelib", "ipython", "pdb", "profile", "ptpython", "runpy"}
    | {"timeit", "trace"}
)
"""Modules that execute their arguments or input: ``python -m timeit CODE``."""
_BEFORE_COMMANDS = frozenset({"builtin", "command", "do", "else", "elif", "if", "then", "time", "until", "while", "!"})
"""Words of the shell after which a command begins."""
_READS_COMMANDS = re.compile(
    r"alias|at|batch|crontab|doas|ed|eval|ex|expect|g?awk|mawk|nawk|parallel|script|sed|ssh|su|trap"
    r"|[gnr]?vim?(?:diff)?|xargs"
)
"""Programs that execute their arguments or input in a language of their own."""
_VIEWERS = frozenset({"gview", "rview", "view"})
"""Vim by other names. Elsewhere than in front these are common words: ``gh pr view``."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_TAKES_ASSIGNMENTS = frozenset({"env", "export", "declare", "typeset", "readonly", "sudo", "doas", "command"})
_TAKES_MAKEFILES = frozenset({"make", "gmake"})
_HARMLESS_VARIABLES = re.compile(r"(?:LANG|LC_\w+|TZ|CI|NO_COLOR|FORCE_COLOR|TERM|COLUMNS|LINES)=")
"""Any other variable can change what a program runs: PATH, LD_PRELOAD, BASH_ENV, GIT_CONFIG_COUNT, PAGER."""
_GIT_COMMANDS = re.compile(
    r"add|am|annotate|apply|archive|blame|branch|bundle|cat-file|check-attr|check-ignore|checkout|cherry"
    r"|cherry-pick|clean|clone|commit|count-objects|describe|diff|diff-index|diff-tree|fetch|for-each-ref"
    r"|format-patch|fsck|gc|grep|hash-object|help|init|log|ls-files|ls-remote|ls-tree|merge"
    r"|merge-base|mv|name-rev|notes|pull|push|range-diff|reflog|remote|repack|replace|reset|restore|rev-list"
    r"|rev-parse|revert|rm|shortlog|show|show-branch|show-ref|sparse-checkout|stash|status|switch"
    r"|symbolic-ref|tag|var|verify-commit|version|whatchanged|worktree|write-tree"
)
"""Git's own commands, which no alias can replace. Other words may be aliases; `config` defines them.

Left out are commands that run other commands: bisect, for-each-repo, maintenance, rebase, send-email, submodule.
"""
_GIT_OPTIONS_WITH_VALUE = frozenset(
    {"-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source", "--list-cmds"}
)
"""Options before git's command whose value is the next word."""
_GIT_RUNS = ("--exec", "--extcmd", "--open-files-in-pager", "--receive-pack", "--upload-pack")
"""Options of git's commands whose value is a program. Git accepts every unambiguous prefix of them."""
_GIT_RUNS_BY_LETTER = {"clone": "u", "grep": "O"}
_GLUED_VALUE = re.compile(r"""(?<!\S)(-[A-Za-z]+)(?=['"])""")
"""``-O'git push'``: an option and a quoted value without a blank between them."""
_QUOTED_OPTION = re.compile(r"""(?<!\S)(['"])-[A-Za-z][^'"]*\s""")
"""``'-Ogit push'``: the value is not separable from the option's letters."""

_WITHOUT_QUOTES = str.maketrans("", "", "\"'\\")
_MAX_LETTERS_BEFORE_VALUE = 8
_VALUE = re.compile(r"(?:[^\s=]+=|[\w-]+:(?=\S)|[-+]?[!|+:]|-[A-Za-z])(.+)", re.DOTALL)
"""``--action=exec=…``, ``CC=…``, ``SYSTEM:…``, ``!…``, ``-I…``: words with a value that may be a program."""
_HIDES_WORDS_IN_VALUE = re.compile(r"""`|\$[\w@*#?!{('"-]|\{[^{}]*,""")
_FILE_WITH_WILDCARD = re.compile(r"/[^\s*?\[/]*[*?\[]")
_IS_A_SCRIPT = re.compile(r"[\s;&|]")
"""What a word that is a command has: ``watch 'set r m; $1$2 x'``."""
_IS_A_SEQUENCE = re.compile(r"[;&\n]|\|\s")
"""Commands after ``cd /bin``, where a wildcard alone is a program."""
_STARTS_NO_ARGUMENT = frozenset(
    {"cat", "echo", "egrep", "fgrep", "git", "grep", "head", "jq", "ls", "printf", "rg", "tail", "test", "wc", "["}
)
"""Programs that do not run a word of theirs, whatever is in it; of git, what may run others is looked for apart."""


def plain_words(command: str) -> tuple[str, ...] | None:
    """The words of a command that is one program with its arguments; None for anything more."""
    if _SPECIAL.search(command):
        return None
    try:
        words = shlex.split(command, comments=False, posix=True)
    except ValueError:
        return None
    return tuple(words) or None


def begins_with(command: str, prefix: str) -> bool:
    """Whether a plain command begins with exactly the words of ``prefix``; for rules that allow."""
    words, start = plain_words(command), plain_words(prefix)
    return words is not None and start is not None and words[: len(start)] == start


def mentions(command: str, pattern: str) -> bool:
    """Whether the words of ``pattern`` occur anywhere in a command; for rules that deny or ask.

    Options may occur between the words (``git -C . push``), and those of the pattern may come in any order and be
    combined (``rm -fr``).
    """
    return _search(command, pattern, sure=True)


def may_mention(command: str, pattern: str) -> bool:
    """Whether the command may match ``pattern``: with unknown options in between (``git push --force``), or in a value.

    A value may be a program: ``tar --checkpoint-action=exec='rm x'``, ``make CC='rm x'``, ``gcc -wrapper rm,x``.
    """
    return _search(command, pattern, sure=False) or _is_in_a_value(command, pattern)


def is_readable(command: str) -> bool:
    """Whether every program that the command starts is spelled out in it."""
    return (
        _quoting_is_plain(command)
        and not _QUOTED_OPTION.search(command)
        and not any(map(_hides_a_program, _runs(command)))
        and not any(_hides_words_in_arguments(words) for words in _quoted_words(command))
    )


def can_match(pattern: str, *, allows: bool) -> bool:
    """Whether a pattern that is not an exact command can match any command."""
    if allows:
        return plain_words(pattern) is not None
    return any(_plain_and_options(pattern))


def prefix_to_offer(command: str) -> str | None:
    """The first words that a rule can cover, or None if only the complete command can be allowed."""
    words = plain_words(command)
    if words is None:
        return None
    program = words[0].rpartition("/")[2]
    if "=" in program or _RUNS_ANYTHING.fullmatch(program) or _DESTROYS_OR_SENDS.fullmatch(program):
        return None
    if len(words) > 1 and re.fullmatch(r"[a-z][a-z0-9_:-]*", words[1]):
        offered = shlex.join(words[:2])
    else:
        offered = "" if _HAS_SUBCOMMANDS.fullmatch(program) else shlex.join(words[:1])
    # A rule drops this sign at its end: `shell(rm:)` is `shell(rm)`.
    return None if offered.endswith(":") else offered or None


def works_while_writing(prefix: str) -> bool:
    """Whether the program works in a sandbox that can write only the working folder."""
    return prefix.split(" ")[0].rpartition("/")[2] not in _WRITES_GUARDED


def _search(command: str, pattern: str, *, sure: bool) -> bool:
    wanted, options = _plain_and_options(pattern)
    if not sure and not options:
        return False
    if not wanted:
        return sure and any(_has_options(words, options) for words in _runs(command) if options)
    # `git push` is also the program `git-push`.
    spellings = [wanted, ["-".join(wanted[:2]), *wanted[2:]]] if len(wanted) > 1 else [wanted]
    for words in _runs(command):
        found = [at for spelling in spellings if (at := _first_match(words, spelling)) is not None]
        if not found:
            continue
        after = words[min(found) + 1 :]  # holds the options behind every later match too
        if _has_options(after, options) or (not sure and any(word[0] == "-" for word in after)):
            return True
    return False


def _is_in_a_value(command: str, pattern: str) -> bool:
    """Whether the words of ``pattern`` occur inside one word of the command, between anything no name contains."""
    wanted, _ = _plain_and_options(pattern)
    if not wanted:
        return False
    # `g++` is a name, too; a wildcard of the rule is not.
    also = re.escape("".join({one for name in wanted for one in name if not re.match(r"[\w./*?\[\]!-]", one)}))
    between = re.compile(rf"[^\w./{also}-]+")
    words = {word for run in _quoted_words(command) for word in run if word[0] == "-" or between.search(word)}
    return any(_first_match(parts, wanted) is not None for word in words for parts in _parts(word, between))


def _parts(word: str, between: re.Pattern[str]) -> list[list[str]]:
    """The parts of a word, with the quotes in it as ends of parts and as what a second shell removes."""
    readings = {word, word.translate(_WITHOUT_QUOTES)}
    found = [parts for one in readings if (parts := [part for part in between.split(one) if part])]
    for parts in tuple(found):
        if re.match(r"-[A-Za-z]", parts[0]):
            # `tar -cIrm`: a value follows the letters without a blank.
            starts = range(2, min(len(parts[0]), 2 + _MAX_LETTERS_BEFORE_VALUE))
            found += [[parts[0][start:], *parts[1:]] for start in starts]
    return found


def _plain_and_options(pattern: str) -> tuple[list[str], list[str]]:
    words = [word for run in _unquoted_runs(pattern) for word in run]
    return [_program_name(word) for word in words if word[0] != "-"], [
        word for word in words if word[0] == "-" and word != "-"
    ]


def _first_match(words: list[str], wanted: list[str]) -> int | None:
    """The index of the first match of the wanted words. Options, each with a value, may be between them."""
    failed: set[tuple[int, int]] = set()
    for start in range(len(words)):
        number, at = 0, start
        passed: list[tuple[int, int]] = []
        while number < len(wanted) and at < len(words) and (number, at) not in failed:
            passed.append((number, at))
            if _fits(words[at], wanted[number]):
                number, at = number + 1, at + 1
            elif number and words[at][0] == "-":
                valued = at + 1 < len(words) and words[at + 1][0] != "-" and not _fits(words[at + 1], wanted[number])
                at += 2 if valued else 1
            else:
                break
        if number == len(wanted):
            return start
        # Without this, a command of many such beginnings would take minutes.
        failed.update(passed)
    return None


def _fits(word: str, wanted: str) -> bool:
    bare = _program_name(word)
    return fnmatchcase(bare, wanted) if _WILDCARDS.search(wanted) else bare == wanted


def _has_options(words: list[str], wanted: list[str]) -> bool:
    given = [word.lower() for word in words if word[0] == "-"]
    letters = {letter for word in given if word[:2] != "--" for letter in word[1:]}
    for option in (word.lower() for word in wanted):
        if option.startswith("--"):
            # A program accepts every unambiguous prefix of a long option.
            if not any(len(word) > 3 and option.partition("=")[0].startswith(word.partition("=")[0]) for word in given):
                return False
        elif not set(option[1:]) <= letters:
            return False
    return True


def _runs(command: str) -> list[list[str]]:
    """The words between operators, with quotes as a shell reads them, and ignoring quotes.

    Without quotes there are more words than a shell would see, never fewer. With them, the value of an option is one
    word also if it holds blanks: ``git -C "my folder" push``.
    """
    return [*_quoted_runs(command), *_unquoted_runs(command)]


def _quoted_runs(command: str) -> list[list[str]]:
    return [[part for word in run for part in _option_and_value(word)] for run in _quoted_words(command)]


def _quoted_words(command: str) -> list[list[str]]:
    words = shlex.shlex(command.replace("\\\n", ""), posix=True, punctuation_chars="\n;|&$()<>`{}")
    words.whitespace, words.whitespace_split, words.commenters = " \t", True, ""
    runs: list[list[str]] = [[]]
    try:
        for word in words:
            if word and _OPERATORS.fullmatch(word):
                runs.append([])
            elif word:
                runs[-1].append(word)
    except ValueError:
        return []  # An open quote: no shell runs that.
    return [run for run in runs if run]


def _option_and_value(word: str) -> list[str]:
    option, equals, value = word.partition("=")
    return [f"{option}=", *([value] if value else [])] if equals and word[0] == "-" else [word]


def _unquoted_runs(command: str) -> list[list[str]]:
    unquoted = re.sub(r"\\(.)", r"\1", command.replace("\\\n", ""), flags=re.DOTALL)
    # The value of an option may be a program: `tar --to-command=rm`, `git grep -O'rm'`.
    apart = _GLUED_VALUE.sub(r"\1 ", unquoted)
    bare = re.sub(r"(?<!\S)(-\S*?)=", r"\1= ", apart.replace('"', "").replace("'", ""))
    return [words for words in (run.split() for run in _OPERATORS.split(bare)) if words]


def _quoting_is_plain(command: str) -> bool:
    quote, before = "", " "
    for one in command:
        if quote:
            if one == quote:
                quote = ""
            elif quote == '"' and one in _HIDES_WORDS_IN_QUOTES:
                return False
        elif one in "'\"":
            quote = one
        elif one in _HIDES_WORDS or (one < " " and one not in "\t\n") or one == "\x7f":
            return False
        elif (one == "#" and before in " \t\n;|&()") or (one == "<" and before == "<"):
            # In comments and here-documents, quotes have no meaning.
            return False
        before = one
    return not quote


def _hides_a_program(words: list[str]) -> bool:
    if any(_READS_COMMANDS.fullmatch(_program_name(word)) for word in words) or _program_name(words[0]) in _VIEWERS:
        return True
    if _git_may_run_others(words) or _sets_variables(words) or _env_splits_words(words):
        return True
    if _reads_program_from_input(words) or _make_is_given_a_program(words) or _runs_what_it_finds(words):
        return True
    return any(_is_given_a_program(word, following) for word, following in pairwise([*words, "-"]))


def _is_given_a_program(word: str, following: str) -> bool:
    """``sh -c PROGRAM``, ``sh +x -c PROGRAM``, ``python -m timeit PROGRAM``, or an interpreter that reads its input."""
    if word == "-m" and following.partition(".")[0].lower() in _RUNS_CODE_AS_MODULE:
        return True
    name = _program_name(word)
    if following == "-m" and "py" in name:
        return False  # A module. A shell's -m is an option like any other.
    return following.startswith(("-", "+", "/dev/", "/proc/")) and _INTERPRETER.fullmatch(name) is not None


def _env_splits_words(words: list[str]) -> bool:
    """``env -S``, also behind other options: ``env -u X -S``."""
    names = [_program_name(word) for word in words]
    return "env" in names and any(
        re.match(r"-[A-Za-z0]*S|--s", word) is not None for word in words[names.index("env") + 1 :]
    )


def _runs_what_it_finds(words: list[str]) -> bool:
    """``find /bin -name 'r[m]' -exec '{}' x ';'``. The words end before braces, as they do before operators."""
    if _FINDERS.isdisjoint(map(_program_name, words)):
        return False
    return any(
        _STARTS_A_PROGRAM.fullmatch(word) is not None
        and (not program or "{" in program or _RUNS_ANYTHING.fullmatch(_program_name(program)) is not None)
        for word, program in pairwise([*words, ""])
    )


def _hides_words_in_arguments(words: list[str]) -> bool:
    """Whether a shell that gets one of the words as a command would make words of it that are not in the text."""
    may_start = _program_name(words[0]) not in _STARTS_NO_ARGUMENT
    return any(_hides_words_in_value(word, may_start=may_start) for word in words)


def _hides_words_in_value(word: str, *, may_start: bool) -> bool:
    found = _VALUE.fullmatch(word)
    if found is None and not (may_start and _IS_A_SCRIPT.search(word)):
        return False
    value = word if found is None else found[1]
    if _HIDES_WORDS_IN_VALUE.search(value):
        return True
    # `--include='src/*.py'` is no command, `exec='/bin/r? x'` is one, and make passes on what it is given.
    has_blanks = re.search(r"\s", value) is not None
    if has_blanks and _IS_A_SEQUENCE.search(value) and _WILDCARDS.search(value):
        return True
    is_a_command = _ASSIGNMENT.match(word) is not None or has_blanks
    return is_a_command and _FILE_WITH_WILDCARD.search(value) is not None


def _reads_program_from_input(words: list[str]) -> bool:
    """``source`` or ``.`` with something else than a file: `source <(…)`, `. /dev/stdin`."""
    for at, word in enumerate(words):
        if word in ("source", "."):
            return at + 1 == len(words) or words[at + 1].startswith(("/dev/", "/proc/"))
        if word not in _BEFORE_COMMANDS and not _ASSIGNMENT.match(word):
            return False
    return False


def _make_is_given_a_program(words: list[str]) -> bool:
    if _TAKES_MAKEFILES.isdisjoint(map(_program_name, words)):
        return False
    return any(
        word.startswith(("SHELL=", "MAKEFLAGS=", "MAKEFILES=", "--eval", "-E", "-f-", "-f/dev/", "-f/proc/"))
        or (word.startswith(("-f", "--file", "--makefile")) and following.startswith(("-", "/dev/", "/proc/")))
        for word, following in pairwise([*words, "-"])
    )


def _sets_variables(words: list[str]) -> bool:
    anywhere = not _TAKES_ASSIGNMENTS.isdisjoint(map(_program_name, words))
    for word in words:
        if _ASSIGNMENT.match(word):
            if not _HARMLESS_VARIABLES.match(word):
                return True
        elif not anywhere:
            break
    return False


def _git_may_run_others(words: list[str]) -> bool:
    """Whether git may run an alias, or a program named by its configuration or by an option."""
    names = [_program_name(word) for word in words]
    if "git" not in names:
        return False
    after = words[names.index("git") + 1 :]
    if any(word.startswith(("-c", "--config-env", "--exec-path")) for word in after):
        return True
    at = 0
    while at < len(after) and after[at][0] == "-":
        at += 2 if after[at].rstrip("=") in _GIT_OPTIONS_WITH_VALUE else 1
    if at >= len(after):
        return False
    return _GIT_COMMANDS.fullmatch(after[at]) is None or _names_a_program(after[at], after[at + 1 :])


def _names_a_program(command: str, options: list[str]) -> bool:
    letter = _GIT_RUNS_BY_LETTER.get(command, "")
    for word in options:
        if len(word) > 3 and any(option.startswith(word.rstrip("=")) for option in _GIT_RUNS):
            return True
        if letter and re.match(rf"-[A-Za-z]*{letter}", word):
            return True
    return False


def _program_name(word: str) -> str:
    """The lower-case name of a program without its folder; some file systems ignore case."""
    return (word.rpartition("/")[2] or word).lower()
