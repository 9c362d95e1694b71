"""Keys that occur in the changed rows of several tables, because rows have moved between these tables."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of

from seatunnel_core.connectors.change_data.key_codes import Numbers, key_codes
from seatunnel_core.work.row_order import comparable_type


def cuts(keys: Sequence[Sequence[pa.Array]], events: Sequence[Numbers]) -> Numbers | None:
    """Return events at which to divide a batch, so that no key occurs in several tables within a part.

    Args:
        keys: Key columns of the rows of each table.
        events: Ascending event number of each of these rows. No two tables share an event.

    Returns:
        The first event of each part except the first one, or ``None`` if keys cannot be compared as the target does.
    """
    columns = [[_comparable(each) for each in own] for own in keys]
    known = [[each for each in own if each is not None] for own in columns]
    if list(map(len, known)) != list(map(len, columns)):
        return None
    codes, every = np.concatenate(key_codes(known)), np.concatenate(events)
    tables = np.repeat(np.arange(len(events)), [len(each) for each in events])
    order = np.lexsort((every, codes))
    codes, tables, every = codes[order], tables[order], every[order]
    moves = np.flatnonzero((codes[1:] == codes[:-1]) & (tables[1:] != tables[:-1]))
    at: list[int] = []
    for after, before in sorted(zip(every[moves + 1].tolist(), every[moves].tolist(), strict=True)):
        if not at or at[-1] <= before:  # no cut separates the two rows yet
            at.append(after)
    return np.array(at, np.int64)


def _comparable(values: pa.Array) -> pa.Array | None:
    """Return values that are equal if the target may consider the given ones equal; ``None`` if this is unknown.

    Depending on its collation, a target ignores the case of strings, trailing spaces or punctuation, so only letters
    and digits count. Two different keys with equal values only make the parts smaller.
    """
    if of.is_integer(values.type):
        return values.cast(comparable_type(values.type))
    if of.is_binary(values.type):
        return values
    if of.is_decimal(values.type) and not values.type.scale:
        return values.cast(pa.decimal256(76, 0))
    if not of.is_string(values.type) or not pc.all(pc.string_is_ascii(values), min_count=0).as_py():
        return None
    return pc.replace_substring_regex(pc.ascii_lower(values), "[^0-9a-z]", "")
