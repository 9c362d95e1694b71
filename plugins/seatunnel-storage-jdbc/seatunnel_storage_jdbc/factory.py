"""Storage of ``type: jdbc``: checkpoints in a database table."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.errors import (
    NamespaceError,
    StorageAccessError,
    StorageConfigurationError,
    StorageUnavailableError,
)
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_jdbc.address import PASSWORD, URL, USER, address_of

if TYPE_CHECKING:  # importing SQLAlchemy takes longer than the rest of the start
    from seatunnel_storage_jdbc.database import Database

TABLE_PREFIX = "table-prefix"
DEFAULT_PREFIX = "seatunnel"

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}", re.ASCII)
_LONGEST_NAMESPACE = 400
"""Maximum length of a namespace in bytes. The longest key below a namespace has about 250 bytes."""


class JdbcStorageFactory(CheckpointStorageFactory):
    """Factory of the storage of ``type: jdbc``."""

    factory_identifier = "jdbc"

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        shared.warn(self.idle_keys(configuration).values())  # check this first: a missing key may be misspelt
        namespace, max_retained = _namespace(configuration), shared.max_retained(configuration)
        read_only, prefix = shared.read_only(configuration), table_prefix(configuration)
        database = open_database(configuration)
        from seatunnel_storage_jdbc.storage import JdbcStorage

        storage = JdbcStorage(database, prefix, namespace=namespace, max_retained=max_retained, read_only=read_only)
        try:
            shared.warn(Backoff().call(storage.prepare))
        except (StorageAccessError, StorageUnavailableError) as error:
            storage.close()
            raise type(error)(f"cannot use {storage.locate('')} (jdbc): {error}") from (error.__cause__ or error)
        except BaseException:
            storage.close()
            raise
        return storage

    def idle_keys(self, configuration: Mapping[str, str]) -> Mapping[str, str]:
        known = {URL, USER, PASSWORD, TABLE_PREFIX}
        return {key: sentence for key in configuration for sentence in shared.unknown_keys({key: ""}, known)}


def open_database(configuration: Mapping[str, str], *, answer_s: int | None = None) -> "Database":
    """Return the database for the keys ``url``, ``user`` and ``password``, without connecting to it."""
    address = address_of(configuration)
    try:
        from seatunnel_storage_jdbc.database import Database
    except ModuleNotFoundError as cause:
        if cause.name != "sqlalchemy":
            raise
        raise StorageConfigurationError(
            "checkpoints in a database need the package sqlalchemy, which is not installed: in a clone of this "
            "project, run pip install ./plugins/seatunnel-storage-jdbc"
        ) from cause
    return Database(address) if answer_s is None else Database(address, answer_s)


def table_prefix(configuration: Mapping[str, str]) -> str:
    """Return the prefix of all table names: ``seatunnel`` if the key is absent, null or empty."""
    written = configuration.get(TABLE_PREFIX) or DEFAULT_PREFIX
    if not _PREFIX.fullmatch(written):
        raise StorageConfigurationError(
            f"{TABLE_PREFIX} is {written!r}, expected a letter and up to 39 letters, digits and _: write "
            f"{TABLE_PREFIX}: {DEFAULT_PREFIX}; a PostgreSQL schema belongs in url: ?currentSchema=name"
        )
    return written


def _namespace(configuration: Mapping[str, str]) -> str:
    namespace = shared.namespace(configuration)
    if len(namespace.encode()) > _LONGEST_NAMESPACE:
        raise NamespaceError(
            f"the namespace {namespace[:40]}… has {len(namespace.encode())} bytes, too many for a key of a table: "
            f"choose a namespace of at most {_LONGEST_NAMESPACE} bytes"
        )
    return namespace


@hookimpl
def seatunnel_checkpoint_storage() -> CheckpointStorageFactory:
    """Return the factory of this plugin."""
    return JdbcStorageFactory()
