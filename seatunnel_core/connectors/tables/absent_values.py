"""Absent values of changed rows (``Batch.absent``), filled in by the database before rows are moved.

Staged rows mark absent values in the column ``ABSENT``. A value is taken from an earlier row with the same key in the
unit, else from the row in the target; if an update has changed the key, from the row with the old key. Only the last
row of each key is filled in, because only these rows are moved.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen

from seatunnel_core.connector_api.batch import Batch
from seatunnel_core.connector_api.errors import CommitError
from seatunnel_core.connectors.tables.database import TableDatabase
from seatunnel_core.connectors.tables.messages import key_text
from seatunnel_core.connectors.tables.sql_database import ABSENT, KIND, NUMBER
from seatunnel_core.rows.columns import are_new, require_arrived, unknown_value

_BOUNDS, _OPEN, _VALUES = "seatunnel_bounds", "seatunnel_open", "seatunnel_values"


def absent_marks(batch: Batch, given: Sequence[str], key: Sequence[str], who: str) -> pa.StringArray | None:
    """Return the values of ``ABSENT``: a digit for each column, 1 where the value is absent.

    ``ABSENT`` is null for a row that has no absent values, and for a deleted or old row. The result is ``None`` if all
    values are null. ``given`` are the names of the staged columns in the rows.

    Raises:
        RowError: A value of the key is absent.
    """
    masks = {name: _of_new_rows(batch, mask) for name, mask in batch.absent.items() if name in given}
    require_arrived(evolve(batch, absent={name: masks[name] for name in key if name in masks}), who)
    masks = {name: mask for name, mask in masks.items() if mask.true_count}
    if not masks:
        return None
    digits: list[Any] = []
    for name in given:
        mask = masks.get(name)
        if mask is not None:
            digits.append(pc.if_else(mask, "1", "0"))
        elif digits and isinstance(digits[-1], str):
            digits[-1] += "0"
        else:
            digits.append("0")
    joined = pc.binary_join_element_wise(*digits, "")
    return pc.if_else(reduce(pc.or_, masks.values()), joined, pa.scalar(None, pa.string()))


def _of_new_rows(batch: Batch, mask: pa.BooleanArray) -> pa.BooleanArray:
    return mask if batch.kinds is None else pc.and_(mask, are_new(batch.kinds))


@frozen(kw_only=True)
class AbsentValues:
    """Staged rows of one unit for one table, and the statements that fill in their absent values.

    A *life* is a run of staged rows with one key that belong to one row of the source. It begins with an insert, with
    an update that changes the key, or with the first row of the key.
    """

    database: TableDatabase
    run: Callable[[str], None]
    """Function that runs a statement in the transaction."""

    first: Callable[[str], Sequence[Any] | None]
    """Function that runs a query in the transaction and returns its first row, or ``None``."""

    who: str
    named: str
    """Pipeline and sink (``who``) and the name of the target, for messages."""

    table: str
    """Quoted name of the target."""

    staged: str
    """Quoted table of staged rows, with the columns ``KIND``, ``NUMBER`` and ``ABSENT``."""

    columns: Sequence[str] = field(repr=False)
    """Columns of the rows, in the order of the digits in ``ABSENT``."""

    key: Sequence[str]
    current: str = ""
    """Column that is true for the current version of a row, in a table with history."""

    # -- parts of statements ----------------------------------------------------------------------------------------

    @property
    def _keys(self) -> list[str]:
        return [self.database.quoted(name) for name in self.key]

    @property
    def _engine(self) -> tuple[str, str, str]:
        kind, number, absent = map(self.database.quoted, (KIND, NUMBER, ABSENT))
        return kind, number, absent

    def _by_key(self, more: str = "", order: str = "") -> str:
        return f"OVER (PARTITION BY {', '.join(self._keys)}{more} ORDER BY {self._engine[1]}{order})"

    def _numbered(self, condition: str, more: str = "") -> str:
        """Return a SELECT of the staged rows, each with the kind and key of the preceding row."""
        kind, number, absent = self._engine
        before = f"OVER (ORDER BY {number})"
        old = ", ".join(f"lag({key}) {before} AS seatunnel_from_{at}" for at, key in enumerate(self._keys))
        return (
            f"SELECT {', '.join(self._keys)}, {kind}, {number}, {absent}, lag({kind}) {before} AS seatunnel_before, "
            f"{old}, lag({kind}) {self._by_key()} AS seatunnel_own{more} FROM {self.staged} WHERE {condition}"
        )

    @property
    def _moved(self) -> str:
        """Condition for the new row of an update that changes the key."""
        same = " AND ".join(f"{key} = seatunnel_from_{at}" for at, key in enumerate(self._keys))
        return f"({self._engine[0]} = 2 AND seatunnel_before = 1 AND NOT ({same}))"

    def _is_absent(self, place: int, of: str = "") -> str:
        return f"substr({of}{self._engine[2]}, {place + 1}, 1) = '1'"

    @property
    def _same(self) -> str:
        """Condition for the row of the target that supplies values."""
        same = [f"seatunnel_target.{key} = {_OPEN}.seatunnel_root_{at}" for at, key in enumerate(self._keys)]
        current = [f"seatunnel_target.{self.database.quoted(self.current)}"] if self.current else []
        return " AND ".join([*same, *current])

    # -- filling in -------------------------------------------------------------------------------------------------

    def slices(self) -> Iterator[str]:
        """Yield FROM items that together contain all staged rows in order; absent values are filled in.

        The caller moves the rows of each slice before it requests the next slice. There is one slice, unless an update
        changes the key of a row that the same unit has written.

        Raises:
            CommitError: No row supplies an absent value.
        """
        unknown = self._unknown()
        if not unknown:
            yield self.staged
            return
        number = self._engine[1]
        self._find_bounds()
        start: int | None = 0
        while start is not None:
            asked = f"SELECT min({number}) FROM {_BOUNDS} WHERE {number} > {start + 1} AND seatunnel_source >= {start}"
            found = self.first(asked)
            end = None if found is None or found[0] is None else int(found[0]) - 1
            condition = f"{number} >= {start}" + (f" AND {number} < {end}" if end is not None else "")
            self._fill(unknown, condition)
            yield f"(SELECT * FROM {self.staged} WHERE {condition}) AS seatunnel_slice"
            start = end
        self.run(self.database.drop_temporary(_BOUNDS))

    def _unknown(self) -> Mapping[int, str]:
        """Return the columns that have absent values, keyed by index."""
        absent = self._engine[2]
        places = range(len(self.columns))
        asked = ", ".join(f"max(substr({absent}, {place + 1}, 1)) AS seatunnel_{place}" for place in places)
        found = self.first(f"SELECT {asked} FROM {self.staged}") or ()
        return {place: self.columns[place] for place, digit in enumerate(found) if digit == "1"}

    def _find_bounds(self) -> None:
        """Collect the rows that depend on an earlier row of the same unit with a different key."""
        kind, number, absent = self._engine
        written = f", max(CASE WHEN {kind} IN (0, 2) THEN {number} END) {self._by_key()} AS seatunnel_written"
        rows = f"({self._numbered('1 = 1', written)}) AS seatunnel_numbered"
        source = f"lag(seatunnel_written) OVER (ORDER BY {number}) AS seatunnel_source"
        self._create(
            _BOUNDS,
            f"SELECT {number}, seatunnel_source FROM (SELECT seatunnel_numbered.*, {source} FROM {rows}) AS "
            f"seatunnel_sources WHERE {self._moved} AND {absent} IS NOT NULL AND seatunnel_source IS NOT NULL",
        )

    def _fill(self, unknown: Mapping[int, str], condition: str) -> None:
        """Fill in the values of the last row of each key in a slice."""
        self._create(_OPEN, self._open(unknown, condition), [f"seatunnel_known_{place}" for place in unknown])
        self._require_rows(unknown)
        number = self._engine[1]
        for place, name in unknown.items():
            column, known = self.database.quoted(name), f"seatunnel_known_{place}"
            of = f"SELECT {_OPEN}.{number}, {{}}.{column} AS seatunnel_value FROM {_OPEN} JOIN"
            where = f"WHERE {self._is_absent(place, f'{_OPEN}.')} AND {known}"
            staged = f"{self.staged} AS seatunnel_earlier ON seatunnel_earlier.{number} = {known}"
            for values in (
                f"{of.format('seatunnel_earlier')} {staged} {where} IS NOT NULL",
                f"{of.format('seatunnel_target')} {self.table} AS seatunnel_target ON {self._same} {where} IS NULL",
            ):
                self._create(_VALUES, values, [number])
                same_row = f"{self.staged}.{number} = {_VALUES}.{number}"
                self.run(self.database.update_from(self.staged, _VALUES, same_row, column, "seatunnel_value"))
                self.run(self.database.drop_temporary(_VALUES))
        self.run(self.database.drop_temporary(_OPEN))

    def _open(self, unknown: Mapping[int, str], condition: str) -> str:
        """Return the SELECT of the rows to fill in, with the source of each value and the key in the target."""
        kind, number, absent = self._engine
        begins = f"{kind} = 0 OR {self._moved} OR ({kind} = 2 AND seatunnel_own = 3)"
        rows = (
            f"SELECT seatunnel_numbered.*, CASE WHEN {self._moved} THEN 1 ELSE 0 END AS seatunnel_moved, CASE WHEN "
            f"{begins} THEN 1 ELSE 0 END AS seatunnel_begins FROM ({self._numbered(condition)}) AS seatunnel_numbered"
        )
        rows = (
            f"SELECT seatunnel_lives.*, sum(seatunnel_begins) {self._by_key()} AS seatunnel_life, row_number() "
            f"{self._by_key(order=' DESC')} AS seatunnel_last FROM ({rows}) AS seatunnel_lives"
        )
        life = ", seatunnel_life"
        firsts = ["moved", "begins", *(f"from_{at}" for at in range(len(self.key)))]
        shown = [f"first_value(seatunnel_{name}) {self._by_key(life)} AS seatunnel_first_{name}" for name in firsts]
        whole = f"OVER (PARTITION BY {', '.join(self._keys)}{life})"
        for place in unknown:
            known = f"{kind} IN (0, 2) AND ({absent} IS NULL OR NOT {self._is_absent(place)})"
            shown.append(f"max(CASE WHEN {known} THEN {number} END) {whole} AS seatunnel_known_{place}")
        rows = f"SELECT seatunnel_ranked.*, {', '.join(shown)} FROM ({rows}) AS seatunnel_ranked"
        roots = [
            f"CASE WHEN seatunnel_first_moved = 1 THEN seatunnel_first_from_{at} ELSE {key} END AS seatunnel_root_{at}"
            for at, key in enumerate(self._keys)
        ]
        is_new = "seatunnel_first_begins - seatunnel_first_moved AS seatunnel_new"
        columns = [*self._keys, number, absent, is_new, *roots, *(f"seatunnel_known_{place}" for place in unknown)]
        last = f"seatunnel_last = 1 AND {kind} IN (0, 2) AND {absent} IS NOT NULL"
        return f"SELECT {', '.join(columns)} FROM ({rows}) AS seatunnel_known WHERE {last}"

    def _require_rows(self, unknown: Mapping[int, str]) -> None:
        """Raise ``CommitError`` if neither an earlier row nor the target supplies a value."""
        needs = {name: f"({self._is_absent(at)} AND seatunnel_known_{at} IS NULL)" for at, name in unknown.items()}
        column = " ".join(f"WHEN {need} THEN {self.database.literal(name)}" for name, need in needs.items())
        roots = ", ".join(f"seatunnel_root_{at}" for at in range(len(self.key)))
        found = self.first(
            f"SELECT {', '.join(self._keys)}, {roots}, seatunnel_new, CASE {column} END AS seatunnel_column "
            f"FROM {_OPEN} WHERE ({' OR '.join(needs.values())}) AND (seatunnel_new = 1 OR NOT EXISTS "
            f"(SELECT 1 FROM {self.table} AS seatunnel_target WHERE {self._same})) LIMIT 1"
        )
        if found is not None:
            *keys, is_new, name = found
            key, root = keys[: len(self.key)], keys[len(self.key) :]
            row = f"the row with the key {key_text(self.key, key)} of {self.named}, which does not exist yet"
            message = unknown_value(self.who, str(name), row)
            if not is_new:
                message += (
                    ". This setting applies only to later changes. To continue now, insert a row with the key "
                    f"{key_text(self.key, root)} and the value of {str(name)!r} into {self.named}"
                )
            raise CommitError(message)

    def _create(self, name: str, select: str, indexes: Sequence[str] = ()) -> None:
        for statement in self.database.create_temporary(name, select, indexes):
            self.run(statement)
