"""Keys: where they come from, where they may go, and that nothing prints them."""

from __future__ import annotations

import base64
import copy
import html
import json
import os
import pickle
import re
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest

from tests.patience import PATIENCE_S
from tui.catalog.catalog import packaged_catalog
from tui.catalog.facts import AuthStyle
from tui.cli.main import main
from tui.domain.errors import ConfigError, ErrorKind, ProviderError
from tui.providers.keys import KeyLocation, Keys, checked_key, host_of
from tui.providers.redaction import Redactor, Secret, masked

KEY = "sk-canary-0123456789-ABCDEFGHIJ/+=abcd"
OPENAI = packaged_catalog().provider("openai")


@dataclass
class Holder:
    key: Secret


@pytest.mark.parametrize(
    "show",
    [
        str,
        repr,
        format,
        lambda secret: f"{secret}{secret!r}{secret!s:>20}",
        lambda secret: "{} {!r}".format(secret, secret),  # noqa: UP032 - the other way to format
        json.dumps,
        lambda secret: orjson.dumps(secret).decode(),
        lambda secret: repr(pickle.loads(pickle.dumps(secret))),
        lambda secret: repr(asdict(Holder(secret))),
        lambda secret: repr(copy.deepcopy(Holder(secret))),
        lambda secret: secret + "",
        lambda secret: "".join(secret),
        lambda secret: repr(secret.encode()),
        lambda secret: repr(vars(Holder(secret))),
        lambda secret: repr({secret: [secret]}),
    ],
)
def test_a_secret_shows_its_last_four_characters_however_it_is_shown(show: Callable[[Secret], str]) -> None:
    shown = show(Secret(KEY))
    assert "***abcd" in shown
    assert "canary" not in shown


def test_a_secret_is_equal_to_the_same_key_only() -> None:
    assert Secret(KEY) == Secret(KEY)
    assert Secret(KEY) != Secret("another-key-that-ends-in-abcd")
    assert Secret(KEY) != "***abcd"
    assert str(Secret("short")) == "***"
    assert copy.deepcopy(Secret(KEY)).reveal() == KEY


