"""Credentials from installed providers, for storages that sign their requests with an access key.

A credentials provider is a distribution with an entry point in the group ``seatunnel.credentials_provider``. The entry
point's name is used in a backend's option for providers, and its value is a function::

    def provide(configuration: Mapping[str, str]) -> Credentials | None:
        return Credentials(access_key=…, secret_key=…, session_token=…, expires_at=…)

It is called when the storage is created and again before ``expires_at``, from any thread. ``None`` means that the
provider has no credentials, so that the next provider in the list is tried; an exception means that they are
temporarily unavailable. Only providers read keys of ``plugin-config`` that start with ``seatunnel.credentials.``.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from importlib.metadata import EntryPoint, entry_points

from attrs import field, frozen

from seatunnel_storage_api.errors import StoragePluginError, StorageUnavailableError

GROUP = "seatunnel.credentials_provider"

OWN_KEYS = "seatunnel.credentials."
"""Prefix of the keys of ``plugin-config`` that only providers read."""


@frozen(kw_only=True)
class Credentials:
    """An access key that signs requests. ``repr`` shows no part of it."""

    access_key: str = field(repr=False)

    secret_key: str = field(repr=False)

    session_token: str | None = field(default=None, repr=False)

    expires_at: datetime | None = field(default=None)
    """Time of expiry, with a time zone; ``None`` for never."""

    @expires_at.validator
    def _with_a_time_zone(self, _: object, moment: datetime | None) -> None:
        if moment is not None and moment.tzinfo is None:
            raise ValueError("expires_at must have a time zone: write datetime.now(timezone.utc) + …")


CredentialsProvider = Callable[[Mapping[str, str]], Credentials | None]


def provider_names() -> tuple[str, ...]:
    """Return the names of all installed providers, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def load_provider(name: str) -> CredentialsProvider | None:
    """Return the provider that an installed distribution registers under this name; ``None`` if there is none.

    Calling the returned provider raises ``StorageUnavailableError`` if the function fails, which is retryable, and
    ``StoragePluginError`` if it returns neither ``Credentials`` nor ``None``.

    Raises:
        StoragePluginError: The provider cannot be imported, is not callable, or two distributions register the name.
    """
    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not points:
        return None
    if len(points) > 1:
        raise StoragePluginError(
            f"two credentials providers are named {name!r}: {' and '.join(sorted(points))}. Uninstall one of them"
        )
    (point,) = points.values()
    return _guarded(point, _function(point))


def _function(point: EntryPoint) -> CredentialsProvider:
    try:
        function: CredentialsProvider = point.load()
    except Exception as cause:  # a provider is third-party code: it may raise anything
        raise StoragePluginError(
            f"the credentials provider {point.name!r} ({point.value}) cannot be loaded: {type(cause).__name__}: "
            f"{cause}. Reinstall it, or install a different version"
        ) from cause
    if not callable(function):
        raise StoragePluginError(
            f"the credentials provider {point.name!r} ({point.value}) is not a function: its entry point must "
            "refer to a function that takes the configuration and returns Credentials"
        )
    return function


def _guarded(point: EntryPoint, function: CredentialsProvider) -> CredentialsProvider:
    def provide(configuration: Mapping[str, str]) -> Credentials | None:
        try:
            credentials = function(configuration)
        except Exception as cause:
            raise StorageUnavailableError(
                f"the credentials provider {point.name!r} failed: {type(cause).__name__}: {cause}. Check the "
                f"service that it uses, and its own keys in plugin-config ({OWN_KEYS}…)"
            ) from cause
        if credentials is not None and not isinstance(credentials, Credentials):
            raise StoragePluginError(
                f"the credentials provider {point.name!r} ({point.value}) returned {type(credentials).__name__}; "
                "it must return seatunnel_storage_api.credentials.Credentials or None"
            )
        return credentials

    return provide
