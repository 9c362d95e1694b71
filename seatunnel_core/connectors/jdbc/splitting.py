"""Where a table or a query is cut: borders of its split column, from the smallest to the largest.

A split has the rows from one border on, up to the next. The first and the last one are open, so that rows that come
meanwhile are in one of them, and rows without a value are in the first. With ``partition_lower_bound`` or
``partition_upper_bound`` that side is closed, and rows outside or without a value are not read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import field, frozen

from seatunnel_core.config.option import Option, Options
from seatunnel_core.connectors.jdbc import options as opt
from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.dialect import Dialect
from seatunnel_core.errors import SourceError

Asking = Callable[[str], Sequence[Sequence[Any]]]
"""Runs a statement and gives its rows."""


@frozen(kw_only=True)
class Piece:
    """A part of the rows."""

    low: Any = None
    high: Any = None
    includes_high: bool = False
    has_nulls: bool = False
    rows: int = 1
    """About how many it has."""

    def body(self) -> dict[str, Any]:
        """In JSON."""
        return {
            "low": None if self.low is None else str(self.low),
            "high": None if self.high is None else str(self.high),
            "closed": self.includes_high,
            "nulls": self.has_nulls,
        }


@frozen(kw_only=True)
class Divided:
    """What is divided, and how."""

    dialect: Dialect
    ask: Asking = field(repr=False)
    relation: str
    """What stands behind FROM."""

    where: str
    """A condition, or ``""``."""

    column: Column
    options: Options
    rows: int
    """Of all, about."""

    def pieces(self, number: int | None, at_least: int) -> list[Piece]:
        """So many, or as many as ``split.size`` makes."""
        low, high = self._bounds()
        if low is None or high is None:
            return [self._piece(None, None, self.rows)]
        size = self.options[opt.SPLIT_SIZE]
        wanted = max(number or -(-self.rows // size), at_least)
        if wanted == 1:
            borders: list[Any] = []
        elif _is_even_kind(self.column.arrow) and (number is not None or self._is_even(low, high)):
            borders = list(_even(low, high, wanted))
        else:
            borders = self._uneven(low, high, wanted)
        edges = [None, *borders, None]
        each = max(1, self.rows // (len(edges) - 1))
        return [self._piece(edges[at], edges[at + 1], each) for at in range(len(edges) - 1)]

    def _piece(self, low: Any, high: Any, rows: int) -> Piece:
        least, most = self._written(opt.LOWER), self._written(opt.UPPER)
        return Piece(
            low=least if low is None else low,
            high=most if high is None else high,
            includes_high=high is None and most is not None,
            has_nulls=low is None and least is None and most is None,
            rows=rows,
        )

    def _written(self, option: Any) -> Any:
        return bound_of(self.options, option, self.column)

    def _bounds(self) -> tuple[Any, Any]:
        low, high = self._written(opt.LOWER), self._written(opt.UPPER)
        if low is None or high is None:
            name = self.dialect.quoted(self.column.name)
            ((least, most),) = self.ask(f"SELECT min({name}), max({name}) FROM {self.relation}{self._where()}")
            low = _native(least, self.column.arrow) if low is None else low
            high = _native(most, self.column.arrow) if high is None else high
        return low, high

    def _is_even(self, low: Any, high: Any) -> bool:
        if not (of.is_integer(self.column.arrow) or of.is_decimal(self.column.arrow)):
            return False
        factor = float(high - low + 1) / max(1, self.rows)
        return bool(self.options[opt.EVEN_LOWER] <= factor <= self.options[opt.EVEN_UPPER])

    def _uneven(self, low: Any, high: Any, wanted: int) -> list[Any]:
        """Each so many-th value, in the order of the database; of a sample where there would be very many."""
        name = self.dialect.quoted(self.column.name)
        conditions = [f"{name} IS NOT NULL", *([f"({self.where})"] if self.where else [])]
        if self.options[opt.LOWER] is not None:
            conditions.append(f"{name} >= {self.dialect.literal(str(low))}")
        if self.options[opt.UPPER] is not None:
            conditions.append(f"{name} <= {self.dialect.literal(str(high))}")
        narrowed = f"(SELECT {name} FROM {self.relation} WHERE {' AND '.join(conditions)}) AS seatunnel_values"
        sampled = self.options[opt.ALLOW_SAMPLING] and wanted > self.options[opt.THRESHOLD]
        values = (
            self.dialect.sample(narrowed, name, self.options[opt.SAMPLING_RATE])
            if sampled
            else f"SELECT {name} AS v FROM {narrowed}"
        )
        tiles = f"SELECT v, ntile({wanted}) OVER (ORDER BY v) AS tile FROM ({values}) AS seatunnel_ordered"
        found = self.ask(f"SELECT min(v) AS border FROM ({tiles}) AS seatunnel_tiles GROUP BY tile ORDER BY tile")
        borders = [_native(value, self.column.arrow) for (value,) in found][1:]
        different = dict.fromkeys(borders)
        return [value for value in different if value != low]

    def _where(self) -> str:
        return f" WHERE {self.where}" if self.where else ""


def condition(dialect: Dialect, column: str, body: Mapping[str, Any], where: str) -> str:
    """What stands behind a SELECT for the piece that a split's body describes, ``""`` for all rows."""
    name = dialect.quoted(column) if column else ""
    parts = [f"({where})"] if where else []
    sides = []
    if column and body["low"] is not None:
        sides.append(f"{name} >= {dialect.literal(str(body['low']))}")
    if column and body["high"] is not None:
        sides.append(f"{name} {'<=' if body['closed'] else '<'} {dialect.literal(str(body['high']))}")
    if sides:
        joined = " AND ".join(sides)
        parts.append(f"({joined} OR {name} IS NULL)" if body["nulls"] else joined)
    return f" WHERE {' AND '.join(parts)}" if parts else ""


