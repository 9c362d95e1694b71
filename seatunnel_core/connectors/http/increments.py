"""Incremental reads of a service, based on the values of a column.

A service cannot report its largest value, so the rows of an increment are requested twice: first when the job is
planned, to find the largest value and the rows at the boundary, and again to read them. All pages of an increment are
one split. Thus each version of a row is read by exactly one job, even if the data changes between the two requests or
between attempts.
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
"""Tolerated clock difference: a value may be this far in the future. Times without a zone may be in any zone."""

_KINDS = (of.is_integer, of.is_decimal, of.is_date, of.is_timestamp, of.is_string)
"""Predicates for types whose values can be compared and stored exactly."""


@frozen(kw_only=True)
class RowIncrements:
    """Incremental reads of a service with declared columns, based on the values of one column."""

    increment: Increment
    arrow: pa.DataType
    key: tuple[str, ...]
    shown: str
    """The request, for messages."""

    reads: Mapping[str, str]
    """Value of ``Window.reads`` for the service's cursors."""

    def asked_from(self, after: Cursor | None) -> str | None:
        """Return the smallest value to request; ``None`` to request all values."""
        return self.increment.start if after is None else after.since or after.value

    # -- the window

    def window(self, pages: Iterable[pa.RecordBatch], after: Cursor | None) -> Window:
        """Return the window of a job that starts now, given all rows in the service's responses."""
        return self.window_of(map(self._marked, pages), after)

    def window_of(self, pages: Iterable[Iterable[tuple[Any, str]]], after: Cursor | None) -> Window:
        """Return the same window as ``window``, given a value and a digest for each row."""
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
                f"no increment would include {pick(missing, 'row')} of {self.shown}, because "
                f"{self.increment.column!r} is null. Skip such rows with incremental {{ nulls = SKIP }}"
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
        """Return this job's rows. Add the digests of ``rows`` to ``before``, and note repeated rows in ``context``."""
        return rows.filter(pa.array(self.chosen(self._marked(rows), window, before, context), pa.bool_()))

    def chosen(
        self, rows: Iterable[tuple[Any, str]], window: Window, before: set[str], context: ReadContext
    ) -> list[bool]:
        """Return whether each row belongs to this job, given values and digests of the rows. See ``kept``."""
        chosen = []
        for number, (value, mark) in enumerate(rows, 1):
            has = value is not None and self._bounds.has(value, mark, window)
            if has and mark in before:
                context.leave_out(
                    "occurred twice in one response with the same key and value", f"{self.shown}, row {number}"
                )
            chosen.append(has and mark not in before)
            if has:
                before.add(mark)
        return chosen

    @property
    def _bounds(self) -> Bounds:
        return Bounds(read=self._read, start=self.increment.start)

    def _marked(self, rows: pa.RecordBatch) -> Iterator[tuple[Any, str]]:
        columns = [rows.column(name).to_pylist() for name in (*self.key, self.increment.column)]
        for values in zip(*columns, strict=True):
            yield values[-1], digest(values)

    def _since(self, last: Any, after: Cursor | None) -> Any:
        """Return the lower bound of a window, which is never below the first requested value."""
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
                f"option 'incremental': lag: {self.increment.column!r} contains numbers, so lag must be a "
                f"{type_name(self.arrow)}, not {self.increment.lag!r}"
            )
        return found

    def _written(self, value: Any) -> str:
        """Format a value for cursors and requests."""
        if isinstance(value, date):
            return value.isoformat().replace("+00:00", "Z")
        return f"{value:f}" if isinstance(value, Decimal) else str(value)

    def _read(self, text: str) -> Any:
        """Parse a value from a cursor or from the user. A time without a zone is in UTC."""
        try:
            return _value(text, self.arrow)
        except ValueError as error:
            raise SourceError(
                f"option 'incremental': {text!r} is not a value of {self.increment.column!r}, which has the type "
                f"{type_name(self.arrow)}"
            ) from error

    def _refuse_future(self, last: Any) -> None:
        if not isinstance(last, date):
            return
        moment, now = _moment(last), datetime.now(UTC)
        if moment > (now if moment.tzinfo else now.replace(tzinfo=None)) + _FUTURE:
            raise SourceError(
                f"the largest {self.increment.column!r} of {self.shown} is {self._written(last)}, which is in the "
                "future. With this value as the cursor, the next job would skip all rows before that time. Correct "
                "that row, or exclude it with params"
            )

    def require_values(self) -> None:
        """Check that ``start`` is valid and that ``lag`` can be subtracted from values."""
        if self.increment.start is not None:
            self._read(self.increment.start)
        if of.is_string(self.arrow) and self.increment.lag.strip("0"):
            raise SourceError(
                "option 'incremental': lag: not supported for strings. Declare the column as timestamp_tz, "
                "timestamp or date"
            )
        if of.is_integer(self.arrow) or of.is_decimal(self.arrow):
            _ = self._lag_number
        elif not of.is_string(self.arrow):
            _ = self.increment.lag_ms


def key_of_increment(increment: Increment, content: Content, paging: Paging | None) -> tuple[str, ...]:
    """Return the columns that identify the rows of a service. Raise ``UsageError`` if options contradict each other."""
    _refuse_others(content, paging)
    key = increment.key or content.schema.primary_key
    if not key:
        raise UsageError(
            "option 'incremental': schema has no primaryKey to identify rows at the boundary of an increment. Set "
            "key, for example incremental { key = [id] }"
        )
    return tuple(key)


def read_by(increment: Increment, content: Content, request: Request, key: Sequence[str]) -> dict[str, str]:
    """Return the value of ``Window.reads`` for the service's cursors."""
    path = {} if content.path is None else {"content_field": content.path}
    return {"source": "Http", "url": request.shown, **path, "column": increment.column, "key": ", ".join(key)}


def row_increments(increment: Increment, content: Content, paging: Paging | None, request: Request) -> RowIncrements:
    """Create the incremental reads that the options describe. Raise an error if the options are invalid."""
    columns, key = content.schema.columns, key_of_increment(increment, content, paging)
    for name in (increment.column, *key):
        if name not in columns.names:
            raise UsageError(f"option 'incremental': schema has no column {name!r}; it has {', '.join(columns.names)}")
    arrow = columns.field(increment.column).type
    if not any(is_one(arrow) for is_one in _KINDS):
        raise UsageError(
            f"option 'incremental': {increment.column!r} has the type {type_name(arrow)}; values of this type "
            "cannot be compared exactly. Use a column of integers, decimals, dates, timestamps or strings"
        )
    reads = read_by(increment, content, request, key)
    found = RowIncrements(increment=increment, arrow=arrow, key=key, shown=request.shown, reads=reads)
    found.require_values()
    return found


def _refuse_others(content: Content, paging: Paging | None) -> None:
    if not content.has_columns:
        raise UsageError(
            "option 'incremental': the types of the column and the key are unknown: declare schema, for example "
            "schema { fields { id = bigint, updated_at = timestamp_tz } }, or set schema_sample = 1000 to infer "
            "the columns"
        )
    if paging is not None and paging.last:
        raise UsageError(
            "option 'incremental': the number of pages differs between increments: remove total_page_size, and set "
            "batch_size"
        )


@lru_cache(maxsize=64)  # The boundaries are read for each row.
def _value(text: str, arrow: pa.DataType) -> Any:
    if of.is_timestamp(arrow) and arrow.tz is not None:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return int(number_text(text)) if of.is_integer(arrow) else plain(text, arrow)


def _moment(value: date) -> datetime:
    return value if isinstance(value, datetime) else datetime.combine(value, time())
