"""Tables to which rows belong that have moved between tables with one target.

A transaction may insert a row into another table before it deletes the row from its former table. In the target, this
deletion would remove the inserted row. Therefore it is dropped if the key belongs to another table: the one into which
it was inserted last. If the former row was changed in the meantime, these changes are dropped as well.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as of
from attrs import define, evolve, field, frozen

from seatunnel_core.connectors.change_data.emitted import Flags
from seatunnel_core.connectors.change_data.key_codes import Numbers, key_codes
from seatunnel_core.rows.kind import RowKind

Kinds = npt.NDArray[np.int8]
_CHANGED = RowKind.UPDATE_AFTER
"""Effect of a row on its key, in addition to ``INSERT`` and ``DELETE``: the key remains."""


@frozen(kw_only=True, eq=False)
class KeyedRows:
    """Changed rows of one table."""

    table: str
    key: Sequence[pa.Array]
    """Key columns, in the same order for all tables."""

    kinds: Kinds
    """``RowKind`` of each row, as a number. An ``UPDATE_BEFORE`` directly precedes its ``UPDATE_AFTER``."""

    events: Numbers
    """Ascending number of the event of each row, which also orders the rows of different tables."""


@define
class RowOwners:
    """Insertions and deletions in the log range that is read, for tables with one target."""

    _earlier: list[KeyedRows] = field(init=False, factory=list)

    def stale(self, tables: Sequence[KeyedRows]) -> list[Flags]:
        """Return masks of the rows of a batch to drop, and remember the batch. Types of keys must be equal."""
        tables = [evolve(each, key=[_plain(column) for column in each.key]) for each in tables]
        if all((each.kinds == RowKind.INSERT).all() for each in tables):
            self._earlier += tables
            return [np.zeros(len(each.kinds), np.bool_) for each in tables]
        every = [*self._earlier, *tables]
        codes = key_codes([each.key for each in every])
        if codes is None:
            return [np.zeros(len(each.kinds), np.bool_) for each in tables]
        effects = [_effects(each.kinds, own) for each, own in zip(every, codes, strict=True)]
        first = len(self._earlier)
        for each, effect in zip(tables, effects[first:], strict=True):
            where = np.flatnonzero(effect != _CHANGED)
            key = [column.take(pa.array(where)) for column in each.key]
            self._earlier.append(evolve(each, key=key, kinds=effect[where], events=each.events[where]))
        return _split(_stale(every, np.concatenate(codes), np.concatenate(effects), first), every)[first:]


def _plain(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64()) if of.is_integer(values.type) and values.type != pa.uint64() else values


def _split(values: Flags, tables: Sequence[KeyedRows]) -> list[Flags]:
    return np.split(values, np.cumsum([len(each.kinds) for each in tables])[:-1])


def _effects(kinds: Kinds, codes: Numbers) -> Kinds:
    """Return the effect of each row on its key. An update of a key deletes the old key and inserts the new one."""
    found = np.where((kinds == RowKind.INSERT) | (kinds == RowKind.DELETE), kinds, _CHANGED).astype(np.int8)
    before = np.flatnonzero(kinds == RowKind.UPDATE_BEFORE)
    moved = before[codes[before] != codes[before + 1]]
    found[moved], found[moved + 1] = RowKind.DELETE, RowKind.INSERT
    return found


def _stale(tables: Sequence[KeyedRows], codes: Numbers, effects: Kinds, first: int) -> Flags:
    """Return a mask of the rows with a key of another table. ``first`` is the index of the first new table."""
    names = {name: number for number, name in enumerate(dict.fromkeys(each.table for each in tables))}
    owns = np.repeat([names[each.table] for each in tables], [len(each.kinds) for each in tables])
    start = sum(len(each.kinds) for each in tables[:first])
    rows = np.flatnonzero(_contested(codes, effects == RowKind.INSERT, owns, start))
    found = np.zeros(len(codes), np.bool_)
    if len(rows):
        rows = rows[np.argsort(np.concatenate([each.events for each in tables])[rows], kind="stable")]
        found[_of_others(rows, codes[rows], effects[rows], owns[rows])] = True
    return found


def _contested(codes: Numbers, inserted: Flags, tables: Numbers, start: int) -> Flags:
    """Return a mask of the keys that one table has inserted, and another one changes from the index ``start``."""
    size = int(codes.max(initial=-1)) + 1
    low, high = np.full(size, len(codes), np.int64), np.full(size, -1, np.int64)
    np.minimum.at(low, codes[inserted], tables[inserted])
    np.maximum.at(high, codes[inserted], tables[inserted])
    changed = np.flatnonzero(~inserted[start:]) + start
    own, key = tables[changed], codes[changed]
    contested = np.zeros(size, np.bool_)
    contested[key[(high[key] >= 0) & ((low[key] != own) | (high[key] != own))]] = True
    found: Flags = contested[codes]
    return found


def _of_others(rows: Numbers, codes: Numbers, effects: Kinds, tables: Numbers) -> list[int]:
    """Return the rows that delete a key of another table, or change it before. ``rows`` are in log order."""
    owners: dict[int, int] = {}
    changes: dict[tuple[int, int], list[int]] = {}  # changes by tables that do not own the key
    found = []
    columns = (rows.tolist(), codes.tolist(), effects.tolist(), tables.tolist())
    for row, code, effect, table in zip(*columns, strict=True):
        if effect == RowKind.INSERT:
            owners[code] = table
            changes.pop((code, table), None)
        elif owners.get(code, table) != table:
            if effect == RowKind.DELETE:
                found += [*changes.pop((code, table), ()), row]
            else:
                changes.setdefault((code, table), []).append(row)
        elif effect == RowKind.DELETE:
            owners.pop(code, None)
    return found
