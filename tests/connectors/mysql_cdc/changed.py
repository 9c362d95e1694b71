"""Changed rows of a table with the columns ``id`` and ``a``, without a log."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from seatunnel_core.connectors.jdbc.fetched import Misfit
from seatunnel_core.connectors.mysql_log.change_batch import LogTable, TableChanges
from seatunnel_core.rows.kind import RowKind

SCHEMA = pa.schema([pa.field("id", pa.int32()), pa.field("a", pa.int32())])


def changes_of(
    rows: Sequence[tuple[RowKind, int, int | None]], *, table: str = "m", misfits: Mapping[int, Misfit] | None = None
) -> TableChanges:
    """Rows given as their kind, the number of their transaction, and their key; ``a`` is their number."""
    columns = [pa.array([key for _, _, key in rows], pa.int32()), pa.array(range(len(rows)), pa.int32())]
    return TableChanges(
        table=LogTable(database="shop", name=table, columns=(), logged=(), schema=SCHEMA),
        rows=pa.RecordBatch.from_arrays(columns, schema=SCHEMA),
        kinds=np.array([kind for kind, _, _ in rows], np.int8),
        transactions=np.array([number for _, number, _ in rows], np.int64),
        events=np.arange(len(rows)),
        offsets=np.arange(len(rows)) * 10,
        layouts=np.ones((1, 2), np.bool_),
        layout=np.zeros(len(rows), np.int32),
        misfits=misfits or {},
    )
