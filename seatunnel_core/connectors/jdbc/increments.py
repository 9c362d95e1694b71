"""Incremental reads of a table or a query.

The window of a job ends at ``hi``, the largest value of the column when the job is planned. The window is read in three
parts, each with its own condition, so that only the database compares values:

    again   from the lower bound of the previous increment to its upper value, except rows delivered by that job
    new     after that value, below the lower bound of this increment: all rows
    edge    from the lower bound of this increment to ``hi``: rows that existed at planning and were not delivered

A row that arrives in the edge after planning is not read by this job. The next job reads the same range again.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, frozen

from seatunnel_core.connector_api.errors import SourceError, StoredValueError
from seatunnel_core.connector_api.increments import MOST_DIGESTS, Increment, digest, require_few
from seatunnel_core.connector_api.values import Cursor, Window
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.dialect import Asking
from seatunnel_core.connectors.jdbc.order import Order
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.jdbc.splitting import Piece, value_of
from seatunnel_core.quantity import pick

AGAIN, NEW, EDGE = "again", "new", "edge"

_FUTURE = timedelta(days=1)
"""Tolerated clock difference; timestamps without a zone may be in any zone."""

_FETCHED = 10_000


@frozen(kw_only=True)
class Increments:
    """A table or query, with the column by which it is read incrementally."""

    found: Found
    increment: Increment
    column: Column
    key: tuple[str, ...]
    reads: dict[str, str]
    """Value of ``Window.reads`` for this table's cursors."""

    # -- the window

    def window(self, ask: Asking, after: Cursor | None) -> Window:
        """Return the window of a job that starts now.

        Raises:
            SourceError: A row has no value or a future value in the column, or too many rows are at the boundary.
        """
        self._require_values(ask)
        low = self._low(after)
        # Without an alias, "n"::text is called n in PostgreSQL, and ORDER BY n would compare the strings.
        shown = f"{self._of(self._order.shown)} AS seatunnel_value"
        highest = self._ask_one(ask, f"SELECT {shown} FROM {self._from([low])} ORDER BY {self._by} DESC LIMIT 1")
        if highest is None:
            return Window(reads=self.reads, after=after, upto=None if after is None else self._cursor(after.value))
        self._refuse_future(str(highest))
        return Window(reads=self.reads, after=after, upto=self._cursor(str(highest)))

    def _cursor(self, value: str) -> Cursor:
        since = self._behind(value)
        rows = self._digests([self._compared(">=", since), self._compared("<=", value)])
        require_few(rows, f"the rows of {self._named} from {since} up to {value}")
        return Cursor(value=value, since=since, delivered=rows)

    def _digests(self, conditions: Sequence[str]) -> frozenset[str]:
        """Return the digests of the selected rows, but at most one more than the state can contain."""
        names = dict.fromkeys((*self.key, self.column.name))
        narrow = evolve(self.found, columns=tuple(each for each in self.found.columns if each.name in names))
        statement = narrow.statement({"column": "", **Piece().body()}, self._joined(conditions))
        dialect, digests = self.found.reading.dialect, set[str]()
        rows = dialect.read(f"{statement} LIMIT {MOST_DIGESTS + 1}", narrow.columns, _FETCHED, None)
        for each in rows:
            digests.update(self._digests_of(each.rows))
        return frozenset(digests)

    def _digests_of(self, rows: pa.RecordBatch) -> Iterator[str]:
        columns = [rows.column(name).to_pylist() for name in (*self.key, self.column.name)]
        return map(digest, zip(*columns, strict=True))

    def _require_values(self, ask: Asking) -> None:
        if not self.column.nullable and not self._order.among:
            return
        usual = self._of(" AND ".join([f"{self._order.by} IS NOT NULL", *filter(None, [self._order.among])]))
        where = [f"({self.found.where})"] if self.found.where else []
        asked = " AND ".join([*where, f"NOT ({usual})"])
        missing = int(self._ask_one(ask, f"SELECT count(*) FROM {self.found.reading.relation} WHERE {asked}") or 0)
        if missing and not self.increment.skips_nulls:
            raise SourceError(
                f"no increment would include {pick(missing, 'row')} of {self.found.reading.name}, because "
                f"{self.column.name!r} is null or not of the type {self.column.declared}. Set a value, or skip such "
                "rows with incremental { nulls = SKIP }"
            )

    def _refuse_future(self, highest: str) -> None:
        moment = _moment(highest, self.column.arrow)
        if moment is None:
            if of.is_date(self.column.arrow) or of.is_timestamp(self.column.arrow):
                raise SourceError(
                    f"the largest value of {self._named} is {highest}, so no later row could be found. Correct that "
                    "row, or exclude it with where_condition"
                )
            return
        now = datetime.now(UTC)
        if moment > (now if moment.tzinfo else now.replace(tzinfo=None)) + _FUTURE:
            raise SourceError(
                f"the largest value of {self._named} is {highest}, which is in the future. With this value as the "
                "cursor, the next job would skip all rows before that time. Correct that row, or exclude it with "
                "where_condition"
            )

    def _behind(self, value: str) -> str:
        """Return a value minus the lag, rounded down if the result is not exactly representable."""
        lag = self.increment.lag.strip()
        if lag.strip("0.") == "":
            return value
        arrow = self.column.arrow
        if of.is_integer(arrow) or of.is_decimal(arrow):
            try:
                return str(Decimal(value) - Decimal(lag))
            except InvalidOperation as error:
                raise SourceError(
                    f"option 'incremental': lag: {self._named} contains numbers, so lag must be a number, not {lag!r}"
                ) from error
        moment = _moment(value, arrow) or _moment(value, pa.timestamp("us"))
        if moment is None:
            raise SourceError(
                f"option 'incremental': lag: {self._named} contains strings that are not times, such as {value!r}; "
                "remove lag"
            )
        behind = (moment - timedelta(milliseconds=self.increment.lag_ms)).replace(microsecond=0)
        if of.is_date(arrow) or len(value) == len("2026-01-31"):
            return behind.date().isoformat()
        return behind.isoformat(sep="T" if "T" in value else " ")

    # -- the parts

    def parts(self, window: Window) -> dict[str, str]:
        """Return the condition for each part of a window, keyed by the part's name."""
        upto = window.upto
        if upto is None or upto.since is None:
            return {}
        below, edge = self._compared("<", upto.since), self._compared(">=", upto.since)
        behind = self._behind_cursor(window.after)
        found = {
            NEW: [behind, below],
            EDGE: [self._low(window.after), edge, self._compared("<=", upto.value)],
        }
        if window.after is not None and window.after.since is not None:
            upper = self._compared("<=", window.after.value)
            found = {AGAIN: [self._compared(">=", window.after.since), upper, below], **found}
        return {part: self._joined(conditions) for part, conditions in found.items()}

    def kept(self, part: str, window: Window, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a part that belong to the window."""
        if part == NEW:
            return rows
        fresh = window.fresh
        known = frozenset() if window.after is None else window.after.delivered
        return rows.filter(
            pa.array([each in fresh if part == EDGE else each not in known for each in self._digests_of(rows)])
        )

    def _low(self, after: Cursor | None) -> str:
        """Return the lower-bound condition for all rows that a job reads."""
        if after is not None and after.since is not None:
            return self._compared(">=", after.since)
        return self._behind_cursor(after)

    def _behind_cursor(self, after: Cursor | None) -> str:
        if after is not None:
            return self._compared(">", after.value)
        return "" if self.increment.start is None else self._compared(">=", self.increment.start.strip())

    # -- SQL

    @property
    def _named(self) -> str:
        return f"{self.found.reading.name}.{self.column.name}"

    @property
    def _order(self) -> Order:
        return self.found.reading.dialect.orders[self.column.order]

    @property
    def _by(self) -> str:
        return self._of(self._order.by)

    def _of(self, expression: str) -> str:
        return expression.replace("{}", self.found.reading.dialect.quoted(self.column.name))

    def _compared(self, how: str, value: str) -> str:
        try:
            return f"{self._by} {how} {self._order.literal(value)}"
        except StoredValueError as error:
            raise SourceError(f"{value!r} is not a value of {self._named}: {error}") from error

    def _joined(self, conditions: Sequence[str]) -> str:
        among = [self._of(self._order.among)] if self._order.among else []
        return " AND ".join([f"{self._by} IS NOT NULL", *among, *filter(None, conditions)])

    def _from(self, conditions: Sequence[str]) -> str:
        where = [f"({self.found.where})"] if self.found.where else []
        return f"{self.found.reading.relation} WHERE {' AND '.join([*where, self._joined(conditions)])}"

    @staticmethod
    def _ask_one(ask: Asking, statement: str) -> Any:
        found = ask(statement)
        return found[0][0] if found else None


_KINDS = (of.is_integer, of.is_decimal, of.is_date, of.is_timestamp, of.is_string)
"""Predicates for types whose values can be compared and stored exactly."""


def increments_of(found: Found, increment: Increment) -> Increments:
    """Create the incremental reads; raise ``SourceError`` for a missing column or key, or an unreliable order."""
    column, dialect = found.column(increment.column, "incremental"), found.reading.dialect
    order = dialect.orders[column.order]
    if not any(is_one(column.arrow) for is_one in _KINDS) or order.description:
        raise SourceError(
            f"option 'incremental': {column.name!r} of {found.reading.name} has "
            f"{f'the type {column.declared}' if column.declared else 'no declared type'}; such values cannot be "
            "compared exactly"
            + (f", but only {order.description}" if order.description else "")
            + ". Use a column of integers, decimals, dates or timestamps, or compute such a column in query, with AS"
        )
    key = increment.key or found.schema().primary_key
    if not key:
        raise SourceError(
            f"option 'incremental': {found.reading.name} has no primary key to identify rows at the boundary of an "
            "increment. Set key, for example incremental { key = [id] }"
        )
    for name in key:
        found.column(name, "incremental")
    reading = found.reading
    reads = {
        "source": "Jdbc",
        "database": str(dialect.address),
        "table": reading.name,
        **({"query": reading.query} if reading.query is not None else {}),
        **({"where_condition": reading.where} if reading.where else {}),
        "column": column.name,
        **({"time_zone": column.zone} if column.zone else {}),
        "key": ", ".join(key),
    }
    if increment.start is not None:
        _require_value(increment.start, column)
    return Increments(found=found, increment=increment, column=column, key=tuple(key), reads=reads)


def _require_value(text: str, column: Column) -> None:
    try:
        value_of(text.strip(), column.arrow)
    except (ValueError, InvalidOperation) as error:
        raise SourceError(
            f"option 'incremental': start: {text!r} is not a value of {column.name}, which has the type "
            f"{column.declared}"
        ) from error


def _moment(text: str, arrow: pa.DataType) -> datetime | None:
    """Parse a date or time; return ``None`` for other types and other strings."""
    if not (of.is_date(arrow) or of.is_timestamp(arrow)):
        return None
    try:
        found = value_of(text, arrow)
    except (ValueError, OverflowError):
        return None
    if isinstance(found, datetime):
        return found
    return datetime(found.year, found.month, found.day) if isinstance(found, date) else None