def bound_of(options: Options, option: Option[str], column: Column) -> Any:
    """A bound as a value of the split column, ``None`` without one.

    Raises:
        SourceError: it is no such value.
    """
    text: str | None = options[option]
    if text is None:
        return None
    try:
        return value_of(text.strip(), column.arrow)
    except (ValueError, InvalidOperation) as error:
        raise SourceError(
            f"option {option.key!r}: {text!r} is no value of {column.name}, whose type is {column.declared}"
        ) from error


def can_divide(arrow: pa.DataType) -> bool:
    """Whether values of this type have an order in the database that can be written down."""
    return bool(of.is_integer(arrow) or of.is_decimal(arrow) or of.is_string(arrow) or _is_moment(arrow))


def value_of(text: str, arrow: pa.DataType) -> Any:
    """A written value. Of dates and moments, a number counts milliseconds since 1970, as SeaTunnel has it."""
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


def _native(value: Any, arrow: pa.DataType) -> Any:
    """A value as a driver gives it."""
    if value is None or isinstance(value, int | Decimal | date):
        return value if not (of.is_integer(arrow) and isinstance(value, Decimal)) else int(value)
    return value_of(str(value), arrow)


def _is_moment(arrow: pa.DataType) -> bool:
    return bool(of.is_date(arrow) or of.is_timestamp(arrow))


def _is_even_kind(arrow: pa.DataType) -> bool:
    return bool(of.is_integer(arrow) or of.is_decimal(arrow) or _is_moment(arrow))


def _even(low: Any, high: Any, wanted: int) -> Iterator[Any]:
    """Borders between pieces of the same width, the first and the last value not among them."""
    last = low
    for number in range(1, wanted):
        if isinstance(low, int):
            border: Any = low + (high - low + 1) * number // wanted
        else:
            border = low + (high - low) * number / wanted
        if last < border <= high:
            yield border
            last = border
