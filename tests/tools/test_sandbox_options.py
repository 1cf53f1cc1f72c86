"""Commands under the narrowest rules, run for real: whatever their options do, the sandbox keeps its promise."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fakes.bench import outcome
from tests.tools.sandboxes import HERE, fill, newest_sandboxes, repository_bench, snapshot
from tui.tools.permissions.shell_words import begins_with
from tui.tools.sandbox.sandbox import Kernel

LONG = bool(os.environ.get("PONDER_LONG"))
OPTIONS_THAT_DO_MORE = [
    ("git log", "git log --output={cfg}"),
    ("git log", "git log -p --output={out}/x"),
    ("git show", "git show --output={out}/x HEAD"),
    ("git diff", "git diff --no-index --output={cfg} a.txt b.txt"),
    ("git", "git -c alias.x='!touch {out}/x' x"),
    ("git", "git -c core.fsmonitor='touch {out}/x' status"),
    ("git grep", "git grep --open-files-in-pager='touch {out}/x' one"),
    ("git config", "git config --global user.name x"),
    ("git config", "git config core.hooksPath {out}"),
    ("git branch", "git branch other"),
    ("git archive", "git archive -o {out}/x HEAD"),
    ("find", "find . -name a.txt -exec cp {{}} {out}/x +"),
    ("find", "find . -name a.txt -delete"),
    ("find", "find {out} -fprint {out}/x"),
    ("sed", "sed -n '1e touch {out}/x' a.txt"),
    ("sed", "sed -i s/one/two/ a.txt"),
    ("sed", "sed -n 'w {out}/x' a.txt"),
    ("tar", "tar xf a.tar --to-command='touch {out}/x'"),
    ("tar", "tar cf /dev/null --checkpoint=1 --checkpoint-action='exec=touch {out}/x' a.txt"),
    ("tar", "tar xf a.tar -C {out}"),
    ("sort", "sort -o {cfg} a.txt"),
    ("uniq", "uniq a.txt {out}/x"),
    ("split", "split a.txt {out}/x"),
    ("stdbuf", "stdbuf -o0 touch {out}/x"),
    ("env", "env touch {out}/x"),
    ("env", "env -S 'touch {out}/x'"),
    ("nice", "nice touch {out}/x"),
    ("timeout", "timeout 5 touch {out}/x"),
    ("xargs", "xargs -a list touch"),
    ("nohup", "nohup touch {out}/x"),
    ("setsid", "setsid touch {out}/x"),
    ("command", "command touch {out}/x"),
    ("awk", "awk 'BEGIN{{system(\"touch {out}/x\")}}'"),
    ("awk", "awk 'BEGIN{{print 1 > \"{out}/x\"}}'"),
    ("python3", 'python3 -c \'open("{out}/x", "w")\''),
    ("perl", "perl -e 'open(F, \">{out}/x\")'"),
    ("bash", "bash -c 'echo x > {cfg}'"),
    ("bash", "bash -c 'echo x > /dev/tcp/127.0.0.1/9 || touch {out}/x'"),
    ("bash", "bash script.sh"),
    ("make", "make -f mk"),
    ("tee", "tee {cfg}"),
    ("cp", "cp a.txt {cfg}"),
    ("cp", "cp a.txt link/x"),
    ("mv", "mv a.txt {out}/x"),
    ("mv", "mv {out}/victim.txt src/"),
    ("rm", "rm -f {out}/victim.txt"),
    ("ln", "ln -s /etc/passwd {out}/x"),
    ("ln", "ln -f a.txt {out}/victim.txt"),
    ("dd", "dd if=a.txt of={cfg}"),
    ("truncate", "truncate -s 0 {out}/victim.txt"),
    ("python3", "python3 -c 'import os; os.truncate(\"{out}/victim.txt\", 0)'"),
    ("python3", "python3 -c 'import os; os.open(\"{out}/victim.txt\", os.O_RDONLY | os.O_TRUNC)'"),
    ("python3", 'python3 -c \'import os; os.setxattr("{out}/victim.txt", "user.x", b"1")\''),
    ("chmod", "chmod 777 {cfg}"),
    ("chmod", "chmod -R 777 {out}"),
    ("install", "install a.txt {out}/x"),
    ("mkfifo", "mkfifo {out}/x"),
    ("mkdir", "mkdir {out}/x"),
    ("unshare", "unshare -Ur touch {out}/x"),
    ("bash", "bash -c 'unshare -Urm mount --bind src {out} && touch {out}/x'"),
]


@newest_sandboxes
@pytest.mark.parametrize("strength", ["ro", "rw"])
@pytest.mark.parametrize("one_in", [14, pytest.param(1, marks=pytest.mark.long)])
async def test_no_option_of_a_command_writes_more_than_its_rule_says(
    tmp_path: Path, outside: Path, kernel: Kernel, strength: str, one_in: int
) -> None:
    narrowest = [f"shell({rule}) {strength}" for rule in dict(OPTIONS_THAT_DO_MORE)]
    bench = repository_bench(tmp_path, kernel, *narrowest)
    all_commands = repository_bench(tmp_path, kernel, f"shell {strength}")
    kept = [outside, tmp_path / "person", *([bench.folder] if strength == "ro" else [bench.folder / ".git"])]
    escaped = {}
    # Without ``PONDER_LONG=1`` each command runs at one strength with Landlock and at the other with bubblewrap.
    half = OPTIONS_THAT_DO_MORE[(strength == "rw") ^ (kernel.bubblewrap is not None) :: 2]
    for rule, template in (OPTIONS_THAT_DO_MORE if LONG or not HERE.bubblewrap else half)[::one_in]:
        if strength == "rw":
            fill(bench, tmp_path)
        command = template.format(out=outside, cfg=bench.permissions_file)
        used = bench if begins_with(command, rule) else all_commands
        before = snapshot(*kept)
        _, text = outcome(await used.call("shell", command=command))
        assert (used.user.asked, "Not executed" in text) == ([], False), command
        after = snapshot(*kept)
        if after != before:
            escaped[command] = sorted(
                path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
            )
    assert escaped == {}


@pytest.mark.long
async def test_without_a_sandbox_the_same_commands_do_harm(tmp_path: Path, outside: Path) -> None:
    """Says that the experiments above try something."""
    harmful = 0
    for number, (_, template) in enumerate(OPTIONS_THAT_DO_MORE):
        around = tmp_path / str(number)
        (around / "outside").mkdir(parents=True)
        (around / "outside" / "victim.txt").write_text("victim\n")
        bench = repository_bench(around, Kernel())
        before = snapshot(around)
        await bench.call("shell", "once", command=template.format(out=around / "outside", cfg=bench.permissions_file))
        harmful += snapshot(around) != before
    assert harmful >= 50
