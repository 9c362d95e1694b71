"""Keys that occur in the changed rows of several tables, because rows have moved between these tables."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of

Numbers = npt.NDArray[np.int64]


def cuts(keys: Sequence[pa.RecordBatch], events: Sequence[Numbers]) -> Numbers | None:
    """Return events at which to divide a batch, so that no key occurs in several tables within a part.

    Args:
        keys: Key columns of the rows of each table.
        events: Ascending event number of each of these rows. No two tables share an event.

    Returns:
        The first event of each part except the first one, or ``None`` if keys cannot be compared as the target does.
    """
    codes = _codes(keys)
    if codes is None:
        return None
    tables = np.repeat(np.arange(len(events)), [len(each) for each in events])
    every = np.concatenate(events)
    order = np.lexsort((every, codes))
    codes, tables, every = codes[order], tables[order], every[order]
    moves = np.flatnonzero((codes[1:] == codes[:-1]) & (tables[1:] != tables[:-1]))
    found: list[int] = []
    for before, after in sorted(zip(every[moves + 1].tolist(), every[moves].tolist(), strict=True)):
        if not found or found[-1] <= after:  # no cut separates the two rows yet
            found.append(before)
    return np.array(found, np.int64)


def _codes(keys: Sequence[pa.RecordBatch]) -> Numbers | None:
    """Return a number for each row that is equal for rows with equal keys."""
    found = np.zeros(sum(each.num_rows for each in keys), np.int64)
    names = {frozenset(map(str.casefold, each.schema.names)) for each in keys}
    if len(names) > 1:
        return None
    for name in sorted(next(iter(names))):
        values = [_comparable(_column(each, name)) for each in keys]
        arrays = [each for each in values if each is not None]
        if len(arrays) < len(values) or len({each.type for each in arrays}) > 1:
            return None
        # A null gets a code of its own.
        column = pa.chunked_array(arrays).dictionary_encode(null_encoding="encode").combine_chunks()
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        _, found = np.unique(found * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return found


def _column(keys: pa.RecordBatch, name: str) -> pa.Array:
    return next(values for own, values in zip(keys.schema.names, keys.columns, strict=True) if own.casefold() == name)


def _comparable(values: pa.Array) -> pa.Array | None:
    """Return values that are equal if the target may consider the given ones equal; ``None`` for other types.

    Depending on its collation, a target ignores the case of strings, trailing spaces or punctuation, so only letters
    and digits count. Two different keys with equal values only make the parts smaller.
    """
    if of.is_integer(values.type) and values.type != pa.uint64():
        return values.cast(pa.int64())
    if of.is_decimal(values.type) and not values.type.scale:
        return values.cast(pa.decimal256(76, 0))
    if not of.is_string(values.type) or not pc.all(pc.string_is_ascii(values), min_count=0).as_py():
        return None
    return pc.replace_substring_regex(pc.ascii_lower(values), "[^0-9a-z]", "")
