"""Division of a table or a query into splits at bounds of its split column, from the smallest to the largest.

A split contains the rows from one bound up to, but not including, the next. The first and the last split are
open-ended, so that rows added later belong to one of them; rows with null in the split column belong to the first
split. ``partition_lower_bound`` and ``partition_upper_bound`` are conditions on all splits.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import field, frozen

from seatunnel_core import stored
from seatunnel_core.connector_api.errors import SourceError, StoredValueError
from seatunnel_core.connector_api.option import Option, Options
from seatunnel_core.connectors.jdbc import options as opt
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.dialect import Asking, Dialect
from seatunnel_core.connectors.jdbc.order import OWN, Order


@frozen(kw_only=True)
class Piece:
    """Rows between two bounds; a bound of ``None`` means an open end."""

    order: str = OWN
    low: str | None = None
    high: str | None = None
    rows: int = 1
    """Estimated number of rows."""

    def body(self) -> dict[str, Any]:
        """Return the body of the split as JSON values: ``order``, ``low``, ``high``, ``closed`` and ``nulls``."""
        return {
            "order": self.order,
            "low": self.low,
            "high": self.high,
            "closed": False,
            "nulls": self.low is None,
        }


@frozen(kw_only=True)
class Divided:
    """A table or query to be divided into splits, and its split column."""

    dialect: Dialect
    ask: Asking = field(repr=False)
    relation: str
    """FROM item of the table or query."""

    where: str
    """Condition for all rows, or ``""``."""

    column: Column
    options: Options
    rows: int
    """Estimated total number of rows."""

    def pieces(self, number: int | None, at_least: int) -> list[Piece]:
        """Return the pieces, ordered by their bounds. If ``number`` is ``None``, pieces have about ``split.size`` rows.

        There are fewer than ``at_least`` pieces if the column has too few distinct values.
        """
        wanted = max(number or -(-self.rows // self.options[opt.SPLIT_SIZE]), at_least)
        name, borders = self.column.order, list[str]()
        if wanted > 1:
            borders = self._even(wanted, asked=number is not None) or self._ranked(name, wanted)
            if not self.dialect.rises(self.ask, self.column, borders):
                name = self.dialect.plain_order
                borders = self._ranked(name, wanted)
        edges = [None, *borders, None]
        each = max(1, self.rows // (len(edges) - 1))
        return [Piece(order=name, low=low, high=high, rows=each) for low, high in pairwise(edges)]

    def _even(self, wanted: int, *, asked: bool) -> list[str]:
        """Return the bounds of pieces of equal width; empty if values are spread unevenly or cannot be interpolated."""
        order = self.dialect.orders[self.column.order]
        if not order.ranges or not _is_even_kind(self.column.arrow):
            return []
        low, high = self._end(order, opt.LOWER, ""), self._end(order, opt.UPPER, " DESC")
        if low is None or high is None or not (asked or self._is_even(low, high)):
            return []
        return [str(border) for border in _even(low, high, wanted)]

    def _end(self, order: Order, bound: Option[str], direction: str) -> Any:
        """Return the column's smallest or largest value; ``None`` if there is none or Python cannot represent it."""
        written = bound_of(self.options, bound, self.column)
        if written is not None:
            return written
        by, shown = self._of_column(order.by), self._of_column(order.shown)
        asked = f"SELECT {shown} AS seatunnel_border FROM {self.relation}{self._narrowed(order)}"
        found = self.ask(f"{asked} ORDER BY {by}{direction} LIMIT 1")
        return _native(str(found[0][0]), self.column.arrow) if found else None

    def _is_even(self, low: Any, high: Any) -> bool:
        if not (of.is_integer(self.column.arrow) or of.is_decimal(self.column.arrow)):
            return False
        factor = float(high - low + 1) / max(1, self.rows)
        return bool(self.options[opt.EVEN_LOWER] <= factor <= self.options[opt.EVEN_UPPER])

    def _ranked(self, name: str, wanted: int) -> list[str]:
        """Return the bounds of pieces with equal numbers of rows, based on a sample if many pieces are wanted."""
        order = self.dialect.orders[name]
        by, shown = self._of_column(order.by), self._of_column(order.shown)
        sampled = self.options[opt.ALLOW_SAMPLING] and wanted > self.options[opt.THRESHOLD]
        more = f" AND {self.dialect.sampled(self.options[opt.SAMPLING_RATE])}" if sampled else ""
        values = (
            f"SELECT {shown} AS seatunnel_border, row_number() OVER (ORDER BY {by}) AS seatunnel_number, "
            f"count(*) OVER () AS seatunnel_total FROM {self.relation}{self._narrowed(order)}{more}"
        )
        found = self.ask(
            f"SELECT seatunnel_border FROM ({values}) AS seatunnel_values "
            f"WHERE ((seatunnel_number - 1) * {wanted}) % seatunnel_total < {wanted} ORDER BY seatunnel_number"
        )
        different = list(dict.fromkeys(str(value) for (value,) in found))
        borders = order.rising(different)[1:]
        if order.ranges and _is_moment(self.column.arrow):  # No server parses all strings that it prints.
            return [border for border in borders if _native(border, self.column.arrow) is not None]
        return borders

    def _narrowed(self, order: Order) -> str:
        conditions = [f"{order.by} IS NOT NULL", *([order.among] if order.among else [])]
        parts = [self._of_column(condition) for condition in conditions]
        return f" WHERE {' AND '.join([*parts, *([f'({self.where})'] if self.where else [])])}"

    def _of_column(self, expression: str) -> str:
        return expression.replace("{}", self.dialect.quoted(self.column.name))


