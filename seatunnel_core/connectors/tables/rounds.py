"""Order of the rows that several tables of one unit have for one target.

Rows with different columns are staged separately, and numbered across the unit. Consecutive rows of a key from one
staged table are a *round* of this key. In the n-th rounds of all keys, no key occurs in two staged tables, so these
rows can be moved one staged table after the other. Usually a key occurs in only one staged table, and there is one
round.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import CommitError
from seatunnel_core.connectors.tables.database import TableDatabase
from seatunnel_core.connectors.tables.messages import key_text
from seatunnel_core.connectors.tables.sql_database import KIND, NUMBER

_ROUNDS, _ROUND = "seatunnel_rounds", "seatunnel_round_rows"
"""Temporary tables: the round of each row, and the rows of one staged table in one round."""


@frozen(kw_only=True)
class Rounds:
    """Staged rows of one unit for one target, and the statements that divide them into rounds."""

    database: TableDatabase
    run: Callable[[str], None]
    """Function that runs a statement in the transaction."""

    first: Callable[[str], Sequence[Any] | None]
    """Function that runs a query in the transaction and returns its first row, or ``None``."""

    who: str
    named: str
    """Pipeline and sink (``who``) and the name of the target, for messages."""

    staged: Sequence[str]
    """FROM items of the staged rows, each with the columns ``KIND`` and ``NUMBER``."""

    incomplete: Sequence[bool] = ()
    """True for each item of ``staged`` whose rows have absent values."""

    key: Sequence[str]
    require: Callable[[], None] = field(default=lambda: None, repr=False)
    """Function that raises an error if the database lacks window functions."""

    def slices(self) -> Iterator[tuple[int, str]]:
        """Yield the rows in parts and in order, each part as an index in ``staged`` and a FROM item.

        The caller moves the rows before it requests the next ones.

        Raises:
            CommitError: The order of rows is unknown, or their absent values cannot be filled in.
        """
        key = self._repeated() if self.key and len(self.staged) > 1 else None
        if key is None:
            yield from enumerate(self.staged)
            return
        self.require()
        self._require_numbers(key)
        self._divide()
        for at, is_incomplete in enumerate(self.incomplete):
            if is_incomplete:
                self._require_whole_updates(at)
        (last,) = self.first(f"SELECT max(seatunnel_round) FROM {_ROUNDS}") or (0,)
        for number in range(int(last) + 1):
            for at in range(len(self.staged)):
                for statement in self.database.create_temporary(_ROUND, self._of_round(at, number)):
                    self.run(statement)
                yield at, _ROUND
                self.run(self.database.drop_temporary(_ROUND))
        self.run(self.database.drop_temporary(_ROUNDS))

    def _repeated(self) -> Sequence[Any] | None:
        """Return a key that occurs in several staged tables, or ``None``."""
        keys = ", ".join(self._names)
        known = " AND ".join(f"{key} IS NOT NULL" for key in self._names)
        each = (f"SELECT DISTINCT {keys} FROM {staged} WHERE {known}" for staged in map(_aliased, self.staged))
        every = f"({' UNION ALL '.join(each)}) AS seatunnel_keys"
        return self.first(f"SELECT {keys} FROM {every} GROUP BY {keys} HAVING count(*) > 1 LIMIT 1")

    @property
    def _names(self) -> list[str]:
        return [self.database.quoted(name) for name in self.key]

    @property
    def _number(self) -> str:
        return self.database.quoted(NUMBER)

    def _require_numbers(self, key: Sequence[Any]) -> None:
        """Raise ``CommitError`` if each staged table has its own numbers, as in earlier versions."""
        rows = together(self.database, self.staged, ())
        found = self.first(f"SELECT count(*) FROM {rows} WHERE {self._number} = 0")
        if found is not None and int(found[0]) > 1:
            raise CommitError(
                f"{self.who}: the key {key_text(self.key, key)} of {self.named} occurs in the rows of several tables, "
                "which an earlier version of SeaTunnel staged without their order. Nothing was written: start a new job"
            )

    def _divide(self) -> None:
        """Create the table of rounds."""
        keys, number = ", ".join(self._names), self._number
        missing = " OR ".join(f"{key} IS NULL" for key in self._names)
        by_key = f"OVER (PARTITION BY {keys}, CASE WHEN {missing} THEN {number} END ORDER BY {number})"
        rows = together(self.database, self.staged, self.key)
        rows = (
            f"SELECT {keys}, {number}, seatunnel_at, "
            f"CASE WHEN lag(seatunnel_at) {by_key} <> seatunnel_at THEN 1 ELSE 0 END AS seatunnel_new FROM {rows}"
        )
        select = f"SELECT {number}, seatunnel_at, sum(seatunnel_new) {by_key} AS seatunnel_round"
        select += f" FROM ({rows}) AS seatunnel_changes"
        for statement in self.database.create_temporary(_ROUNDS, select, [number]):
            self.run(statement)

    def _of_round(self, at: int, number: int) -> str:
        """Return the SELECT of the rows of one staged table in one round."""
        return f"SELECT seatunnel_part.* FROM {self._joined(at)} WHERE {_ROUNDS}.seatunnel_round = {number}"

    def _joined(self, at: int) -> str:
        number = self._number
        same = f"{_ROUNDS}.{number} = seatunnel_part.{number} AND {_ROUNDS}.seatunnel_at = {at}"
        return f"{_aliased(self.staged[at])} JOIN {_ROUNDS} ON {same}"

    def _require_whole_updates(self, at: int) -> None:
        """Raise ``CommitError`` if an update changes a key, and its old and new row are in different rounds.

        The absent values of the new row would be those of the old row, which is moved at another time.
        """
        kind, before = self.database.quoted(KIND), f"OVER (ORDER BY seatunnel_part.{self._number})"
        shown = ", ".join(f"seatunnel_part.{key}" for key in self._names)
        rows = (
            f"SELECT {shown}, seatunnel_part.{kind}, seatunnel_round, lag(seatunnel_part.{kind}) {before} AS "
            f"seatunnel_before, lag(seatunnel_round) {before} AS seatunnel_earlier FROM {self._joined(at)}"
        )
        wrong = f"{kind} = 2 AND seatunnel_before = 1 AND seatunnel_earlier <> seatunnel_round"
        key = self.first(f"SELECT {', '.join(self._names)} FROM ({rows}) AS seatunnel_moved WHERE {wrong} LIMIT 1")
        if key is not None:
            raise CommitError(
                f"{self.who}: rows of several tables with different columns are merged into {self.named}, and the row "
                f"with the key {key_text(self.key, key)} gets this key from an update whose rows are incomplete, so "
                "their values are unknown. Nothing was written: let the source log whole rows, and start a new job"
            )


def together(database: TableDatabase, staged: Sequence[str], key: Sequence[str]) -> str:
    """Return a FROM item of all staged rows: their key, kind and number, and their index in ``staged``."""
    names = ", ".join(database.quoted(name) for name in (*key, KIND, NUMBER))
    each = (f"SELECT {names}, {at} AS seatunnel_at FROM {_aliased(rows)}" for at, rows in enumerate(staged))
    return f"({' UNION ALL '.join(each)}) AS seatunnel_parts"


def _aliased(rows: str) -> str:
    return f"{rows} AS seatunnel_part"
