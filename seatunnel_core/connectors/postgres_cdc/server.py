"""Checks and changes of a job's slot and publication on the server."""

import logging
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from seatunnel_core.capture_errors import CaptureSetupError
from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.jdbc.address import Address
from seatunnel_core.connectors.postgres_cdc.settings import Settings
from seatunnel_core.connectors.postgres_log.created_objects import record_slots
from seatunnel_core.connectors.postgres_log.errors import LogError, SlotChangedError, SlotInUseError
from seatunnel_core.connectors.postgres_log.lsn import NOWHERE, Lsn
from seatunnel_core.connectors.postgres_log.publications import (
    TableName,
    add_tables,
    capture_problems,
    create_publication,
    publication,
)
from seatunnel_core.connectors.postgres_log.slots import SlotState, advance_slot, required_slot, slot_state
from seatunnel_core.connectors.postgres_log.sql_connection import quoted_name, run

_log = logging.getLogger(__name__)

_WRITTEN = """
SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
            ELSE pg_catalog.pg_current_wal_insert_lsn() END::text,
       CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn()
            ELSE pg_catalog.pg_current_wal_flush_lsn() END::text, pg_catalog.pg_is_in_recovery(),
       (SELECT restart_lsn::text FROM pg_catalog.pg_replication_slots WHERE slot_name = %s),
       (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint
"""
NO_SLOT = (
    "option 'startup.mode': committed-offset continues the replication slot {name}, which does not exist; use initial, "
    "or the name of an existing slot"
)
_COMMIT = """
SELECT pg_catalog.set_config('synchronous_commit', 'local', true),
       pg_catalog.pg_logical_emit_message(true, 'seatunnel', '')
"""
"""Statement that commits a transaction durably. It logs a message, which readers do not request."""

_RIGHTS = """
SELECT current_user::text, rolreplication OR rolsuper, pg_catalog.current_setting('wal_level'),
       pg_catalog.has_database_privilege(current_database(), 'CREATE'), current_database()::text
  FROM pg_catalog.pg_roles WHERE rolname = current_user
"""
_TABLE_RIGHTS = """
SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE'), pg_catalog.has_table_privilege(c.oid, 'SELECT'),
       pg_catalog.pg_has_role(c.relowner, 'USAGE'), pg_catalog.row_security_active(c.oid)
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = %s AND c.relname = %s
"""


_KEPT = "SELECT pg_catalog.pg_size_bytes(pg_catalog.current_setting('max_slot_wal_keep_size', true))"
_SYSTEM = "SELECT (pg_catalog.pg_control_system()).system_identifier::text"
_TIMELINE = """
SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 0 ELSE
       ('x' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::int END
"""


@frozen(kw_only=True)
class LogEnd:
    """End of the server's log."""

    inserted: Lsn
    """Position before which all commits so far are logged."""

    flushed: Lsn
    """Position before which the log is durable and can be read."""

    restart: Lsn | None = None
    """Position from which the server has to read its log for any range of the slot; ``None`` if there is no slot.

    It is the start of the oldest transaction that was open when the slot was confirmed.
    """

    replica: bool = False
    """True for a replica, which replays a part of the log after a restart."""

    at_ms: int = 0
    """Time on the server, in milliseconds since 1970."""


def log_end(connection: Any, slot: str, *, flush: bool = False) -> LogEnd:
    """Return the end of the server's log.

    Args:
        connection: A psycopg connection in autocommit mode.
        slot: Name of the slot, which need not exist.
        flush: True to make the whole log durable. Otherwise an idle server does so only with the next commit.
    """
    ((inserted, flushed, replica, restart, at_ms),) = run(connection, _WRITTEN, (slot,))
    if flush and inserted != flushed:
        run(connection, _COMMIT)
        ((_, flushed, replica, restart, at_ms),) = run(connection, _WRITTEN, (slot,))
    return LogEnd(
        inserted=Lsn.parse(inserted),
        flushed=Lsn.parse(flushed),
        restart=None if restart is None else Lsn.parse(restart),
        replica=replica,
        at_ms=at_ms,
    )


