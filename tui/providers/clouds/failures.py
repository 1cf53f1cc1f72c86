"""The errors of cloud logins: what is missing, and the command that helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tui.catalog.cloud_accounts import unfilled
from tui.catalog.facts import Cloud, ProviderFacts
from tui.domain.errors import NO_LOGIN, ErrorKind, ProviderError
from tui.domain.format_numbers import count
from tui.domain.printable import one_line

LONGEST_REASON = 200
_NAMES = {Cloud.AWS: "AWS", Cloud.GOOGLE: "Google Cloud", Cloud.AZURE: "Azure"}


def cloud_name(provider: ProviderFacts) -> str:
    """The name of the provider's cloud."""
    return "" if provider.cloud is None else _NAMES[provider.cloud]


def log_in_command(provider: ProviderFacts) -> str:
    """The command that logs in at the provider's cloud."""
    match provider.cloud:
        case Cloud.AWS:
            profile = provider.account.get("profile")
            return "aws sso login" + (f" --profile {profile}" if profile else "")
        case Cloud.GOOGLE:
            return "gcloud auth application-default login"
        case Cloud.AZURE:
            return "az login"
        case None:
            return ""
        case _:
            assert_never(provider.cloud)


def not_installed(provider: ProviderFacts) -> ProviderError:
    """The extra of this cloud is not installed."""
    return ProviderError(
        ErrorKind.NO_KEY,
        f"{provider.title} needs the package for logins at {cloud_name(provider)}, which is not installed.",
        code=NO_LOGIN,
        advice=f"Install it: `{install_command(provider)}`{_or_a_key(provider)}.",
    )


def install_command(provider: ProviderFacts) -> str:
    """The command that installs the extra of a provider's cloud."""
    return f"pip install 'ponder-tui[{provider.cloud}]'"


def not_logged_in(provider: ProviderFacts) -> ProviderError:
    """The chain found nothing."""
    return ProviderError(
        ErrorKind.NO_KEY,
        f"There is no login at {cloud_name(provider)} for {provider.title}.",
        code=NO_LOGIN,
        advice=f"Run `{log_in_command(provider)}`{_or_a_key(provider)}.",
    )


def failed(provider: ProviderFacts, error: Exception) -> ProviderError:
    """The chain found something that does not work, such as a login that has ended."""
    reason = one_line(str(error), LONGEST_REASON).rstrip(".") or type(error).__name__
    return ProviderError(
        ErrorKind.NO_KEY,
        f"The login at {cloud_name(provider)} for {provider.title} failed: {reason}.",
        code=NO_LOGIN,
        advice=f"Run `{log_in_command(provider)}`{_or_a_key(provider)}.",
    )


def missing_in_address(provider: ProviderFacts) -> ProviderError:
    """Neither settings nor environment nor login say what the address needs."""
    missing = unfilled(provider.base_url)[-1]
    variables = provider.account_env.get(missing, ())
    variable = f"Set `{variables[0]}`, or" if variables else "Set"
    return ProviderError(
        ErrorKind.INVALID_REQUEST,
        f"{provider.title} needs to know the {missing}.",
        advice=f'{variable} `account = {{ {missing} = "…" }}` in `[providers.{provider.id}]` of `config.toml`.',
    )


def too_slow(provider: ProviderFacts, seconds: float, programs: Sequence[str] = ()) -> ProviderError:
    """The chain did not end in time, perhaps because of programs that were ended."""
    limit = count(round(seconds), "second")
    if programs:
        ended = ", ".join(f"`{one_line(name, LONGEST_REASON)}`" for name in programs)
        return ProviderError(
            ErrorKind.TIMEOUT,
            f"The login at {cloud_name(provider)} for {provider.title} did not end within {limit}; {ended} was ended.",
            retryable=False,
            advice="Run it by hand (`credential_process` of your AWS profile): it cannot ask for anything here.",
        )
    return ProviderError(
        ErrorKind.TIMEOUT,
        f"The login at {cloud_name(provider)} for {provider.title} did not end within {limit}.",
        retryable=False,
        advice="Check the network and, in a virtual machine or container, its metadata service.",
    )


def _or_a_key(provider: ProviderFacts) -> str:
    return f", or set `{provider.key_env[0]}`" if provider.key_env else ""
