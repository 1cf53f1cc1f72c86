"""Asks Hugging Face, or another hub with its interface, for the files of a repository, and opens one to read."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from urllib.parse import quote, urljoin

from tui import __version__
from tui.domain.errors import PonderError, ProviderError, UsageError
from tui.domain.fast_dataclass import dataclass
from tui.domain.printable import one_line
from tui.providers.http.address import Address, checked_url
from tui.providers.http.deadlines import RequestLimits
from tui.providers.http.request import HttpRequest
from tui.providers.http.transport import HttpResponse, Transport
from tui.providers.redaction import Secret
from tui.wires.json_text import child, loads, text, whole

ENDPOINT = "https://huggingface.co"
ENDPOINT_VARIABLE, TOKEN_VARIABLE = "HF_ENDPOINT", "HF_TOKEN"
LARGEST_LIST = 16 * 1024 * 1024
LARGEST_FILE = 2 * 10**12
MOST_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
LIMITS = RequestLimits(header_s=30.0, private_header_s=30.0, idle_s=60.0, meaning_s=0.0, total_s=0.0)
_LIST_LIMITS = replace(LIMITS, total_s=60.0, stream_bytes=LARGEST_LIST)
_REPOSITORY = re.compile(r"[\w-](?:[\w.-]{0,94}[\w-])?/[\w-](?:[\w.-]{0,94}[\w-])?", re.ASCII)


class DownloadError(PonderError):
    """A file was not downloaded. ``may_pass`` says whether the same request may succeed a moment later."""

    def __init__(self, message: str, *, advice: str = "", may_pass: bool = False) -> None:
        super().__init__(message, advice=advice)
        self.may_pass = may_pass


@dataclass(frozen=True, slots=True, kw_only=True)
class HubFile:
    """A file of a repository."""

    path: str
    size: int
    sha256: str
    """"" if the hub does not state it."""


class Hub:
    """A client of the hub. The token goes to the hub itself only, never to the servers it redirects to."""

    def __init__(self, transport: Transport, environment: Mapping[str, str]) -> None:
        """Raises UsageError for a wrong HF_ENDPOINT."""
        self._transport = transport
        self._endpoint = (environment.get(ENDPOINT_VARIABLE) or ENDPOINT).strip().rstrip("/")
        try:
            self._address = checked_url(self._endpoint)
        except ProviderError:
            raise UsageError(
                f"{ENDPOINT_VARIABLE} is not an address with encryption.", advice="Write https://HOST, or unset it."
            ) from None
        token = environment.get(TOKEN_VARIABLE, "").strip()
        self._token = Secret(token) if token.isascii() and token.isprintable() and token else None

    @property
    def name(self) -> str:
        """The host, for messages."""
        return self._address.name

    async def files(self, repository: str) -> tuple[HubFile, ...]:
        """Return the GGUF files of ``OWNER/REPO``. Raises DownloadError."""
        url = f"{self._endpoint}/api/models/{repository}/tree/main?recursive=true"
        async with self._open(url, repository, {}, _LIST_LIMITS) as answer:
            try:
                listed = loads(await answer.read_all(LARGEST_LIST))
            except ProviderError as error:
                raise lost_connection(error) from None
            except ValueError:
                raise DownloadError(f"`{self.name}` did not answer with a list of files.") from None
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        return tuple(file for entry in entries if (file := _file(entry)) is not None)

    @asynccontextmanager
    async def open(self, repository: str, file: HubFile, start: int) -> AsyncIterator[HttpResponse]:
        """Open a file at a position. The server may ignore the position: its status is then 200, not 206."""
        headers = {"range": f"bytes={start}-"} if start else {}
        limits = replace(LIMITS, stream_bytes=file.size + 1)
        url = f"{self._endpoint}/{repository}/resolve/main/{quote(file.path)}"
        async with self._open(url, repository, headers, limits) as answer:
            yield answer

    @asynccontextmanager
    async def _open(
        self, url: str, repository: str, headers: Mapping[str, str], limits: RequestLimits
    ) -> AsyncIterator[HttpResponse]:
        """Send a GET and follow redirects. Raises DownloadError for every other answer than 200 and 206."""
        async with AsyncExitStack() as answers:
            for _ in range(MOST_REDIRECTS):
                own = {"user-agent": f"ponder/{__version__}", "accept": "*/*"}
                request = HttpRequest(url=url, method="GET", headers={**own, **headers, **self._authorization(url)})
                try:
                    answer = await answers.enter_async_context(
                        self._transport.open(request, limits=limits, redirects=True)
                    )
                except ProviderError as error:
                    raise lost_connection(error) from None
                if answer.status not in REDIRECTS:
                    self._require_success(answer, repository)
                    yield answer
                    return
                url = self._target(url, answer.headers.get("location", ""))
            raise DownloadError(f"`{self.name}` redirects in a circle.")

    def _authorization(self, url: str) -> dict[str, str]:
        if self._token is None:
            return {}
        address = checked_url(url)
        same = (address.host, address.port, address.secure) == _identity(self._address)
        encrypted = address.secure or address.loopback
        return {"authorization": f"Bearer {self._token.reveal()}"} if same and encrypted else {}

    def _target(self, url: str, location: str) -> str:
        """The address of a redirect: only with encryption, except between servers on this machine."""
        try:
            target = urljoin(url, location)
            address = checked_url(target) if location else None
        except (ProviderError, ValueError):
            address = None
        if address is None or not (address.secure or (address.loopback and self._address.loopback)):
            raise DownloadError(f"`{self.name}` redirects to an address without encryption. Nothing was downloaded.")
        return target

    def _require_success(self, answer: HttpResponse, repository: str) -> None:
        if answer.status in (200, 206):
            return
        # The hub's own words for what is wrong; without a token, it answers 401 for whatever it does not show.
        reason = answer.headers.get("x-error-code", "")
        status, shown = answer.status, one_line(repository, 100)
        if reason in ("EntryNotFound", "RevisionNotFound") or (status == 404 and reason != "RepoNotFound"):
            raise DownloadError(f"`{self.name}` does not have this file of `{shown}`.")
        if reason == "GatedRepo" or status == 403 or (status == 401 and not reason and self._token is not None):
            raise self._refused(shown)
        if status in (401, 404):
            raise DownloadError(f"`{self.name}` has no repository `{shown}`, or does not show it without a token.")
        if status == 416:
            raise DownloadError("The part that is on the disk is not the beginning of this file.", may_pass=True)
        may_pass = status >= 500 or status in (408, 429)
        raise DownloadError(f"`{self.name}` answered with HTTP status {status}.", may_pass=may_pass)

    def _refused(self, repository: str) -> DownloadError:
        page = f"{self._endpoint}/{repository}"
        if self._token is None:
            return DownloadError(
                f"`{self.name}` gives `{repository}` only to users who are signed in and have accepted its terms.",
                advice=f"Accept them at {page}, then put an access token into {TOKEN_VARIABLE}.",
            )
        return DownloadError(
            f"`{self.name}` refuses `{repository}` with the token in {TOKEN_VARIABLE}.",
            advice=f"Accept its terms at {page} with the same account, or use a token that may read it.",
        )


def _identity(address: Address) -> tuple[str, int, bool]:
    return address.host, address.port, address.secure


def lost_connection(error: ProviderError) -> DownloadError:
    """Return the transport's error. Its advice is for providers of the configuration, so it is replaced."""
    return DownloadError(error.message, advice="Check the network.", may_pass=error.retryable)


