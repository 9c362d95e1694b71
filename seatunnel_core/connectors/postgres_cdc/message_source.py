"""``source`` block of Debezium messages for PostgreSQL rows."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from seatunnel_core.connectors.postgres_log.change_batch import ChangeBatch, TableChanges, Transaction
from seatunnel_core.connectors.postgres_log.publications import TableName

_EPOCH_MS = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1000


def read_at(database: str, table: TableName) -> Mapping[str, Any]:
    """Return the block for the rows of a chunk, without a log position."""
    return _block(database, table, None, None, None)


def logged_at(
    database: str, table: TableName, batch: ChangeBatch, changes: TableChanges, numbers: npt.NDArray[np.int64]
) -> Sequence[Mapping[str, Any]]:
    """Return one block for each changed row."""
    by_number = {each.number: each for each in batch.transactions}
    found = []
    for at in numbers.tolist():
        transaction = by_number[int(changes.transactions[at])]
        lsn = int(changes.positions[at])
        sequence = json.dumps([str(transaction.commit_position), str(lsn)], separators=(",", ":"))
        block = _block(database, table, sequence, transaction, lsn)
        found.append({"ts_ms": _EPOCH_MS + transaction.time_us // 1000, **block})
    return found


def _block(
    database: str, table: TableName, sequence: str | None, transaction: Transaction | None, lsn: int | None
) -> Mapping[str, Any]:
    return {
        "db": database,
        "sequence": sequence,
        "schema": table[0],
        "table": table[1],
        "txId": None if transaction is None else transaction.xid,
        "lsn": lsn,
        "xmin": None,
    }
