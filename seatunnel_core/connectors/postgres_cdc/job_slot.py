"""Description and removal of the slot and the publication of a job."""

from typing import Any

from seatunnel_core.connector_api.replication_slot import ReplicationSlot
from seatunnel_core.connector_api.source import PollCursor
from seatunnel_core.connectors.postgres_cdc.cursor import Capture
from seatunnel_core.connectors.postgres_cdc.server import system_id
from seatunnel_core.connectors.postgres_cdc.settings import Settings
from seatunnel_core.connectors.postgres_log import slots
from seatunnel_core.connectors.postgres_log.created_objects import created_slots, record_slots, recording
from seatunnel_core.connectors.postgres_log.errors import SlotChangedError, SlotInUseError, SlotMissingError
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.publications import drop_publication, publication
from seatunnel_core.connectors.postgres_log.server_sessions import session
from seatunnel_core.connectors.postgres_log.slot_lock import lock_holder, try_lock
from seatunnel_core.connectors.postgres_log.sql_connection import quoted_name


def described_slot(connection: Any, settings: Settings) -> ReplicationSlot:
    """Return the slot and the publication as described by the server."""
    state = slots.slot_state(connection, settings.slot)
    created = created_slots(connection, settings.publication)
    pid = (state.active_pid if state is not None else None) or lock_holder(connection, settings.slot)
    return ReplicationSlot(
        name=settings.slot,
        exists=state is not None,
        used_by=None if pid is None else str(session(connection, pid)),
        restart=None if state is None or state.restart is None else str(state.restart),
        retained_bytes=None if state is None else state.retained_bytes,
        wal_status=None if state is None else state.wal_status,
        is_created=state is not None and settings.slot in (created or ()),
        job_id=(created or {}).get(settings.slot) or None,
        publication=settings.publication,
        has_publication=publication(connection, settings.publication) is not None,
        is_publication_created=created is not None,
    )


def needs_slot(connection: Any, settings: Settings, cursor: PollCursor) -> bool:
    """Return True if a job can use the slot to resume from a cursor.

    Args:
        connection: A psycopg connection in autocommit mode.
        settings: The settings of the job with the slot, which may be another job.
        cursor: The cursor, which may belong to another connector.
    """
    if "published" not in cursor:
        return False
    state = Capture.from_record(cursor)
    if not state.log or state.slot not in ("", settings.slot) or state.server != system_id(connection):
        return False
    if not state.slot:  # an older version wrote it
        own = f"{settings.address.database}."
        if not any(name.startswith(own) for name, _ in state.tables):
            return False
    found = slots.slot_state(connection, settings.slot)
    if found is None:
        return False
    try:
        found.require_range(Lsn.parse(state.log), reader_pid=found.active_pid)
    except SlotChangedError:
        return False
    return True


def drop_slot(connection: Any, settings: Settings) -> list[str]:
    """Drop the slot, and the publication if the engine created it. Return a sentence about each result.

    Args:
        connection: A psycopg connection in autocommit mode. It holds the lock of the slot afterwards.
        settings: The settings of the job.

    Raises:
        SlotInUseError: A job or another program uses the slot.
        SlotMissingError: The slot with this name cannot belong to the job.
        LogError: The server rejects the command.
    """
    name = settings.slot
    if not try_lock(connection, name):
        raise SlotInUseError(f"the replication slot {name} is used by a job: stop the job first")
    state = slots.slot_state(connection, name)
    if state is None:
        done = f"the replication slot {name} does not exist"
    else:
        if state.plugin != slots.PLUGIN or state.database != settings.address.database:
            raise SlotMissingError(
                f"the replication slot {name} does not belong to this job and was not dropped: its plugin is "
                f"{state.plugin}, and its database is {state.database}"
            )
        slots.drop_slot(connection, name)
        done = f"dropped the replication slot {name}"
    return [done, _without_slot(connection, settings)]


def _without_slot(connection: Any, settings: Settings) -> str:
    """Drop the publication if the engine created it and no other slot needs it."""
    with recording(connection, settings.publication):
        return _without_recorded_slot(connection, settings)


def _without_recorded_slot(connection: Any, settings: Settings) -> str:
    name = settings.publication
    created = created_slots(connection, name)
    if created is None:
        if publication(connection, name) is None:
            return f"the publication {name} does not exist"
        return (
            f"kept the publication {name}, because the server has no record that the engine created it; "
            f"DROP PUBLICATION {quoted_name(name)} removes it"
        )
    others = {slot: job for slot, job in created.items() if slot != settings.slot and _is_used(connection, slot)}
    if others:
        record_slots(connection, name, others)
        return f"kept the publication {name}, because it is used with {', '.join(others)}"
    drop_publication(connection, name)
    return f"dropped the publication {name}"


def _is_used(connection: Any, slot: str) -> bool:
    """Return True if a slot exists or is about to be created by a job."""
    return slots.slot_state(connection, slot) is not None or lock_holder(connection, slot) is not None
