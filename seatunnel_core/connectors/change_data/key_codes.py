"""Numbers for the keys of rows, to compare the keys of several tables."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]


def key_columns(rows: pa.RecordBatch, key: Sequence[str]) -> list[pa.Array]:
    """Return the columns of a key, sorted by name, so that those of several tables correspond to each other."""
    return [rows.column(name) for name in sorted(key, key=str.casefold)]


def key_codes(keys: Sequence[Sequence[pa.Array]]) -> list[Numbers]:
    """Return numbers for the rows of each table that are equal for equal keys.

    ``keys`` contains the key columns of each table, whose types must be equal. A null is equal to a null.
    """
    sizes = [len(columns[0]) for columns in keys]
    found = np.zeros(sum(sizes), np.int64)
    for number, columns in enumerate(zip(*keys, strict=True)):
        types = sorted({str(each.type) for each in columns})
        assert len(types) == 1, f"internal error: keys of different types in one group: {', '.join(types)}"
        codes = _codes(columns)
        if number:
            codes = np.unique(found * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
        found = codes
    return np.split(found, np.cumsum(sizes)[:-1])


def _codes(columns: Sequence[pa.Array]) -> Numbers:
    encoded = pa.chunked_array(columns).dictionary_encode(null_encoding="encode")  # the chunks share one dictionary
    indices = pa.chunked_array([each.indices for each in encoded.chunks], pa.int32())
    found: Numbers = indices.to_numpy().astype(np.int64)
    return found
