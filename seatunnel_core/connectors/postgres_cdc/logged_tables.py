"""Search of the log for the columns that tables have in their next rows."""

from collections.abc import Collection, Mapping
from typing import Any

from seatunnel_core.connectors.postgres_cdc.preparation import Preparation
from seatunnel_core.connectors.postgres_cdc.server import log_end
from seatunnel_core.connectors.postgres_cdc.settings import Settings
from seatunnel_core.connectors.postgres_log.log_table import LogTable, Selects
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.publications import TableName
from seatunnel_core.connectors.postgres_log.slot_reader import SlotReader


def logged_tables(
    connection: Any,
    settings: Settings,
    job_id: str,
    preparation: Preparation | None,
    selects: Selects,
    start: Lsn,
    tables: Collection[TableName],
) -> Mapping[TableName, LogTable]:
    """Return the tables that have rows in the log after a position, with the columns of the first of these rows.

    The search includes all transactions that were visible before the call. It acquires the lock of the slot, which the
    job then holds, so that no other job reads the slot in the meantime.

    Args:
        connection: A psycopg connection in autocommit mode.
        settings: The settings of the job.
        job_id: ID of the job.
        preparation: Holds the lock of the slot; never ``None`` in the driver.
        selects: Function that returns True for the columns to read; see ``log_table.Selects``.
        start: Position up to which the log has been read.
        tables: Tables to search for.

    Raises:
        SlotInUseError: Another job or program uses the slot; retryable if the slot may become free.
        LogError: The log cannot be read.
    """
    end = log_end(connection, settings.slot, flush=True).flushed
    found: dict[TableName, LogTable] = {}
    if end <= start:
        return found
    assert preparation is not None, "only the driver searches the log"
    preparation.hold_slot(connection, job_id, is_reading=False)
    parameters = settings.log(connection.info.server_version, job_id)
    publications = [settings.publication]
    with SlotReader(parameters, connection, settings.slot, publications, start, selects=selects) as reader:
        for batch in reader.batches(end):
            for changes in batch.changes:
                path = (changes.table.namespace, changes.table.name)
                if path in tables:
                    found.setdefault(path, changes.table)
            if len(found) == len(tables):
                break
    return found