def _file(entry: Mapping[str, object]) -> HubFile | None:
    path, size = text(entry, "path"), whole(entry, "lfs", "size") or whole(entry, "size")
    if text(entry, "type") != "file" or not _is_safe(path) or size is None or not 0 < size <= LARGEST_FILE:
        return None
    sha256 = text(child(entry, "lfs"), "oid").removeprefix("sha256:").lower()
    return HubFile(path=path, size=size, sha256=sha256 if re.fullmatch(r"[0-9a-f]{64}", sha256) else "")


def _is_safe(path: str) -> bool:
    """Whether the path is that of a GGUF file below the folder it is downloaded to, on every system."""
    names = path.split("/")
    return (
        path.lower().endswith(".gguf")
        and len(path) <= 200
        and path.isprintable()
        and not any(letter in path for letter in '\\:*?"<>|')
        and all(name and not name.startswith(".") and name == name.strip() for name in names)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HubName:
    """What ``hf:OWNER/REPO[:FILE]`` names."""

    repository: str
    file: str = ""
    """A file, or its format, such as Q8_0; "" leaves the choice to the program."""


def parse_hub_name(name: str) -> HubName:
    """Raises UsageError for anything that is not ``hf:OWNER/REPO[:FILE]``."""
    repository, _, file = name.removeprefix("hf:").removeprefix("//").partition(":")
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(
            f"`{one_line(name, 100)}` does not name a model.", advice="Write hf:OWNER/REPO or hf:OWNER/REPO:FILE."
        )
    return HubName(repository=repository, file=file)


PREFERRED = ("Q4_K_M", "UD-Q4_K_XL", "UD-Q4_K_M", "MXFP4", "Q5_K_M", "Q8_0", "Q6_K", "Q4_0", "BF16", "F16")
"""Formats in the order in which one is chosen: small, and hardly worse than the original."""
_NO_MODEL = re.compile(r".*mmproj|mtp-|eagle", re.IGNORECASE)
"""Names of files that belong to a model: the part that sees, and drafts that predict its next tokens."""
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)


