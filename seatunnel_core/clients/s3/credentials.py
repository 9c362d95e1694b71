"""Credentials from ``fs.s3a.aws.credentials.provider``: Hadoop's class names, mapped to boto3.

When a storage is created, the listed providers are tried in order, and the first one with credentials is used.
Credentials that expire are renewed as long as the storage exists.
"""

import datetime
import logging
from collections.abc import Callable, Mapping

from attrs import frozen
from botocore.credentials import Credentials, RefreshableCredentials

from seatunnel_core.clients.s3 import role
from seatunnel_core.clients.s3.answers import translated
from seatunnel_core.clients.s3.client import UNSIGNED, new_session
from seatunnel_storage_api.credentials import GROUP, load_provider, provider_names
from seatunnel_storage_api.credentials import Credentials as Handed
from seatunnel_storage_api.errors import StorageConfigurationError, StorageUnavailableError

PROVIDERS = "fs.s3a.aws.credentials.provider"
ROLE_PROVIDERS = "fs.s3a.assumed.role.credentials.provider"
ACCESS_KEY = "fs.s3a.access.key"
SECRET_KEY = "fs.s3a.secret.key"
SESSION_TOKEN = "fs.s3a.session.token"
KEYSTORES = ("fs.s3a.security.credential.provider.path", "hadoop.security.credential.provider.path")

DEFAULT_PROVIDERS = "TemporaryAWSCredentialsProvider, SimpleAWSCredentialsProvider, DefaultCredentialsProvider"
"""Default providers: the keys in the configuration, or else the credentials that boto3 finds."""

DEFAULT_ROLE_PROVIDERS = "SimpleAWSCredentialsProvider, EnvironmentVariableCredentialsProvider"
"""Hadoop's default providers for the credentials with which a role is assumed."""

_PACKAGES = frozenset(
    {
        "",
        "org.apache.hadoop.fs.s3a",
        "org.apache.hadoop.fs.s3a.auth",
        "com.amazonaws.auth",
        "com.amazonaws.auth.profile",
        "software.amazon.awssdk.auth.credentials",
    }
)

_EARLIEST_S = 15 * 60
_LATEST_S = 10 * 60
"""Seconds before expiry at which credentials are renewed: first in the background, then while requests wait."""


logger = logging.getLogger("seatunnel.storage")


@frozen
class Provider:
    """A credential provider that the configuration may list."""

    ask: Callable[[Mapping[str, str]], Credentials | None]
    in_vain: str = "has none"
    """Phrase that error messages contain if the provider has no credentials."""


def find(configuration: Mapping[str, str]) -> Credentials:
    """Return the credentials to sign requests with, or ``UNSIGNED``."""
    _refuse_keystores(configuration)
    _refuse_parts(configuration)
    return _first(configuration, PROVIDERS, DEFAULT_PROVIDERS)


def check(configuration: Mapping[str, str]) -> None:
    """Check the configuration of the credentials without sending a request."""
    _refuse_keystores(configuration)
    _refuse_parts(configuration)
    providers = [*_providers(configuration, PROVIDERS, DEFAULT_PROVIDERS).values()]
    if providers == [_ASSUMED]:
        role.request(configuration)
        _providers(configuration, ROLE_PROVIDERS, DEFAULT_ROLE_PROVIDERS)
    if all(each in (_SIMPLE, _TEMPORARY, _ANONYMOUS) for each in providers):
        _first(configuration, PROVIDERS, DEFAULT_PROVIDERS)


def _providers(configuration: Mapping[str, str], key: str, default: str) -> dict[str, Provider]:
    names = [name.strip() for name in (configuration.get(key) or default).split(",")]
    return {name: _provider(key, name) for name in names if name}


