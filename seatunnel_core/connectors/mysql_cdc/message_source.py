"""``source`` block of Debezium messages for MySQL and MariaDB rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from seatunnel_core.connectors.change_data.messages import rows_of_events
from seatunnel_core.connectors.mysql_log.change_batch import TableChanges, Transaction
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.tables.table_path import TablePath


def read_at(path: TablePath, planned: LogPosition) -> Mapping[str, Any]:
    """Return the block for the rows of a chunk, which contain all changes before the position ``planned``."""
    database, table = path
    return _block(database, table, 0, None, planned.file, planned.offset, 0)


def logged_at(
    changes: TableChanges, transactions: Mapping[int, Transaction], numbers: npt.NDArray[np.int64]
) -> Sequence[Mapping[str, Any]]:
    """Return one block for each changed row."""
    found, rows = [], rows_of_events(changes.kinds, changes.events)
    for at in numbers.tolist():
        transaction = transactions[int(changes.transactions[at])]
        gtid = transaction.gtid
        block = _block(
            changes.table.database,
            changes.table.name,
            transaction.server_id,
            None if gtid is None else str(gtid),
            transaction.file,
            int(changes.offsets[at]),
            int(rows[at]),
        )
        found.append({"ts_ms": logged_ms(transaction), **block})
    return found


def logged_ms(transaction: Transaction) -> int:
    """Return the commit time of a transaction, in milliseconds since 1970. Most servers only log seconds."""
    micros = transaction.commit_micros
    return transaction.timestamp * 1000 if micros is None else micros // 1000


def _block(
    database: str, table: str, server_id: int, gtid: str | None, file: str, offset: int, row: int
) -> Mapping[str, Any]:
    return {
        "db": database,
        "sequence": None,
        "table": table,
        "server_id": server_id,
        "gtid": gtid,
        "file": file,
        "pos": offset,
        "row": row,
        "thread": None,
        "query": None,
    }