def condition(dialect: Dialect, body: Mapping[str, Any], where: str) -> str:
    """Return the WHERE clause for a split and an additional condition, with a leading space; ``""`` for all rows."""
    parts = [f"({where})"] if where else []
    column = stored.text(body, "column")
    if column and (body["low"] is not None or body["high"] is not None):
        name = stored.text(body, "order") if "order" in body else OWN
        if name not in dialect.orders:
            raise StoredValueError(
                f"{ascii(name)[:60]} is not an order that {dialect.address.kind} supports for splits"
            )
        order = dialect.orders[name]
        by = order.by.replace("{}", dialect.quoted(column))
        sides = [f"{by} >= {order.literal(stored.text(body, 'low'))}"] if body["low"] is not None else []
        if body["high"] is not None:
            high = order.literal(stored.text(body, "high"))
            sides.append(f"{by} {'<=' if body['closed'] else '<'} {high}")
        joined = " AND ".join(sides)
        parts.append(f"({joined} OR {by} IS NULL)" if body["nulls"] else joined)
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def within_bounds(dialect: Dialect, options: Options, column: Column) -> str:
    """Return the condition for ``partition_lower_bound`` and ``partition_upper_bound``; ``""`` if neither is set."""
    sides = [(opt.LOWER, ">="), (opt.UPPER, "<=")]
    found = [(bound_of(options, option, column), how) for option, how in sides]
    written = [
        f"{dialect.quoted(column.name)} {how} {dialect.bound(value)}" for value, how in found if value is not None
    ]
    return " AND ".join(written)


def bound_of(options: Options, option: Option[str], column: Column) -> Any:
    """Return a bound as a value of the split column, or ``None``; raise ``SourceError`` if it has another type."""
    text: str | None = options[option]
    if text is None:
        return None
    try:
        return value_of(text.strip(), column.arrow)
    except (ValueError, InvalidOperation) as error:
        raise SourceError(
            f"option {option.key!r}: {text!r} is not a value of {column.name}, which has the type {column.declared}"
        ) from error


def value_of(text: str, arrow: pa.DataType) -> Any:
    """Parse a string as a value of an Arrow type.

    For dates and timestamps, a number of more than four digits means milliseconds since 1970, as in SeaTunnel.

    Raises:
        ValueError: The string is not a date or timestamp in ISO format.
        InvalidOperation: The string is not a number.
    """
    if of.is_integer(arrow):
        return int(Decimal(text))
    if of.is_decimal(arrow):
        return Decimal(text)
    if _is_moment(arrow):
        if text.lstrip("-").isdigit() and len(text) > 4:
            moment = datetime(1970, 1, 1) + timedelta(milliseconds=int(text))
        else:
            moment = datetime.fromisoformat(text)
        if of.is_timestamp(arrow) and arrow.tz is not None and moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.date() if of.is_date(arrow) else moment
    return text


def _native(text: str, arrow: pa.DataType) -> Any:
    """Parse a value from the database; return ``None`` if rows cannot represent it, or it is not finite."""
    try:
        value = value_of(text, arrow)
    except (ValueError, InvalidOperation, OverflowError):
        return None
    return None if isinstance(value, Decimal) and not value.is_finite() else value


def _is_moment(arrow: pa.DataType) -> bool:
    return bool(of.is_date(arrow) or of.is_timestamp(arrow))


def _is_even_kind(arrow: pa.DataType) -> bool:
    return bool(of.is_integer(arrow) or of.is_decimal(arrow) or _is_moment(arrow))


def _even(low: Any, high: Any, wanted: int) -> Iterator[Any]:
    """Yield the bounds between pieces of equal width, without the two outer bounds."""
    last = low
    for number in range(1, wanted):
        if isinstance(low, int):
            border: Any = low + (high - low + 1) * number // wanted
        else:
            border = low + (high - low) * number / wanted
        if last < border <= high:
            yield border
            last = border