def system_id(connection: Any) -> str:
    """Return the system identifier of the database cluster."""
    found: str = run(connection, _SYSTEM)[0][0]
    return found


def require_publication(connection: Any, settings: Settings, tables: Sequence[TableName], *, changes: bool) -> bool:
    """Check that the publication publishes all tables and operations. Return True if it was changed.

    If ``changes`` is True, create the publication or add missing tables first.

    Raises:
        PublicationError: The server rejects a change.
        CaptureSetupError: The publication, a table or an operation is missing.
    """
    changed = False
    if changes:
        found = publication(connection, settings.publication)
        missing = tables if found is None else [table for table in tables if table not in found.tables]
        if found is None:
            with connection.transaction():
                create_publication(connection, settings.publication, tables)
                record_slots(connection, settings.publication, {})
        elif missing:
            add_tables(connection, settings.publication, missing)
        changed = bool(missing)
    problems = capture_problems(connection, [settings.publication], tables)
    if problems:
        raise CaptureSetupError("; ".join(problems))
    return changed


def problems_of(connection: Any, settings: Settings, tables: Sequence[TableName]) -> list[str]:
    """Return the problems that prevent capturing the tables, with statements that fix them."""
    user, replicates, level, creates, database = run(connection, _RIGHTS)[0]
    role = quoted_name(user)
    problems, owned = [], True
    for schema, table in tables:
        used, selected, owns, hidden = run(connection, _TABLE_RIGHTS, (schema, table))[0]
        owned = owned and owns
        if not used:
            problems.append(f"the user {user} lacks the USAGE privilege on the schema {schema}; run GRANT USAGE ON "
                            f"SCHEMA {quoted_name(schema)} TO {role}")  # fmt: skip
        if not selected:
            problems.append(f"the user {user} lacks the SELECT privilege on {schema}.{table}; run GRANT SELECT ON "
                            f"{quoted_name(schema)}.{quoted_name(table)} TO {role}")  # fmt: skip
        if hidden:
            problems.append(f"row-level security policies of {schema}.{table} may hide rows from the user {user}; "
                            f"run ALTER ROLE {role} BYPASSRLS as a superuser")  # fmt: skip
    if not settings.reads_log:
        return problems
    if level != "logical":
        problems.append(
            f"the log of the server does not contain changes of rows, because wal_level is {level}; run ALTER SYSTEM "
            "SET wal_level = logical, and restart the server"
        )
    if not replicates:
        problems.append(
            f"the user {user} lacks the REPLICATION attribute, which is required to read the log; run ALTER ROLE "
            f"{role} REPLICATION"
        )
    problems += _slot_problems(connection, settings, database)
    found = publication(connection, settings.publication)
    missing = [table for table in tables if found is None or table not in found.tables]
    if found is not None and not missing:
        return problems + capture_problems(connection, [settings.publication], tables)
    if not owned or (found is None and not creates):
        problems += _needs_publication(settings, found is None, missing, role, database)
    return problems + capture_problems(connection, [], tables)


def _slot_problems(connection: Any, settings: Settings, database: str) -> list[str]:
    state = slot_state(connection, settings.slot)
    if state is None:
        missing = settings.startup == "committed-offset"
        return [NO_SLOT.format(name=settings.slot)] if missing else []
    try:
        state.require_range(state.confirmed or NOWHERE, reader_pid=state.active_pid)
    except SlotChangedError as error:
        return [str(error)]
    except SlotInUseError:  # The previous process is still creating it.
        return []
    if state.database != database:
        return [
            f"the replication slot {settings.slot} belongs to the database {state.database}; use another slot.name for "
            f"{database}"
        ]
    return []