def _first(configuration: Mapping[str, str], key: str, default: str) -> Credentials:
    providers = _providers(configuration, key, default)
    for provider in providers.values():
        with translated():
            credentials = provider.ask(configuration)
        if credentials is not None:
            return credentials
    reasons = "; ".join(f"{name} {provider.in_vain}" for name, provider in providers.items())
    raise StorageConfigurationError(f"there are no credentials for S3: {reasons}. Set up one of these providers")


def _provider(key: str, name: str) -> Provider:
    package, _, simple = name.rpartition(".")
    if package in _PACKAGES and simple in KNOWN:
        return KNOWN[simple]
    provide = load_provider(name)
    if provide is not None:
        return Provider(lambda configuration: renewed(lambda: provide(configuration), name))
    raise StorageConfigurationError(
        f"{key} contains {name!r}, which is unknown. Built-in providers, with or without their Java package: "
        f"{', '.join(KNOWN)}. Providers installed in the entry point group {GROUP}: "
        f"{', '.join(provider_names()) or 'none'}"
    )


def _refuse_keystores(configuration: Mapping[str, str]) -> None:
    for key in KEYSTORES:
        if configuration.get(key):
            raise StorageConfigurationError(
                f"{key} refers to a keystore (jceks) that only Java can open. Remove it, and set {ACCESS_KEY}: "
                f"${{AWS_ACCESS_KEY_ID}} and {SECRET_KEY}: ${{AWS_SECRET_ACCESS_KEY}} to take the two from the "
                "environment, or file:///run/secrets/… to take each from a file"
            )


def _refuse_parts(configuration: Mapping[str, str]) -> None:
    given = [key for key in (ACCESS_KEY, SECRET_KEY, SESSION_TOKEN) if configuration.get(key)]
    missing = [key for key in (ACCESS_KEY, SECRET_KEY) if key not in given]
    if given and missing:
        raise StorageConfigurationError(
            f"{' and '.join(given)} is set, but {' and '.join(missing)} is not. Set both, or neither"
        )


def renewed(provide: Callable[[], Handed | None], method: str) -> Credentials | None:
    """Return credentials that ``provide`` renews before they expire; ``None`` if it has none."""
    first = provide()
    if first is None:
        return None
    if first.expires_at is None:
        return Credentials(first.access_key, first.secret_key, first.session_token, method=method)
    life_s = _life_s(first.expires_at, method)
    return RefreshableCredentials(
        first.access_key,
        first.secret_key,
        first.session_token,
        first.expires_at,
        refresh_using=lambda: _described(provide(), method),
        method=method,
        advisory_timeout=min(_EARLIEST_S, life_s / 2),
        mandatory_timeout=min(_LATEST_S, life_s / 4),
    )


def _life_s(expires_at: datetime.datetime, method: str) -> float:
    left_s = (expires_at - datetime.datetime.now(datetime.UTC)).total_seconds()
    if left_s <= 0:
        raise StorageUnavailableError(
            f"{method} returned expired credentials. Check that their source is up to date, and check this "
            "machine's clock"
        )
    return left_s


def _described(handed: Handed | None, method: str) -> dict[str, str | None]:
    if handed is None or handed.expires_at is None:
        raise StorageConfigurationError(
            f"{method} returned credentials that expire, and now credentials that do not expire. It must always "
            "return the same kind"
        )
    _life_s(handed.expires_at, method)
    return {
        "access_key": handed.access_key,
        "secret_key": handed.secret_key,
        "token": handed.session_token,
        "expiry_time": handed.expires_at.isoformat(),
    }


def _simple(configuration: Mapping[str, str]) -> Credentials | None:
    """Return credentials from the two keys in the configuration. As in Hadoop, a session token is ignored."""
    if configuration.get(PROVIDERS) and configuration.get(SESSION_TOKEN):
        logger.warning(
            "%s has no effect with SimpleAWSCredentialsProvider: use TemporaryAWSCredentialsProvider", SESSION_TOKEN
        )
    return _static(configuration)


