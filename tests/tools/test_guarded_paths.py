"""Places that rules alone do not open: by every name they have, in any letter case, and by the file itself."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.fakes.bench import Bench, open_bench, outcome, words
from tui.domain.blocks import DENIED
from tui.tools.builtin.file_tools import ReadFile
from tui.tools.permissions.guarded_paths import guarded_paths, normalized_path


def listed(text: str) -> list[str]:
    return text.split()


# The paths below are facts about other programs. They were gathered from these programs' manuals and compared with
# what firejail's disable-common.inc keeps from sandboxed programs and what sandbox-runtime never lets them write.
SECRETS = listed(
    """
    .git-credentials .git-credential-cache/socket .config/git/credentials .config/gh/hosts.yml
    .config/glab-cli/config.yml .config/gcloud/access_tokens.db .config/gcloud/application_default_credentials.json
    .boto .gsutil/credstore2 .azure/accessTokens.json .azure/msal_token_cache.json .aws/credentials
    .aws/sso/cache/a.json .kube/config kubeconfig-prod.yaml prod.kubeconfig .docker/config.json .dockercfg
    .config/containers/auth.json .npmrc .yarnrc.yml .pypirc .config/pip/pip.conf .pip/pip.conf pip.conf
    .config/rclone/rclone.conf .vault-token .password-store/mail.gpg .local/share/gopass/stores/main/a.age
    .local/share/keyrings/login.keyring .local/share/kwalletd/kdewallet.kwl Library/Keychains/login.keychain-db
    passwords.kdbx cert.p12 cert.pfx release.jks app.keystore private.key host.pem key.ppk AuthKey_A.p8
    terraform.tfstate terraform.tfstate.backup prod.tfvars .terraform.d/credentials.tfrc.json .terraformrc
    .ssh/id_ed25519 .ssh/config .gnupg/private-keys-v1.d/a.key id_rsa .netrc _netrc .pgpass .my.cnf .s3cfg
    .mozilla/firefox/a/logins.json .config/google-chrome/Default/Cookies .config/chromium/Default/History
    Library/Cookies/Cookies.binarycookies .bash_history .python_history .psql_history .cargo/credentials.toml
    .gem/credentials .m2/settings.xml .gradle/gradle.properties .config/hub .config/op/config .codex/auth.json
    .claude/.credentials.json .claude.json .gemini/oauth_creds.json .local/share/opencode/auth.json .env
    .env.production secrets.yaml credentials.json client_secret_1.json .config/sops/age/keys.txt
    .config/doctl/config.yaml .oci/config .smbcredentials .davfs2/secrets .fetchmailrc .msmtprc .muttrc
    .pki/nssdb/key4.db .Xauthority .caff/gnupghome .config/keybase/config.json .ecryptfs/wrapped-passphrase
    .passwd-s3fs .s3cmd/config .histfile .electrum/wallets/a .config/BraveSoftware/Brave-Browser/Cookies
    .thunderbird/a/key4.db .huggingface/token .cache/huggingface/token .config/anthropic/credentials .vercel/auth.json
    .config/composer/auth.json .cursor/mcp.json .config/crush/crush.json .config/mods/mods.yml .config/weechat/sec.conf
    .dbt/profiles.yml .config/Signal/config.json .config/Slack/Cookies .cloudflared/1.json .cf/config.json .tsh/a
    .railway/config.json .sentryclirc .supabase/access-token .step/secrets/a .circleci/cli.yml .travis/config.yml
    .cvspass .subversion/auth/svn.simple/a .jfrog/jfrog-cli.conf.v6
    """
)
ALLOW = {"allow": ["read(**)", "write(**)"]}
SYSTEM_SECRETS = ["/etc/shadow", "/etc/gshadow-", "/etc/ssh/ssh_host_ed25519_key", "/proc/self/environ", "/proc/1/mem"]

STARTUP = listed(
    """
    .local/share/bash-completion/completions/git .local/share/zsh/site-functions/_git .circleci/config.yml
    .config/user-dirs.dirs .config/mpv/scripts/a.lua .config/lf/lfrc .config/ranger/rc.conf .config/yazi/init.lua
    .config/qutebrowser/config.py .ycm_extra_conf.py
    .config/git/config .gitconfig .git/hooks/pre-commit .gitmodules .config/fish/config.fish .zshrc .zshenv .zprofile
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .kshrc .cshrc .tcshrc .inputrc .xinitrc
    .xprofile .xsession .xsessionrc .pam_environment .vimrc .vim/plugin/a.vim .gvimrc .exrc .config/nvim/init.lua
    .local/share/nvim/site/plugin/a.lua .emacs .emacs.d/init.el .tmux.conf .config/tmux/tmux.conf .screenrc
    .local/bin/ls bin/ls .bin/ls .cargo/bin/cargo .cargo/config.toml .cargo/env .nvm/nvm.sh .rustup/settings.toml
    .config/autostart/a.desktop .config/autostart-scripts/a.sh .config/plasma-workspace/env/a.sh
    .config/systemd/user/a.service .local/share/systemd/user/a.service .config/environment.d/a.conf .config/i3/config
    .config/sway/config .config/openbox/autostart .config/awesome/rc.lua .local/share/applications/a.desktop
    .config/mimeapps.list Library/LaunchAgents/a.plist .envrc .direnvrc .config/direnv/direnvrc
    .config/mise/config.toml .vscode/tasks.json .idea/workspace.xml .config/Code/User/settings.json
    .config/zed/settings.json .config/helix/config.toml .devcontainer/devcontainer.json .dir-locals.el
    .claude/settings.json .claude/commands/a.md .mcp.json .cursor/mcp.json .codex/config.toml .gemini/settings.json
    .config/opencode/opencode.json .aider.conf.yml AGENTS.md CLAUDE.md .github/copilot-instructions.md
    .ssh/authorized_keys .ssh/rc .ssh/config .gnupg/gpg-agent.conf .aws/config .kube/config .docker/config.json
    .config/gh/config.yml .npmrc .yarnrc .ripgreprc .pythonrc.py .ipython/profile_default/startup/a.py .gdbinit
    .lldbinit .irbrc .psqlrc .sqliterc .latexmkrc .mailcap .forward .muttrc .rhosts .husky/pre-commit .hgrc
    .config/kitty/kitty.conf .config/starship.toml .oh-my-zsh/custom/a.zsh .zsh/a.zsh .zshrc.local .wezterm.lua
    .mkshrc
    """
)
SYSTEM_STARTUP = ["/etc/cron.d/a", "/etc/profile.d/a.sh", "/etc/ld.so.preload", "/var/spool/cron/crontabs/root"]

ORDINARY = listed(
    """
    src/main.py README.md identity.py environment.py key.txt config/settings.toml keyboard.py
    docs/credentials-guide/a.md docker/Dockerfile kube/deploy.yaml gitconfig.md .github/ISSUE_TEMPLATE/bug.md
    aws/lambda.py bash/rc.md sshd.py sub/bin/tool
    """
)


@pytest.fixture
def trusting(tmp_path: Path) -> Bench:
    """The working folder is the home folder, and the rules allow everything in it."""
    return open_bench(tmp_path, home=tmp_path / "ws", permissions=ALLOW)


def make(path: Path, text: str = "hush") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.one_in(10)
@pytest.mark.parametrize("name", SECRETS)
async def test_credentials_ask_before_they_are_read(trusting: Bench, name: str) -> None:
    path = make(trusting.folder / name)
    assert outcome(await trusting.call("read_file", path=str(path))) == (False, DENIED)
    assert "may contain secrets" in trusting.user.asked[0].note


@pytest.mark.parametrize("name", SYSTEM_SECRETS)
async def test_the_systems_secrets_ask_before_they_are_read(trusting: Bench, name: str) -> None:
    assert outcome(await trusting.call("read_file", path=name)) == (False, DENIED)


async def test_a_search_leaves_all_of_them_out(trusting: Bench) -> None:
    for name in (*SECRETS, "notes.txt"):
        make(trusting.folder / name)
    assert words(await trusting.call("grep", pattern="hush")) == "notes.txt:1: hush"


async def test_a_search_of_a_secret_place_that_was_agreed_to_looks_into_it(trusting: Bench) -> None:
    make(trusting.folder / ".aws" / "config")
    assert words(await trusting.call("grep", path=".aws", pattern="hush")) == DENIED
    assert words(await trusting.call("grep", "once", path=".aws", pattern="hush")) == ".aws/config:1: hush"


@pytest.mark.one_in(10)
@pytest.mark.parametrize("name", STARTUP)
async def test_what_runs_by_itself_asks_before_it_is_written(trusting: Bench, name: str) -> None:
    path = trusting.folder / name
    assert outcome(await trusting.call("write_file", path=str(path), content="x")) == (False, DENIED)
    assert "always needs approval" in trusting.user.asked[0].note
    assert trusting.user.asked[0].patterns == ()
    assert not path.exists()


@pytest.mark.parametrize("name", SYSTEM_STARTUP)
async def test_the_systems_startup_files_ask_before_they_are_written(trusting: Bench, name: str) -> None:
    assert outcome(await trusting.call("write_file", path=name, content="x")) == (False, DENIED)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ORDINARY)
async def test_ordinary_names_that_sound_alike_do_not_ask(trusting: Bench, name: str) -> None:
    assert not (await trusting.call("write_file", path=name, content="x")).failed
    assert not (await trusting.call("read_file", path=name)).failed
    assert trusting.user.asked == []


@pytest.mark.parametrize(
    "name", [".BashRC", ".Config/Git/Config", ".ba\u017fhrc", ".bash\u200crc", ".bashrc.", "CLAUDE.MD"]
)
async def test_names_that_a_file_system_may_take_for_guarded_ones_ask(trusting: Bench, name: str) -> None:
    assert outcome(await trusting.call("write_file", path=f"~/{name}", content="x")) == (False, DENIED)


def guards_of(bench: Bench, name: str) -> tuple[str, str]:
    tool = bench.toolbox.tools["read_file"]
    assert isinstance(tool, ReadFile)
    path = tool.workspace.resolve(name)
    return path.read_guard.value, path.write_guard.value


async def test_a_guarded_file_asks_by_every_name_that_leads_to_it(trusting: Bench) -> None:
    home = trusting.folder
    for name in ("dotfiles/rc", "dotfiles/git/config", "store/token", "settings/variables"):
        make(home / name)
    (home / ".config").mkdir()
    (home / "sub").mkdir()
    for link, target in (
        (".bashrc", "dotfiles/rc"),
        (".config/git", "../dotfiles/git"),
        (".netrc", "store/token"),
        ("second", ".bashrc"),
        ("sub/.envrc", "../settings/variables"),
        ("other", "sub/.envrc"),
    ):
        (home / link).symlink_to(target)
    os.link(home / "store" / "token", home / "notes.txt")
    runs = ["~/.bashrc", "second", "dotfiles/rc", ".config/git/config", "dotfiles/git/hooks/x", "other", "sub/.envrc"]
    assert [guards_of(trusting, name)[1] for name in runs] == ["always asks"] * len(runs)
    secret = [".netrc", "store/token", "notes.txt", "sub/../.config/../notes.txt"]
    assert [guards_of(trusting, name)[0] for name in secret] == ["secret"] * len(secret)
    assert guards_of(trusting, "settings/ordinary") == guards_of(trusting, "dotfiles/readme") == ("none", "none")
    assert outcome(await trusting.call("read_file", path="notes.txt")) == (False, DENIED)
    assert outcome(await trusting.call("write_file", path="dotfiles/git/hooks/x", content="x")) == (False, DENIED)


async def test_dots_in_a_path_change_nothing(trusting: Bench) -> None:
    make(trusting.folder / ".aws" / "rc")
    (trusting.folder / "way").symlink_to(".aws")
    assert outcome(await trusting.call("read_file", path="sub/../" * 60 + "way/./rc")) == (False, DENIED)


async def test_a_loop_of_links_is_an_answer(trusting: Bench) -> None:
    for link, target in (("a", "b"), ("b", "a"), ("c", "c/c/c")):
        (trusting.folder / link).symlink_to(target)
    for name in ("a", "c", "c/x"):
        assert (await trusting.call("read_file", path=name)).failed


async def test_variables_that_move_such_files_are_known(tmp_path: Path) -> None:
    home = tmp_path.resolve() / "ws"
    bench = open_bench(
        tmp_path,
        home=home,
        permissions=ALLOW,
        environment={
            "XDG_CONFIG_HOME": str(home / "cfg"),
            "KUBECONFIG": f"{home}/clusters/one:{home}/clusters/two",
            "ZDOTDIR": str(home),
            "GNUPGHOME": "/",
        },
    )
    for name in ("cfg/gh/hosts.yml", "clusters/one", "clusters/two"):
        assert outcome(await bench.call("read_file", path=str(make(home / name)))) == (False, DENIED)
    assert outcome(await bench.call("write_file", path="cfg/fish/a.fish", content="x")) == (False, DENIED)
    # A variable that names the home folder, or the whole disk, guards nothing by that.
    assert not (await bench.call("write_file", path="notes.txt", content="x")).failed
    assert bench.user.asked == []


def test_what_a_sandbox_can_carve_out_is_told(tmp_path: Path) -> None:
    make(tmp_path / ".bashrc")
    make(tmp_path / ".config" / "nvim" / "init.lua")
    there = guarded_paths(tmp_path, {}).startup.existing()
    assert {tmp_path / ".bashrc", Path("/etc")} <= set(there)
    assert guarded_paths(tmp_path, {}).startup.fits(tmp_path / ".config" / "nvim")


CONFIGURED = """
[core]
    hooksPath = "scripts/hooks"
    fsmonitor = ./tools/watch.sh --fast
