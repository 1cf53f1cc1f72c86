"""Finds signs of a login at a cloud, without logging in: a variable, or a file, whose content is not read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

from tui.catalog.facts import Cloud, ProviderFacts
from tui.providers.clouds.failures import install_command

_VARIABLES = {
    Cloud.AWS: ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
    Cloud.GOOGLE: ("GOOGLE_APPLICATION_CREDENTIALS",),
    Cloud.AZURE: ("AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE", "IDENTITY_ENDPOINT"),
}  # fmt: skip
_PACKAGES = {Cloud.AWS: "botocore", Cloud.GOOGLE: "google.auth", Cloud.AZURE: "azure.identity"}


def login_hint(provider: ProviderFacts, environment: Mapping[str, str]) -> str:
    """Where the login would come from; "" if there is no sign of one. Looks for files: call it in a thread."""
    if provider.cloud is None:
        return ""
    profile = provider.account.get("profile")
    variable = next((name for name in _VARIABLES[provider.cloud] if environment.get(name)), None)
    if profile:
        found = f"profile {profile}"
    elif variable is not None:
        found = f"environment {variable}"
    else:
        found = next((shown for path, shown in _files(provider.cloud, environment) if path.exists()), "")
    if not found or is_installed(provider.cloud):
        return found
    return f"{found}, not usable yet: {install_command(provider)}"


def is_installed(cloud: Cloud) -> bool:
    """Whether the package for logins at this cloud is installed."""
    try:
        return find_spec(_PACKAGES[cloud]) is not None
    except ModuleNotFoundError:  # the package above it
        return False


def _files(cloud: Cloud, environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Yield the files in which logins are kept, and how they are shown."""
    home = Path(environment.get("HOME") or environment.get("USERPROFILE") or "~").expanduser()
    match cloud:
        case Cloud.AWS:
            yield Path(environment.get("AWS_SHARED_CREDENTIALS_FILE") or home / ".aws" / "credentials"), "~/.aws"
            yield Path(environment.get("AWS_CONFIG_FILE") or home / ".aws" / "config"), "~/.aws"
        case Cloud.GOOGLE:
            usual = Path(environment.get("APPDATA", "")) if os.name == "nt" else home / ".config"
            folder = Path(environment.get("CLOUDSDK_CONFIG") or usual / "gcloud")
            yield folder / "application_default_credentials.json", "gcloud"
        case Cloud.AZURE:
            folder = Path(environment.get("AZURE_CONFIG_DIR") or home / ".azure")
            yield folder / "azureProfile.json", "az login"