def _needs_publication(
    settings: Settings, new: bool, missing: Sequence[TableName], role: str, database: str
) -> list[str]:
    listed = ", ".join(f"{quoted_name(schema)}.{quoted_name(table)}" for schema, table in missing)
    name = quoted_name(settings.publication)
    if not new:
        return [f"the publication {settings.publication} does not contain all captured tables; run ALTER PUBLICATION "
                f"{name} ADD TABLE {listed} as its owner"]  # fmt: skip
    return [
        f"the user of the job cannot create the publication {settings.publication}, because this requires the "
        f"CREATE privilege on the database and ownership of the tables; run CREATE PUBLICATION {name} FOR TABLE "
        f"{listed} WITH (publish_via_partition_root = true) as their owner, or GRANT CREATE ON DATABASE "
        f"{quoted_name(database)} TO {role} if this role owns the tables"
    ]


def slot_note(state: SlotState | None, name: str) -> str:
    """Return a sentence about the slot for ``--check``."""
    if state is None:
        return f"the replication slot {name} does not exist, and will be created"
    kept = "" if state.retained_bytes is None else f"; the server keeps {state.retained_bytes:,} bytes of log for it"
    return f"the replication slot {name} exists{kept}"


def limit_note(connection: Any) -> str | None:
    """Return a sentence about the server's size limit for the log of a slot, or ``None`` if there is no limit."""
    ((limit,),) = run(connection, _KEPT)
    if limit is None or limit < 0:
        return None
    return (
        f"the server keeps at most {limit:,} bytes of log for a slot (max_slot_wal_keep_size), so a job that is "
        "stopped while the server writes more cannot be resumed. ALTER SYSTEM SET max_slot_wal_keep_size = -1 and "
        "SELECT pg_reload_conf() remove the limit"
    )


def advance_idle_slot(connection: Any, slot: str, position: Lsn) -> None:
    """Advance the slot while no range is being read, so that the server does not retain log for an idle table."""
    try:
        if position.value:
            advance_slot(connection, slot, position)
    except (LogError, SlotInUseError) as error:
        if not error.retryable:
            raise
        _log.warning("the slot %s was not advanced: %s", slot, error)


def require_retained(connection: Any, settings: Settings, log: str) -> None:
    """Check that the slot returns all transactions from a position. The slot may be in use.

    Args:
        connection: A psycopg connection in autocommit mode.
        settings: The settings of the job.
        log: The position; empty if the job has not read the log.

    Raises:
        SlotChangedError: The slot was dropped or lost, or was confirmed beyond the position.
    """
    if log and settings.reads_log:
        slot = required_slot(connection, settings.slot)
        slot.require_range(Lsn.parse(log), reader_pid=slot.active_pid)


def timeline(connection: Any) -> int:
    """Return the timeline of the server, which increases when a standby is promoted; 0 for a standby."""
    found: int = run(connection, _TIMELINE)[0][0]
    return found


def identity(connection: Any) -> dict[str, Any]:
    """Return the identity of the server for the state of a job."""
    return {"server": system_id(connection), "timeline": timeline(connection)}


def require_same_server(connection: Any, address: Address, identifier: str, former_timeline: int) -> int:
    """Return the timeline of the server, or ``former_timeline`` if the server is a standby.

    Raises:
        SourceChangedError: The job started on another server, or on one that a promoted standby has replaced.
    """
    server, now = system_id(connection), timeline(connection)
    if former_timeline and now not in (0, former_timeline) and server == identifier:
        raise SourceChangedError(
            f"{address} is on the timeline {now}, but the job has read its log on the timeline {former_timeline}: a "
            "standby was promoted, or a backup was restored, so transactions may be missing or differ, even if "
            "a slot with the same name exists. Set url to the former server if it still exists; otherwise drop the "
            "slot with seatunnel slots drop -c FILE, and start a new job"
        )
    if server != identifier:
        raise SourceChangedError(
            f"{address} is not the database cluster with which the job started (system identifier {server}, "
            f"expected {identifier}), so stored log positions are invalid there. Start a new job"
        )
    return now or former_timeline
