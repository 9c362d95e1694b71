"""Tables to which rows belong that have moved between tables with one target.

A transaction may insert a row into another table before it deletes the row from its former table. In the target, this
deletion would remove the inserted row. Therefore, within a transaction, changes of a key by a table are dropped while
the key belongs to another table: the one into which it was inserted last.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define, evolve, field, frozen

from seatunnel_core.connectors.change_data.emitted import Flags
from seatunnel_core.connectors.change_data.key_codes import Numbers, key_codes
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.work.row_order import comparable_type

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

    transactions: Numbers
    """Number of the transaction of each row, in ascending order."""

    events: Numbers
    """Ascending number of the event of each row, which also orders the rows of different tables."""

    def kept(self, keep: Flags) -> "KeyedRows":
        """Return the rows for which the mask is true."""
        return KeyedRows(
            table=self.table,
            key=[column.filter(pa.array(keep)) for column in self.key],
            kinds=self.kinds[keep],
            transactions=self.transactions[keep],
            events=self.events[keep],
        )


@define
class RowOwners:
    """Insertions of the last transaction, which may continue in the next batch, and deletions of these rows."""

    _last: list[KeyedRows] = field(init=False, factory=list)

    def stale(self, tables: Sequence[KeyedRows]) -> list[Flags]:
        """Return masks of the rows of a batch to drop. All tables must have comparable types of keys."""
        every = [*self._last, *(evolve(each, key=[_plain(column) for column in each.key]) for each in tables)]
        stale = [np.zeros(len(each.kinds), np.bool_) for each in every]
        if any((each.kinds != RowKind.INSERT).any() for each in tables):
            codes = key_codes([[pa.array(each.transactions), *each.key] for each in every])
            stale, every = _divided(every, np.concatenate(codes))
        last = max(each.transactions[-1] for each in tables)
        own = (each.kept(each.transactions == last) for each in every)
        self._last = [each for each in own if len(each.kinds)]
        return stale[-len(tables) :]


def _plain(values: pa.Array) -> pa.Array:
    return values.cast(comparable_type(values.type))


def _divided(every: Sequence[KeyedRows], codes: Numbers) -> tuple[list[Flags], list[KeyedRows]]:
    """Return masks of the stale rows, and the rows to remember."""
    sizes, names = [len(each.kinds) for each in every], [each.table for each in every]
    effects = _effects(np.concatenate([each.kinds for each in every]), codes)
    tables = np.repeat([names.index(name) for name in names], sizes)
    order = np.lexsort((np.concatenate([each.events for each in every]), codes))
    stale, owned = np.empty((2, len(codes)), np.bool_)
    stale[order], owned[order] = _stale(codes[order], effects[order], tables[order])
    ends = np.cumsum(sizes)[:-1]
    parts = zip(every, np.split(effects, ends), np.split(owned & (effects != _CHANGED), ends), strict=True)
    return np.split(stale, ends), [evolve(each, kinds=kinds).kept(keep) for each, kinds, keep in parts]


def _effects(kinds: Kinds, codes: Numbers) -> Kinds:
    """Return the effect of each row on its key. An update of a key deletes the old key and inserts the new one."""
    found = np.where((kinds == RowKind.INSERT) | (kinds == RowKind.DELETE), kinds, _CHANGED).astype(np.int8)
    before = np.flatnonzero(kinds == RowKind.UPDATE_BEFORE)
    moved = before[codes[before] != codes[before + 1]]
    found[moved], found[moved + 1] = RowKind.DELETE, RowKind.INSERT
    return found


def _stale(codes: Numbers, effects: Kinds, tables: Numbers) -> tuple[Flags, Flags]:
    """Return masks of the rows whose key belongs to another table, and of those with a key that was inserted before.

    Rows are sorted by key, and then in log order.
    """
    at = np.arange(len(codes))
    begin = np.maximum.accumulate(np.where(np.diff(codes, prepend=-1) != 0, at, 0))  # first row with the key
    inserted = np.maximum.accumulate(np.where(effects == RowKind.INSERT, at, -1))  # last insertion
    owned, own = inserted >= begin, tables[inserted] == tables
    deleted = np.maximum.accumulate(np.where(owned & own & (effects == RowKind.DELETE), at, -1))
    return owned & ~own & (deleted < inserted), owned