def chosen_files(name: HubName, files: Sequence[HubFile]) -> tuple[HubFile, ...]:
    """Return the files of the model that is named, all of its parts in order, without an mmproj file.

    Raises UsageError if there is none, or several.
    """
    models: dict[str, list[HubFile]] = {}
    for file in sorted(files, key=lambda file: file.path):
        if not _NO_MODEL.match(file.path.rpartition("/")[2]):
            models.setdefault(_PART.sub(".gguf", file.path), []).append(file)
    if not models:
        raise UsageError(f"`{name.repository}` has no GGUF file.", advice="Look for a repository of GGUF files.")
    if name.file:
        named = [path for path in models if _is_named(path, name.file) or name.file in {f.path for f in models[path]}]
        if len(named) != 1:
            what = "no file" if not named else "several files"
            raise UsageError(f"`{name.repository}` has {what} `{one_line(name.file, 80)}`.", advice=_choices(models))
        return tuple(models[named[0]])
    for form in PREFERRED:
        fitting = [path for path in models if _has_form(path, form)]
        if fitting:
            return tuple(models[min(fitting, key=len)])
    if len(models) == 1:
        return tuple(*models.values())
    raise UsageError(f"`{name.repository}` has several files.", advice=_choices(models))


def _is_named(path: str, wanted: str) -> bool:
    last = path.rpartition("/")[2]
    return wanted in (path, last, last[:-5]) or _has_form(path, wanted)


def _has_form(path: str, form: str) -> bool:
    """Whether the file's name ends with a format. ``UD-Q4_K_M`` is another one than ``Q4_K_M``."""
    return re.search(rf"(?<!-UD)[-._]{re.escape(form)}$", path[:-5], re.IGNORECASE) is not None


def _choices(models: Mapping[str, Sequence[HubFile]]) -> str:
    shown = [one_line(path, 60) for path in models][:12]
    return "It has " + ", ".join(shown) + (" …" if len(models) > len(shown) else ".")


def projector_for(files: Sequence[HubFile]) -> HubFile | None:
    """Return the repository's mmproj file: the smallest one that loses nothing that matters."""
    projectors = [file for file in files if "mmproj" in file.path.rpartition("/")[2].lower()]
    for form in ("F16", "BF16", "Q8_0"):
        if fitting := [file for file in projectors if _has_form(file.path, form)]:
            return fitting[0]
    return projectors[0] if projectors else None
