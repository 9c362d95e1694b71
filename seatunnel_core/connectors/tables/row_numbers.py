"""Kinds and numbers of staged rows, which determine the last row of each key.

The arrays are made from buffers: ``pa.array`` converts each Python number, which takes 100 ns per row, and imports
pandas if it is installed, which takes 0.15 s or more in each worker process.
"""

import numpy as np
import pyarrow as pa

from seatunnel_core.connector_api.batch import Batch, RowKind


def kinds_and_numbers(batch: Batch, first: int) -> tuple[pa.Array, pa.Array]:
    """Return the kinds (``int8``) of a batch's rows and their numbers (``int64``), which begin with ``first``."""
    rows = batch.rows.num_rows
    kinds = batch.kinds
    if kinds is None:
        kinds = _of_buffer(pa.int8(), np.full(rows, RowKind.INSERT.value, dtype=np.int8))
    return kinds, _of_buffer(pa.int64(), np.arange(first, first + rows, dtype=np.int64))


def _of_buffer(kind: pa.DataType, values: np.ndarray) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])
