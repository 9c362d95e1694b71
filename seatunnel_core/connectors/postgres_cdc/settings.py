"""Settings of a job from its options: server, tables and slot."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data import options as shared
from seatunnel_core.connectors.change_data.table_choice import TableChoice
from seatunnel_core.connectors.jdbc import options as jdbc
from seatunnel_core.connectors.jdbc.address import Address, address_of
from seatunnel_core.connectors.postgres_cdc import options as opt
from seatunnel_core.connectors.postgres_log.session import (
    lock_parameters,
    log_parameters,
    session_name,
    sql_parameters,
    with_session,
)

_WITH_TIMEOUTS = 12_00_00
"""First PostgreSQL version that allows ``wal_sender_timeout`` to be set per connection."""


@frozen(kw_only=True)
class Settings:
    """Database, tables, slot and publication of a job."""

    address: Address
    jdbc: Options = field(repr=False)
    """Options of the ``Jdbc`` source for the same database."""

    choice: TableChoice
    schemas: tuple[str, ...]
    """Schemas from which tables are captured; empty for all schemas."""

    configured: tuple[Options, ...] = field(repr=False)
    """Entries of ``table-names-config``."""

    slot: str
    publication: str
    startup: str
    stops: bool
    """True to end the job at the log position that is current when the snapshot is complete."""

    full: bool
    """True if captured tables need REPLICA IDENTITY FULL."""

    without_key: bool = False
    """True to capture tables without a key."""

    @classmethod
    def of(cls, options: Options) -> "Settings":
        """Return the settings in the options.

        Raises:
            UsageError: The options contradict each other or are not supported.
        """
        opt.require_supported(options)
        own = shared.jdbc_options(options)
        address = address_of(own)
        if address.kind != "postgresql":
            raise UsageError("option 'url': this source reads PostgreSQL; write jdbc:postgresql://host:5432/database")
        for name in options[shared.DATABASE_NAMES] or ():
            if name != address.database:
                raise UsageError(
                    f"option 'database-names': {name!r} is not the database in url, {address.database!r}; a "
                    "replication slot belongs to one database, so use a separate source for each database"
                )
        return cls(
            address=address,
            jdbc=own,
            choice=TableChoice.of(options),
            schemas=options[opt.SCHEMA_NAMES] or (),
            configured=options[shared.TABLE_CONFIG] or (),
            slot=options[opt.SLOT],
            publication=options[opt.PUBLICATION] or options[opt.SLOT],
            startup=options[opt.STARTUP],
            stops=options[opt.STOP] == "latest",
            full=options[opt.REQUIRE_FULL],
            without_key=shared.captures_without_key(options),
        )

    @property
    def reads_log(self) -> bool:
        """True if the log is read."""
        return self.startup != "snapshot-only"

    @property
    def is_endless(self) -> bool:
        """True if the log is read until the job is stopped."""
        return self.reads_log and not self.stops

    @property
    def reads_tables(self) -> bool:
        """True if a snapshot of the tables is read first."""
        return self.startup in ("initial", "snapshot-only")

    @property
    def starts_now(self) -> bool:
        """True if changes before the start of the job are not read."""
        return self.startup in ("initial", "latest")

    @property
    def session(self) -> Address:
        """Address for sessions that read rows, with settings that make the server format values as in the log."""
        return with_session(self.address)

    @property
    def pool_size(self) -> int:
        """Maximum number of connections of a process."""
        size: int = self.jdbc[jdbc.POOL]
        return size

    def sql(self) -> Mapping[str, Any]:
        """Return the connection parameters for statements, including the password."""
        return sql_parameters(self.address)

    def lock(self, job_id: str) -> Mapping[str, Any]:
        """Return the connection parameters for the session that holds the lock of the slot, including the password."""
        return lock_parameters(self.address, session_name(job_id))

    def log(self, server_version: int, job_id: str) -> Mapping[str, Any]:
        """Return the parameters of a replication connection, including the password.

        The server must not close the connection while a slow sink writes a batch and no status messages are sent.
        """
        timeout_s = 0 if server_version >= _WITH_TIMEOUTS else None
        return log_parameters(self.address, server_timeout_s=timeout_s, application=session_name(job_id))


def require_own_slots(sources: Iterable[Settings]) -> None:
    """Raise ``UsageError`` if two sources of a job use the same slot."""
    slots = set()
    for settings in sources:
        slot = (settings.address.host, settings.address.port, settings.slot)
        if slot in slots:
            raise UsageError(
                f"option 'slot.name': two sources of the job use the replication slot {settings.slot}, and each of "
                "them would discard changes that the other one needs; use another name for one of them"
            )
        slots.add(slot)