@pytest.mark.parametrize(
    "text",
    [
        f"key={KEY}",
        f"quoted {quote(KEY, safe='')}",
        f"coded {base64.b64encode(KEY.encode()).decode()}",
        json.dumps({"api_key": "anything-secret-at-all", "n": 1}),
        "{'Authorization': 'Bearer unknown-but-secret-0123'}",
        "x-api-key: unknown-but-secret-0123",
        "https://host/path?key=unknown-but-secret-0123&alt=sse",
        "https://user:unknown-but-secret@host/",
        "the key sk-unknown-but-secret-0123456789 is in the text",
        "AIza" + "x" * 35,
        "-----BEGIN RSA PRIVATE KEY-----\nunknown-but-secret\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_redaction_takes_keys_out_by_value_by_name_and_by_shape(text: str) -> None:
    clean = Redactor([Secret(KEY)]).clean(text)
    for secret in (
        KEY,
        quote(KEY, safe=""),
        base64.b64encode(KEY.encode()).decode(),
        "secret-at-all",
        "but-secret",
        "xxxxx",
    ):
        assert secret not in clean
    assert "***" in clean


ODD_KEY = "Ab+/c&d<9=LmT4vXw2RbYd8Nc/w+E=="


@pytest.mark.parametrize(
    "spelled",
    [
        ODD_KEY.replace("/", "\\/"),
        ODD_KEY.replace("+", "\\u002B").replace("&", "\\u0026").replace("<", "\\u003C"),
        ODD_KEY.replace("+", "\\u002b").replace("&", "\\u0026").replace("<", "\\u003c"),
        re.sub("%..", lambda found: found[0].lower(), quote(ODD_KEY, safe="")),
        quote(ODD_KEY),
        quote(quote(ODD_KEY, safe=""), safe=""),
        *(base64.b64encode(b"u" * before + b":" + ODD_KEY.encode()).decode() for before in range(3)),
        *(base64.urlsafe_b64encode(b"u" * before + ODD_KEY.encode() + b":x").decode() for before in range(3)),
    ],
)
def test_a_key_is_taken_out_as_servers_of_many_languages_write_it(spelled: str) -> None:
    redactor = Redactor([Secret(ODD_KEY)])
    for clean in (redactor.clean_known, redactor.clean_content, redactor.clean):
        text = clean(f"it was [{spelled}]")
        assert "***" in text
        # Of a longer base64 text, the letters around the key stay.
        assert len(text) < len("it was [***w+E==]") + 8, text


def test_a_key_with_quotes_is_taken_out_of_json_and_html_that_repeat_it() -> None:
    key = 'kq"7\\Zp+9<LmT4vXw2Rb=Yd8Nc'
    nested = json.dumps({"sent": json.dumps({"k": f"it was {key}"})})
    for text in (json.dumps([key]), nested, f"<b>{html.escape(key)}</b>", json.dumps(html.escape(key))):
        clean = Redactor([Secret(key)]).clean(text)
        assert "LmT4vXw2Rb" not in clean
        assert "***d8Nc" in clean
    assert json.loads(json.loads(Redactor([Secret(key)]).clean(nested))["sent"]) == {"k": "it was ***d8Nc"}


@pytest.mark.parametrize(
    "spelled",
    [
        KEY.upper(),
        KEY.swapcase(),
        " ".join(KEY),
        "\n".join(KEY),
        KEY[:7] + "\n   " + KEY[7:],
        KEY[:7] + "\\n" + KEY[7:],
        KEY[:7] + "\\\\r\\\\n\\t" + KEY[7:].upper(),
        KEY[:7] + "\\u200b" + KEY[7:-2] + "\\u00ad" + KEY[-2:],
        KEY[:7] + "\u200b" + KEY[7:],
        KEY[:7] + '" "' + KEY[7:],
        "".join(f"\\u{ord(letter):04x}" for letter in KEY),
        KEY[:3] + "".join(f"\\\\u{ord(letter):04X}" for letter in KEY[3:]),
        "".join(f"%{ord(letter):02X}" for letter in KEY),
        "".join(f"&#{ord(letter)};" for letter in KEY),
        KEY.replace("a", "\\x61").replace("e", "&#x65;"),
    ],
)
def test_a_key_in_disguise_is_taken_out_of_an_error(spelled: str) -> None:
    cleaned = Redactor([Secret(KEY)]).clean(f'{{"error": "no such thing: <{spelled}>"}}')
    assert cleaned == f'{{"error": "no such thing: <{masked(KEY)}>"}}'


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "text", ["\\" * 50_000, " " * 50_000, (KEY[:-1] + " ") * 2_000, "\\n" * 30_000, "s k" * 20_000]
)
def test_looking_for_disguised_keys_takes_linear_time(text: str) -> None:
    redactor = Redactor([Secret(KEY)])
    redactor.clean(text[:100])

    def seconds(count: int) -> float:
        begun = time.process_time()
        redactor.clean(text * count)
        return time.process_time() - begun

    once = min(seconds(1) for _ in range(3))
    assert min(seconds(4) for _ in range(3)) < 12 * once + 0.05


def test_redaction_leaves_ordinary_words_alone() -> None:
    text = "The token count of the key idea: 12 tokens, see https://host:8080/path and `max_tokens: 5`."
    assert Redactor([Secret(KEY)]).clean(text) == text
    fields = {"model": "m", "headers": {"x-api-key": KEY}, "list": [f"a {KEY}", 1, None]}
    cleaned = Redactor([Secret(KEY)]).clean_fields(fields)
    assert cleaned == {"model": "m", "headers": {"x-api-key": "***abcd"}, "list": ["a ***abcd", 1, None]}


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ("sk-ab\u200bcd", "U+200B (zero width space) at position 6"),
        ("sk-ab cd", "U+0020 (space) at position 6"),
        ("sk-äbcd", "U+00E4 (latin small letter a with diaeresis) at position 4"),
        ("sk-ab\ncd", "U+000A (control character) at position 6"),
        ("", "The key is empty."),
        ("   \n", "The key is empty."),
    ],
)
def test_a_key_with_a_foreign_character_is_refused_without_being_quoted(typed: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_key(typed)
    assert complaint in caught.value.message
    assert "sk-" not in caught.value.message


@pytest.mark.parametrize("typed", [f"  {KEY}\n", f'"{KEY}"', f"'{KEY}'\r\n"])
def test_white_space_and_quotes_around_a_key_are_dropped(typed: str) -> None:
    assert checked_key(typed).reveal() == KEY


@pytest.fixture
def drawer(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """A keyring of our own."""
    kept: dict[tuple[str, str], str] = {}
    fake = types.ModuleType("keyring")
    fake.get_password = lambda service, name: kept.get((service, name))  # type: ignore[attr-defined]
    fake.set_password = lambda service, name, key: kept.__setitem__((service, name), key)  # type: ignore[attr-defined]
    fake.delete_password = lambda service, name: kept.pop((service, name))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", fake)
    return kept


def test_asking_the_keyring_starts_no_program() -> None:
    """Its library looks for libraries of macOS with a compiler, which would see the keys of our environment."""
    source = """if True:
        import sys
        from tui.providers.system_keyring import Keyring
        started = []
        names = ("subprocess.Popen", "os.exec", "os.fork", "os.posix_spawn", "os.system")
        sys.addaudithook(lambda name, about: started.append((name, about)) if name in names else None)
        Keyring().get("openai", "api.openai.com")
        import keyring
        print(keyring.get_keyring() is not None, "keyring.backends.macOS" in sys.modules, started)
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_KEYRING_BACKEND"}
    command = [sys.executable, "-c", source]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.stdout, done.stderr) == ("True True []\n", "")


def test_the_environment_goes_before_the_keyring_and_that_before_the_file(
    tmp_path: Path, drawer: dict[tuple[str, str], str]
) -> None:
    path, environ = tmp_path / "c.toml", {"OPENAI_API_KEY": "key-from-environment"}
    Keys(path, environ={}, use_keyring=False).save(OPENAI, "key-from-file-1234")
    drawer["ponder", "openai@api.openai.com"] = "key-from-keyring-1"
    found = [Keys(path, environ=environ).find(OPENAI)]
    environ.clear()
    found += [Keys(path, environ=environ).find(OPENAI), Keys(path, environ=environ, use_keyring=False).find(OPENAI)]
    assert [(key.secret.reveal(), key.location) for key in found if key] == [
        ("key-from-environment", KeyLocation.ENVIRONMENT),
        ("key-from-keyring-1", KeyLocation.KEYRING),
        ("key-from-file-1234", KeyLocation.FILE),
    ]


def test_a_saved_key_goes_to_no_other_host(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "c.toml", environ={}, use_keyring=False)
    keys.save(OPENAI, KEY)
    elsewhere = replace(OPENAI, base_url="https://api.openai.com.evil.example/v1")
    assert keys.find(elsewhere) is None
    with pytest.raises(ProviderError) as caught:
        keys.require(elsewhere)
    assert caught.value.kind is ErrorKind.NO_KEY
    assert caught.value.message == (
        "The key of OpenAI was saved for api.openai.com, so it is not sent to api.openai.com.evil.example."
    )


def test_a_key_kept_from_another_terminal_is_found_at_the_next_request(tmp_path: Path) -> None:
    keys = Keys(tmp_path / "c.toml", environ={}, use_keyring=False)
    assert keys.find(OPENAI) is None
    Keys(tmp_path / "c.toml", environ={}, use_keyring=False).save(OPENAI, KEY)
    found = keys.require(OPENAI)
    assert found is not None
    assert found.secret.reveal() == KEY


def test_the_file_is_the_owners_alone_and_refused_when_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "c.toml"
    keys = Keys(path, environ={}, use_keyring=False)
    assert keys.save(OPENAI, KEY) is KeyLocation.FILE
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    path.chmod(0o640)
    with pytest.raises(ConfigError, match="can be read by others") as caught:
        Keys(path, environ={}, use_keyring=False).find(OPENAI)
    assert caught.value.advice == f"Run `chmod 600 {path}`."


def test_a_linked_file_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles" / "keys.toml", tmp_path / "ponder" / "c.toml"
    for folder in (target.parent, link.parent):
        folder.mkdir()
    target.touch(mode=0o600)
    link.symlink_to(target)
    keys = Keys(link, environ={}, use_keyring=False)
    assert keys.save(OPENAI, KEY) is KeyLocation.FILE
    assert (link.is_symlink(), target.is_symlink(), target.stat().st_mode & 0o777) == (True, False, 0o600)
    assert KEY in target.read_text()
    assert keys.forget("openai")
    assert (link.is_symlink(), KEY in target.read_text()) == (True, False)
    assert [path.name for path in (*target.parent.iterdir(), *link.parent.iterdir())] == ["keys.toml", "c.toml"]


def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "c.toml"
    link.symlink_to(tmp_path / "gone" / "keys.toml")
    with pytest.raises(ConfigError, match="cannot be written: its link leads nowhere"):
        Keys(link, environ={}, use_keyring=False).save(OPENAI, KEY)
    assert (link.is_symlink(), link.exists()) == (True, False)


def test_forgetting_a_key_takes_it_from_keyring_and_file(tmp_path: Path, drawer: dict[tuple[str, str], str]) -> None:
    keys = Keys(tmp_path / "c.toml", environ={})
    assert keys.save(OPENAI, KEY) is KeyLocation.KEYRING
    assert (list(drawer.values()), KEY in (tmp_path / "c.toml").read_text()) == ([KEY], False)
    assert keys.forget("openai")
    assert (drawer, keys.find(OPENAI), keys.forget("openai")) == ({}, None, False)


def test_a_keyring_that_hangs_is_given_up(
    tmp_path: Path, drawer: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    release, asked = threading.Event(), []

    def hang(*_: object) -> None:
        asked.append(1)
        release.wait(300)

    monkeypatch.setattr(sys.modules["keyring"], "get_password", hang)
    monkeypatch.setattr("tui.providers.system_keyring.KEYRING_LIMIT_S", 0.05)
    keys = Keys(tmp_path / "c.toml", environ={})
    assert [keys.find(replace(OPENAI, id=f"provider{number}")) for number in range(40)] == [None] * 40
    assert len(asked) == 1
    release.set()


def test_a_key_in_a_keyring_that_hangs_is_not_called_missing_replaced_or_removed(
    tmp_path: Path, drawer: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, release = tmp_path / "c.toml", threading.Event()
    Keys(path, environ={}).save(OPENAI, KEY)
    for name in ("get_password", "set_password", "delete_password"):
        monkeypatch.setattr(sys.modules["keyring"], name, lambda *_: release.wait(300))
    monkeypatch.setattr("tui.providers.system_keyring.KEYRING_LIMIT_S", 0.05)
    with pytest.raises(ProviderError, match="The keyring does not answer, and OpenAI has no other key"):
        Keys(path, environ={}).require(OPENAI)
    with pytest.raises(ConfigError, match="it holds an older key of OpenAI: nothing was changed"):
        Keys(path, environ={}).save(OPENAI, "another-key-12345")
    with pytest.raises(ConfigError, match="it still holds the key of openai: nothing was changed"):
        Keys(path, environ={}).forget("openai")
    assert [(row.provider, row.key) for row in Keys(path, environ={}).saved()] == [("openai", None)]
    release.set()


def test_a_key_with_a_line_break_from_the_keyring_is_named_not_sent(
    tmp_path: Path, drawer: dict[tuple[str, str], str]
) -> None:
    drawer["ponder", "openai@api.openai.com"] = "sk-first\nX-Evil: 1"
    with pytest.raises(ConfigError, match=r"character U\+000A \(control character\) at position 9"):
        Keys(tmp_path / "c.toml", environ={}).find(OPENAI)


def test_a_server_that_needs_no_key_costs_no_keyring(tmp_path: Path, drawer: dict[tuple[str, str], str]) -> None:
    local = replace(OPENAI, id="local", base_url="http://localhost:8080", key_optional=True)
    drawer["ponder", "local@localhost:8080"] = "never-asked-for-12"
    keys = Keys(tmp_path / "c.toml", environ={})
    assert keys.find(local) is None
    keys.save(local, "saved-for-it-12345")
    found = keys.find(local)
    assert found is not None
    assert (found.secret.reveal(), found.location) == ("saved-for-it-12345", KeyLocation.KEYRING)


def test_a_keyring_that_fails_is_no_keyring(
    tmp_path: Path, drawer: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no backend")

    for name in ("get_password", "set_password", "delete_password"):
        monkeypatch.setattr(sys.modules["keyring"], name, fail)
    keys = Keys(tmp_path / "c.toml", environ={})
    assert keys.save(OPENAI, KEY) is KeyLocation.FILE
    found = keys.find(OPENAI)
    assert found is not None
    assert found.location is KeyLocation.FILE


def test_a_bad_key_in_the_environment_is_named_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        Keys(tmp_path / "c.toml", environ={"OPENAI_API_KEY": "sk-canary\u200b"}).find(OPENAI)
    assert caught.value.message.startswith("`OPENAI_API_KEY` does not hold a valid key.")
    assert "canary" not in caught.value.message


def test_a_provider_without_keys_needs_none(tmp_path: Path) -> None:
    none = replace(OPENAI, auth=AuthStyle.NONE)
    optional = replace(OPENAI, key_optional=True)
    keys = Keys(tmp_path / "c.toml", environ={})
    assert (keys.require(none), keys.require(optional)) == (None, None)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://API.example.com/v1", "api.example.com"),
        ("http://localhost:8080/v1", "localhost:8080"),
        ("nonsense", ""),
    ],
)
def test_a_key_is_bound_to_host_and_unusual_port(url: str, host: str) -> None:
    assert host_of(url) == host


def test_the_command_line_keeps_lists_and_removes_without_showing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PONDER_HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", (tmp_path / "typed").open("w+"))
    sys.stdin.write(f"{KEY}\n")
    sys.stdin.seek(0)
    codes = [main(["auth", *words]) for words in (["set", "openai"], ["list"], ["remove", "openai"], ["list"])]
    codes.append(main(["auth", "remove", "openai"]))
    shown = capsys.readouterr()
    assert codes == [0, 0, 0, 0, 2]
    assert "Saved in the credentials file, for api.openai.com only." in shown.out
    assert "***abcd" in shown.out
    assert "canary" not in shown.out + shown.err
    sys.stdin.close()


def test_content_loses_keys_by_value_and_shape_and_keeps_its_own_fields() -> None:
    text = f'{{"key": "colour", "token": "word", "mine": "{KEY}", "theirs": "ghp_{"a" * 20}"}}'
    clean = Redactor([Secret(KEY)]).clean_content(text)
    assert clean == '{"key": "colour", "token": "word", "mine": "***abcd", "theirs": "***"}'
