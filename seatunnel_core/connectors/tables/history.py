"""Row history (``keep_history``): a commit ends the current version of a row that changes, and adds the new one."""

from collections.abc import Iterator, Sequence

from attrs import field, frozen

from seatunnel_core.connectors.tables.database import TableDatabase
from seatunnel_core.connectors.tables.sql_database import KIND

__all__ = ["Versions"]


@frozen(kw_only=True)
class Versions:
    """Statements that apply rows to a table with history. Unchanged rows write nothing."""

    database: TableDatabase
    table: str
    """Quoted table."""

    rows: str
    """Table or subquery of new rows, as an expression after FROM."""

    alias: str
    """Alias of ``rows``."""

    last: str = ""
    """Condition, followed by ``AND``, on the last row of a key; empty if ``rows`` has only last rows."""

    updates_from: bool = False
    """True if the database has ``UPDATE … FROM``, which may be faster than EXISTS."""

    columns: Sequence[str] = field(repr=False)
    """Columns of the rows."""

    key: Sequence[str]
    history: Sequence[str]
    """Columns: valid from, valid until, and is current."""

    at: str
    """Literal of the time of the commit, the same for all its statements."""

    def statements(self) -> Iterator[str]:
        """Yield the statements, in order."""
        quoted, table, at, rows = self.database.quoted, self.table, self.at, self.alias
        since, until, current = map(quoted, self.history)
        keys, names = list(map(quoted, self.key)), list(map(quoted, self.columns))
        same = " AND ".join(f"{rows}.{name} = {table}.{name}" for name in keys)
        others = [name for name in names if name not in keys]
        changed = [self.database.differ(f"{table}.{name}", f"{rows}.{name}") for name in others]
        ends = f"{self.last}{same} AND ({' OR '.join([f'{rows}.{KIND} IN (1, 3)', *changed])})"
        begun = f"{table}.{since}"
        end = f"UPDATE {table} SET {until} = CASE WHEN {begun} > {at} THEN {begun} ELSE {at} END, {current} = false"
        if self.updates_from:
            yield f"{end} FROM {self.rows} WHERE {table}.{current} AND {ends}"
        else:
            yield f"{end} WHERE {current} AND EXISTS (SELECT 1 FROM {self.rows} WHERE {ends})"
        # If another clock was ahead of this one, a version may end later than now: the next one starts at that time.
        listed = ", ".join(keys)
        ended = f"SELECT {listed}, max({until}) AS seatunnel_until FROM {table} WHERE {until} > {at} GROUP BY {listed}"
        both = " AND ".join(f"seatunnel_ended.{name} = {rows}.{name}" for name in keys)
        shown = ", ".join(f"{rows}.{name}" for name in names)
        yield (
            f"{self.database.insert(table, ', '.join([*names, since, until, current]))} "
            f"SELECT {shown}, coalesce(seatunnel_until, {at}), NULL, true "
            f"FROM {self.rows} LEFT JOIN ({ended}) AS seatunnel_ended ON {both} WHERE {self.last}{KIND} IN (0, 2) "
            f"AND NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.{current} AND {same})"
        )
        # A version that a later unit of the same commit ends was never valid.
        yield f"DELETE FROM {table} WHERE {until} = {at} AND {since} = {at}"
