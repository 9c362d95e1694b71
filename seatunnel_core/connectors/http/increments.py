"""The increments of a service: which of its rows a job delivers, by the values of a column.

A service cannot be asked how far its rows go, so an increment is asked for twice: when the job is planned, to learn
the largest value and the rows at the border, and when it is read. All pages of one are one split. So whatever changes
between the two, or between two attempts, each version of a row belongs to one job.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import frozen

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.increments import Increment, digest, require_few
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connector_api.values import Cursor, Window
from seatunnel_core.connectors.bounds import Bounds
from seatunnel_core.connectors.http.content import Content
from seatunnel_core.connectors.http.paging import Paging
from seatunnel_core.connectors.http.request import Request
from seatunnel_core.quantity import pick
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.values import number_text, plain

_FUTURE = timedelta(days=1)
"""How far in the future a value may lie: clocks differ, and times without a zone are those of any zone."""

_KINDS = (of.is_integer, of.is_decimal, of.is_date, of.is_timestamp, of.is_string)
"""The types whose values can be compared, and written, exactly."""


@frozen(kw_only=True)
class RowIncrements:
    """The rows of a service, and the column by which they are read in increments."""

    increment: Increment
    arrow: pa.DataType
    """The type of the column."""

    key: tuple[str, ...]
    shown: str
    """The request, for messages."""

    reads: Mapping[str, str]
    """What a cursor of it belongs to: ``Window.reads``."""

    def asked_from(self, after: Cursor | None) -> str | None:
        """Return the value from which on a job needs rows, this value included; ``None``: from the beginning."""
        return self.increment.start if after is None else after.since or after.value

    # -- the window

    def window(self, pages: Iterable[pa.RecordBatch], after: Cursor | None) -> Window:
        """Return the window of a job that begins now, from all rows that the service answers.

        Raises:
            SourceError: A row has no value in the column, or one in the future; or too many rows lie at the border.
        """
        return self.window_of(map(self._marked, pages), after)

    def window_of(self, pages: Iterable[Iterable[tuple[Any, str]]], after: Cursor | None) -> Window:
        """Return the window as ``window`` does, from the value and the digest of each row."""
        last, zone, missing = self._bounds.last((), after), dict[str, Any](), 0
        for rows in pages:
            for value, mark in rows:
                if value is None:
                    missing += 1
                    continue
                if self._bounds.is_new(value, mark, after):
                    last = value if last is None else max(last, value)
                zone[mark] = value
            since = None if last is None else self._since(last, after)
            zone = {mark: value for mark, value in zone.items() if since is None or value >= since}
        if missing and not self.increment.skips_nulls:
            raise SourceError(
                f"{pick(missing, 'row')} of {self.shown} without a value in {self.increment.column!r}, which no "
                "increment would ever have. Leave such rows out with incremental { nulls = SKIP }"
            )
        if last is None:
            return Window(reads=self.reads, after=after)
        self._refuse_future(last)
        since = self._since(last, after)
        delivered = frozenset(mark for mark, value in zone.items() if since <= value <= last)
        require_few(delivered, f"the rows of {self.shown} from {since} up to {last}")
        upto = Cursor(value=self._written(last), since=self._written(since), delivered=delivered)
        return Window(reads=self.reads, after=after, upto=upto)

    def kept(self, rows: pa.RecordBatch, window: Window, before: set[str], context: ReadContext) -> pa.RecordBatch:
        """Return the rows that a job delivers.

        Args:
            rows: Some rows of the answers.
            window: The window of the job.
            before: The digests of all rows that it has; those of ``rows`` are added.
            context: Gets to know rows that came twice, such as those that moved to the next page meanwhile.
        """
        return rows.filter(pa.array(self.chosen(self._marked(rows), window, before, context), pa.bool_()))

    def chosen(
        self, rows: Iterable[tuple[Any, str]], window: Window, before: set[str], context: ReadContext
    ) -> list[bool]:
        """Return whether a job delivers each row, from its value and its digest; otherwise as ``kept``."""
        chosen = []
        for number, (value, mark) in enumerate(rows, 1):
            has = value is not None and self._bounds.has(value, mark, window)
            if has and mark in before:
                context.leave_out(
                    "came twice in one answer, with the same key and value", f"{self.shown}, row {number}"
                )
            chosen.append(has and mark not in before)
            if has:
                before.add(mark)
        return chosen

    @property
    def _bounds(self) -> Bounds:
        return Bounds(read=self._read, start=self.increment.start)

    def _marked(self, rows: pa.RecordBatch) -> Iterator[tuple[Any, str]]:
        """Yield the value of each row, and its digest."""
        columns = [rows.column(name).to_pylist() for name in (*self.key, self.increment.column)]
        for values in zip(*columns, strict=True):
            yield values[-1], digest(values)

    def _since(self, last: Any, after: Cursor | None) -> Any:
        """Return where the border of a window begins. What was not asked for was not seen, so it is no part of it."""
        low, since = self.asked_from(after), self._behind(last)
        return since if low is None or self.increment.param is None else max(since, self._read(low))

    # -- values

    def _behind(self, value: Any) -> Any:
        if isinstance(value, (int, Decimal)):
            return value - self._lag_number
        if isinstance(value, str):
            return value
        behind = _moment(value) - timedelta(milliseconds=self.increment.lag_ms)
        return behind if isinstance(value, datetime) else behind.date()

    @property
    def _lag_number(self) -> Any:
        try:
            found = plain(self.increment.lag, self.arrow)
        except ValueError:
            found = -1
        if found < 0:
            raise SourceError(
                f"option 'incremental': lag: {self.increment.column!r} has numbers, so lag is a "
                f"{type_name(self.arrow)}, and not {self.increment.lag!r}"
            )
        return found

    def _written(self, value: Any) -> str:
        """Return a value as the state has it, and as the service is asked for it."""
        if isinstance(value, date):
            return value.isoformat().replace("+00:00", "Z")
        return f"{value:f}" if isinstance(value, Decimal) else str(value)

    def _read(self, text: str) -> Any:
        """Return the value of a text as ``_written`` gives it, or a user writes it; without a zone it is UTC.

        Raises:
            SourceError: It is none.
        """
        try:
            return _value(text, self.arrow)
        except ValueError as error:
            raise SourceError(
                f"option 'incremental': {text!r} is no value of {self.increment.column!r}, a {type_name(self.arrow)}"
            ) from error

    def _refuse_future(self, last: Any) -> None:
        if not isinstance(last, date):
            return
        moment, now = _moment(last), datetime.now(UTC)
        if moment > (now if moment.tzinfo else now.replace(tzinfo=None)) + _FUTURE:
            raise SourceError(
                f"the largest {self.increment.column!r} of {self.shown} is {self._written(last)}, in the future: with "
                "it as the cursor, all rows that come before that time would be left out. Correct that row, or ask for "
                "the others with params"
            )

    def require_values(self) -> None:
        """Require that ``start`` is a value, and ``lag`` one that can be subtracted.

        Raises:
            SourceError: They are none.
        """
        if self.increment.start is not None:
            self._read(self.increment.start)
        if of.is_string(self.arrow) and self.increment.lag.strip("0"):
            raise SourceError(
                "option 'incremental': lag: texts have none. Declare the column as timestamp_tz, timestamp or date"
            )
        if of.is_integer(self.arrow) or of.is_decimal(self.arrow):
            _ = self._lag_number
        elif not of.is_string(self.arrow):
            _ = self.increment.lag_ms


def key_of_increment(increment: Increment, content: Content, paging: Paging | None) -> tuple[str, ...]:
    """Return the columns that tell the rows of a service apart.

    Raises:
        UsageError: The options do not go together.
    """
    _refuse_others(content, paging)
    key = increment.key or content.schema.primary_key
    if not key:
        raise UsageError(
            "option 'incremental': schema has no primaryKey by which rows at the border of an increment could be told "
            "apart. Write key, as in incremental { key = [id] }"
        )
    return tuple(key)


def read_by(increment: Increment, content: Content, request: Request, key: Sequence[str]) -> dict[str, str]:
    """Return what a cursor belongs to: ``Window.reads``."""
    path = {} if content.path is None else {"content_field": content.path}
    return {"source": "Http", "url": request.shown, **path, "column": increment.column, "key": ", ".join(key)}


def row_increments(increment: Increment, content: Content, paging: Paging | None, request: Request) -> RowIncrements:
    """Return how the rows of a service are read in increments.

    Raises:
        UsageError: The options do not go together.
        SourceError: ``start`` or ``lag`` do not go with the column.
    """
    columns, key = content.schema.columns, key_of_increment(increment, content, paging)
    for name in (increment.column, *key):
        if name not in columns.names:
            raise UsageError(f"option 'incremental': schema has no column {name!r}; it has {', '.join(columns.names)}")
    arrow = columns.field(increment.column).type
    if not any(is_one(arrow) for is_one in _KINDS):
        raise UsageError(
            f"option 'incremental': {increment.column!r} is a {type_name(arrow)}, whose values cannot be compared "
            "exactly. Write a column of whole numbers, decimals, dates, timestamps or texts"
        )
    reads = read_by(increment, content, request, key)
    found = RowIncrements(increment=increment, arrow=arrow, key=key, shown=request.shown, reads=reads)
    found.require_values()
    return found


def _refuse_others(content: Content, paging: Paging | None) -> None:
    if not content.has_columns:
        raise UsageError(
            "option 'incremental': the column and the key need types: write schema, as in schema { fields { id = "
            "bigint, updated_at = timestamp_tz } }, or schema_sample = 1000 to have the columns inferred"
        )
    if paging is not None and paging.last:
        raise UsageError(
            "option 'incremental': each increment has another number of pages: leave total_page_size out, and write "
            "batch_size"
        )


@lru_cache(maxsize=64)  # the borders are read for each row
def _value(text: str, arrow: pa.DataType) -> Any:
    if of.is_timestamp(arrow) and arrow.tz is not None:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return int(number_text(text)) if of.is_integer(arrow) else plain(text, arrow)


def _moment(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time())
