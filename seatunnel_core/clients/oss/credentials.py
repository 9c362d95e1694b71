"""Credential providers for ``fs.oss.credentials.provider``, by Hadoop's class names."""

import datetime
import functools
import os
import threading
from collections.abc import Callable, Mapping

from oss2.credentials import Credentials, CredentialsProvider, EcsRamRoleCredentialsProvider, StaticCredentialsProvider
from oss2.exceptions import ClientError

from seatunnel_storage_api.credentials import GROUP, load_provider, provider_names
from seatunnel_storage_api.credentials import Credentials as Issued
from seatunnel_storage_api.credentials import CredentialsProvider as Issuer
from seatunnel_storage_api.errors import StorageConfigurationError, StorageUnavailableError

PROVIDER = "fs.oss.credentials.provider"
KEY_ID = "fs.oss.accessKeyId"
SECRET = "fs.oss.accessKeySecret"
TOKEN = "fs.oss.securityToken"
METADATA = "fs.oss.ecs.metadata"
JCEKS = "hadoop.security.credential.provider.path"

_METADATA_SERVICE = "http://100.100.100.200/latest/meta-data/ram/security-credentials/"
_RENEWED_BEFORE = datetime.timedelta(minutes=5)
_VARIABLES = ("OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_SESSION_TOKEN")


def provider(configuration: Mapping[str, str]) -> CredentialsProvider:
    """Return the first listed provider that has credentials; if none is listed, use the keys in the configuration."""
    if configuration.get(JCEKS):
        raise StorageConfigurationError(
            f"{JCEKS} refers to a Java key store, which cannot be read here. Set {KEY_ID} and {SECRET}; their "
            "values may be ${A_VARIABLE} or file:///run/secrets/a-file"
        )
    names = [name.strip() for name in (configuration.get(PROVIDER) or DEFAULT).split(",") if name.strip()]
    makers = [_maker(name) for name in names]
    lacking = []
    for make in makers:
        try:
            return make(configuration)
        except StorageConfigurationError as error:
            lacking.append(str(error))
    raise StorageConfigurationError("; ".join(lacking))


def _maker(name: str) -> Callable[[Mapping[str, str]], CredentialsProvider]:
    """Return the factory for a provider's class name. Its package differs between Hadoop, the SDK and EMR."""
    make = _PROVIDERS.get(name.rpartition(".")[2])
    issuer = load_provider(name) if make is None else None
    if issuer is not None:
        return lambda configuration: Installed(name, issuer, configuration)
    if make is None:
        raise StorageConfigurationError(
            f"{PROVIDER} contains {name!r}, which is unknown. Built-in providers: {', '.join(_PROVIDERS)}. "
            f"Providers installed in the entry point group {GROUP}: {', '.join(provider_names()) or 'none'}. "
            "Separate several providers with commas"
        )
    return make


def _from_keys(configuration: Mapping[str, str]) -> CredentialsProvider:
    missing = [key for key in (KEY_ID, SECRET) if not configuration.get(key)]
    if missing:
        raise StorageConfigurationError(
            f"{' and '.join(missing)} must be set: use the access key of a RAM user, or another provider, such as "
            f"{PROVIDER}: EnvironmentVariableCredentialsProvider"
        )
    return StaticCredentialsProvider(configuration[KEY_ID], configuration[SECRET], configuration.get(TOKEN) or "")


def _from_keys_and_token(configuration: Mapping[str, str]) -> CredentialsProvider:
    if not configuration.get(TOKEN):
        raise StorageConfigurationError(f"{TOKEN} is not set: temporary keys need the security token issued with them")
    return _from_keys(configuration)


def _from_environment(configuration: Mapping[str, str]) -> CredentialsProvider:
    key_id, secret, token = (os.environ.get(name, "") for name in _VARIABLES)
    if not (key_id and secret):
        raise StorageConfigurationError(
            f"{_VARIABLES[0]} or {_VARIABLES[1]} is not in the environment: set both where the engine is started, and "
            f"{_VARIABLES[2]} if the keys are temporary"
        )
    return StaticCredentialsProvider(key_id, secret, token)


class InstanceProfile(CredentialsProvider):  # type: ignore[misc]  # oss2 has no types
    """Keys for the RAM role of this ECS instance, renewed before they expire."""

    def __init__(self, metadata: str) -> None:
        self._metadata = metadata
        self._provider = EcsRamRoleCredentialsProvider(metadata, max_retries=1, timeout=2)

    def get_credentials(self) -> Credentials:
        """Return the current keys; raise ``StorageUnavailableError`` if the metadata service returns none."""
        try:
            return self._provider.get_credentials()
        except ClientError as cause:
            raise StorageUnavailableError(
                f"the metadata service returned no credentials at {self._metadata}. Attach a RAM role to this "
                f"instance; {METADATA} must end with the role's name"
            ) from cause


class Installed(CredentialsProvider):  # type: ignore[misc]  # oss2 has no types
    """Keys from an installed credential provider, renewed before they expire."""

    def __init__(self, name: str, issuer: Issuer, configuration: Mapping[str, str]) -> None:
        self._issue: Callable[[], Issued | None] = functools.partial(issuer, configuration)
        self._turn = threading.Lock()
        issued = self._issue()
        if issued is None:
            raise StorageConfigurationError(f"the credentials provider {name!r} returned no credentials")
        self._issued = issued

    def get_credentials(self) -> Credentials:
        """Return the current keys; raise ``StorageUnavailableError`` if they have expired and cannot be renewed."""
        with self._turn:
            if _left(self._issued) < _RENEWED_BEFORE:
                self._renew()
            issued = self._issued
        return Credentials(issued.access_key, issued.secret_key, issued.session_token or "")

    def _renew(self) -> None:
        try:
            self._issued = self._issue() or self._issued
        except StorageUnavailableError:
            if _left(self._issued) <= datetime.timedelta(0):
                raise


def _left(issued: Issued) -> datetime.timedelta:
    if issued.expires_at is None:
        return datetime.timedelta.max
    return issued.expires_at - datetime.datetime.now(datetime.UTC)


def _from_instance(configuration: Mapping[str, str]) -> CredentialsProvider:
    written = configuration.get(METADATA) or ""
    if not written or written.endswith("/"):
        raise StorageConfigurationError(
            f"{METADATA} is missing or has no role name: set it to the metadata URL of this instance's RAM role, "
            f"such as {_METADATA_SERVICE}my-role"
        )
    return InstanceProfile(written)


_PROVIDERS: Mapping[str, Callable[[Mapping[str, str]], CredentialsProvider]] = {
    "AliyunCredentialsProvider": _from_keys,
    "TemporaryAliyunCredentialsProvider": _from_keys_and_token,
    "EnvironmentVariableCredentialsProvider": _from_environment,
    "InstanceProfileCredentialsProvider": _from_instance,
    "SimpleAliyunCredentialsProvider": _from_keys,
    "DefaultCredentialProvider": _from_keys,
}
DEFAULT = "AliyunCredentialsProvider"