[include]
    path = ../shared.inc
[filter "f"]
    clean = sh ./tools/clean.sh %f
[alias]
    deploy = "!tools/deploy.sh"
[remote "tools"]
    url = ./tools/elsewhere
"""
BY_GIT = ["scripts/hooks/pre-commit", "tools/watch.sh", "shared.inc", "tools/clean.sh", "tools/deploy.sh"]
REPOSITORY = ["sub/HEAD", "sub/commondir", "sub/config.worktree", "bare/config", "bare/hooks/post-checkout"]


@pytest.mark.parametrize("worktree", [False, True], ids=["repository", "worktree"])
async def test_writing_what_git_runs_by_its_configuration_asks_whatever_rules_allow(
    tmp_path: Path, worktree: bool
) -> None:
    folder, place = tmp_path / "ws", tmp_path / "ws/.git"
    folder.mkdir()
    if worktree:
        place = tmp_path / "main" / ".git"
        (place / "worktrees" / "w").mkdir(parents=True)
        (place / "worktrees" / "w" / "commondir").write_text("../..\n")
        (folder / ".git").write_text(f"gitdir: {place}/worktrees/w\n")
    else:
        place.mkdir()
    (place / "config").write_text(CONFIGURED.replace("../shared.inc", str(folder / "shared.inc")))
    for name in (*BY_GIT, "bare/HEAD", "bare/objects/x", "bare/refs/x"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
    bench = open_bench(tmp_path, permissions={"allow": ["write", "shell rw"]})
    for name in (*BY_GIT, *REPOSITORY):
        await bench.call("read_file", path=name)
        assert (await bench.call("write_file", path=name, content="x")).failed, name
        assert len(bench.user.asked) == 1, name
    assert not (await bench.call("write_file", path="tools/other.sh", content="x")).failed
    assert bench.user.asked == []


async def test_a_sandboxed_command_leaves_what_git_runs_by_its_configuration(tmp_path: Path) -> None:
    for name in BY_GIT:
        (tmp_path / "ws" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "ws" / name).write_text("mine")
    (tmp_path / "ws/.git").mkdir()
    (tmp_path / "ws/.git/config").write_text(CONFIGURED)
    bench = open_bench(tmp_path, permissions={"allow": ["shell rw"]})
    if not bench.toolbox.tools["shell"].sandbox.strengths():  # type: ignore[attr-defined]  # the real one
        pytest.skip("NO SANDBOX ON THIS MACHINE: not tested")
    await bench.call("shell", command="; ".join(f"echo evil > {name}" for name in BY_GIT))
    assert [(bench.folder / name).read_text() for name in BY_GIT] == ["mine"] * len(BY_GIT)


@pytest.mark.parametrize(
    "config",
    [
        "[core]\nhooksPath = " + "x" * 5000,
        "[core]\nhooksPath = a\0b",
        "[alias]\nx = !./" + "y/" * 4000,
        "[include]\npath = loop/x",
        "[core]\nhooksPath = .",
        "[core]\nhooksPath = ../..",
    ],
)
async def test_an_odd_configuration_of_git_guards_nothing_more(tmp_path: Path, config: str) -> None:
    (tmp_path / "ws/.git").mkdir(parents=True)
    (tmp_path / "ws/.git/loop").symlink_to("loop")
    (tmp_path / "ws/.git/config").write_text(config)
    bench = open_bench(tmp_path, permissions={"allow": ["write"]})
    assert not (await bench.call("write_file", path="tools/other.sh", content="x")).failed


@pytest.mark.parametrize("home", ["/home/u.ser", "/"])
def test_another_process_is_told_the_same_in_one_expression(home: str) -> None:
    guarded = guarded_paths(Path(home), {"KUBECONFIG": "/else/Kube.d"})
    named = ["/else/Kube.d", "/else/Kube.d/x", "/else/Kube.d2", "/else/kubeXd", "/home/userx/.bashrc", "/etc/shadow"]
    paths = [*named, *(str(Path(home, one)) for one in (*SECRETS, *STARTUP)), *(f"/x/{one}" for one in SECRETS)]
    for table in (guarded.secret, guarded.startup):
        told = re.compile(table.expression())
        fits = {path: table.fits(Path(path)) for path in paths}
        assert {path: told.search(normalized_path(Path(path))) is not None for path in paths} == fits
        assert set(fits.values()) == {True, False}