def _static(configuration: Mapping[str, str]) -> Credentials | None:
    access_key, secret_key = configuration.get(ACCESS_KEY), configuration.get(SECRET_KEY)
    return Credentials(access_key, secret_key, method="static") if access_key and secret_key else None


def _temporary(configuration: Mapping[str, str]) -> Credentials | None:
    credentials, token = _static(configuration), configuration.get(SESSION_TOKEN)
    if credentials is None or not token:
        return None
    return Credentials(credentials.access_key, credentials.secret_key, token, method="temporary")


def _assumed(configuration: Mapping[str, str]) -> Credentials | None:
    if "AssumedRole" in (configuration.get(ROLE_PROVIDERS) or ""):
        raise StorageConfigurationError(
            f"{ROLE_PROVIDERS} contains AssumedRoleCredentialProvider, which would call itself. Use a provider that "
            "may assume the role, such as SimpleAWSCredentialsProvider"
        )
    source = _first(configuration, ROLE_PROVIDERS, DEFAULT_ROLE_PROVIDERS)
    return renewed(role.role_provider(configuration, source), "assumed-role")


def _boto3(*names: str) -> Callable[[Mapping[str, str]], Credentials | None]:
    """Return a provider that uses boto3's own providers with these names, or all of them if no names are given."""

    def ask(_: Mapping[str, str]) -> Credentials | None:
        chain = new_session().get_component("credential_provider")
        if not names:
            return chain.load_credentials()
        found = (chain.get_provider(name).load() for name in names)
        return next((credentials for credentials in found if credentials is not None), None)

    return ask


_PAIR = f"needs {ACCESS_KEY} and {SECRET_KEY}"
_NO_ROLE = "found no metadata service, or the service has no role; attach a role to this machine"
_TOKEN_FILE = "needs AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE in the environment"
_NOTHING = "found no credentials in the environment, in ~/.aws or at the metadata service"

_SIMPLE = Provider(_simple, _PAIR)
_TEMPORARY = Provider(_temporary, f"{_PAIR} and {SESSION_TOKEN}")
_ANONYMOUS = Provider(lambda _: UNSIGNED)
_ENVIRONMENT = Provider(_boto3("env"), "needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment")
_INSTANCE = Provider(_boto3("iam-role"), _NO_ROLE)
_CONTAINER = Provider(_boto3("container-role"), "needs AWS_CONTAINER_CREDENTIALS_FULL_URI in the environment")
_WEB_IDENTITY = Provider(_boto3("assume-role-with-web-identity"), _TOKEN_FILE)
_PROFILE = Provider(
    _boto3("assume-role", "shared-credentials-file", "config-file"),
    "needs a profile in ~/.aws/credentials, selected by AWS_PROFILE",
)
_EVERYTHING = Provider(_boto3(), _NOTHING)
_ASSUMED = Provider(_assumed)

KNOWN: Mapping[str, Provider] = {
    "SimpleAWSCredentialsProvider": _SIMPLE,
    "TemporaryAWSCredentialsProvider": _TEMPORARY,
    "AnonymousAWSCredentialsProvider": _ANONYMOUS,
    "EnvironmentVariableCredentialsProvider": _ENVIRONMENT,
    "InstanceProfileCredentialsProvider": _INSTANCE,
    "IAMInstanceCredentialsProvider": Provider(_boto3("container-role", "iam-role"), _NO_ROLE),
    "AssumedRoleCredentialProvider": _ASSUMED,
    "AnonymousCredentialsProvider": _ANONYMOUS,
    "ContainerCredentialsProvider": _CONTAINER,
    "WebIdentityTokenCredentialsProvider": _WEB_IDENTITY,
    "WebIdentityTokenFileCredentialsProvider": _WEB_IDENTITY,
    "ProfileCredentialsProvider": _PROFILE,
    "DefaultAWSCredentialsProviderChain": _EVERYTHING,
    "DefaultCredentialsProvider": _EVERYTHING,
}
"""Providers by class name without package; all these names are unique."""
