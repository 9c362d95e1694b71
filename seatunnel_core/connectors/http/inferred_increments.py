"""Incremental reads of a service with inferred columns. The format of the values determines how they are compared.

* numbers, and strings that are numbers: as exact numbers
* dates: as dates
* timestamps without a zone, and dates: as timestamps
* timestamps with ``Z`` or an offset: as points in time
* other strings: character by character

The cursor contains a string of the same format, so later jobs compare values in the same way.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.increments import Increment, digest
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connector_api.values import Cursor, Window
from seatunnel_core.connectors.http.content import LEFT_OUT
from seatunnel_core.connectors.http.increments import RowIncrements
from seatunnel_core.rows.inference.shape import Shape
from seatunnel_core.rows.json_document import exact

NUMBER, DATE, LOCAL, MOMENT, TEXT = "number", "date", "timestamp", "timestamp_tz", "string"
_TYPES: Mapping[str, pa.DataType] = {
    NUMBER: pa.decimal128(38, 9),
    DATE: pa.date32(),
    LOCAL: pa.timestamp("us"),
    MOMENT: pa.timestamp("us", "UTC"),
    TEXT: pa.string(),
}
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)


@frozen(kw_only=True)
class InferredIncrements:
    """Incremental reads of a service, based on the values of a column of unknown type."""

    increment: Increment
    key: tuple[str, ...]
    shown: str
    reads: Mapping[str, str]
    levels: int
    """Depth to which nested objects and lists in a row are inspected."""

    def asked_from(self, after: Cursor | None) -> str | None:
        """Return the smallest value to request; ``None`` to request all values."""
        return self.increment.start if after is None else after.since or after.value

    def window(self, pages: Iterable[Sequence[Any]], after: Cursor | None) -> tuple[Window, Shape]:
        """Return the window of a job that starts now, and the inferred shape of all rows of the service's responses."""
        shape, raw = Shape(), list[tuple[Any, ...]]()
        for page in pages:
            rows = [exact(element) for element in page if isinstance(element, dict)]
            shape.see(rows, self.levels + 1)
            raw.extend(self._values(row) for row in rows)
        kind = self._kind([values[-1] for values in raw])
        if kind is None:
            known = self._typed(TEXT if after is None else kind_of(after.value))
            return known.window_of([[(None, "") for _ in raw]], after), shape
        if after is not None and kind_of(after.value) != kind:
            raise self._refused(f"the column now has values of type {kind}, but the cursor is {after.value!r}")
        typed = self._typed(kind)
        typed.require_values()
        window = typed.window_of([typed.marked_values(raw)], after)
        if window.upto is not None and kind_of(window.upto.value) != kind:
            raise self._refused(
                f"the largest value, {window.upto.value!r}, is a string that looks like a {kind_of(window.upto.value)}"
            )
        return window, shape

    def kept(self, page: Sequence[Any], window: Window, before: set[str], context: ReadContext) -> list[Any]:
        """Return the JSON values of a page. Rows outside the window are replaced with ``LEFT_OUT``."""
        assert window.upto is not None, "a window without an end has no rows"
        typed = self._typed(kind_of(window.upto.value))
        rows = [self._values(exact(element)) if isinstance(element, dict) else None for element in page]
        marked = typed.marked_values([values for values in rows if values is not None])
        chosen = iter(typed.chosen(marked, window, before, context))
        return [
            element if values is None or next(chosen) else LEFT_OUT for element, values in zip(page, rows, strict=True)
        ]

    def _values(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row.get(name) for name in (*self.key, self.increment.column))

    def _typed(self, kind: str) -> "_Typed":
        return _Typed(
            increment=self.increment,
            arrow=_TYPES[kind],
            key=self.key,
            shown=self.shown,
            reads=self.reads,
            kind=kind,
        )

    def _kind(self, values: Iterable[Any]) -> str | None:
        kinds = {NUMBER if _is_number(value) else kind_of(value) for value in values if value is not None}
        for strange in sorted(kinds - _TYPES.keys()):
            raise self._refused(f"the column has values of type {strange}")
        if len(kinds) <= 1:
            return next(iter(kinds), None)
        if kinds == {DATE, LOCAL}:
            return LOCAL
        if TEXT in kinds and not any(map(_is_number, values)):
            return TEXT
        raise self._refused(f"the column has values of several types ({', '.join(sorted(kinds))})")

    def _refused(self, why: str) -> SourceError:
        return SourceError(
            f"option 'incremental': {self.increment.column!r} of {self.shown} cannot be compared: {why}. Declare "
            "the columns, for example schema { fields { id = bigint, updated_at = timestamp_tz } }"
        )


@frozen(kw_only=True)
class _Typed(RowIncrements):
    """Increments of a column whose values have a known format."""

    kind: str

    def marked_values(self, rows: Iterable[Sequence[Any]]) -> Iterator[tuple[Any, str]]:
        """Yield the value and the digest of each row, given the values of its key and its column."""
        for *key, raw in rows:
            value = None if raw is None else self._read(str(raw))
            shown = f"{value.normalize():f}" if isinstance(value, Decimal) else value
            yield value, digest([*key, shown])

    def _read(self, text: str) -> Any:
        try:
            return _READ[self.kind](text)
        except (ValueError, ArithmeticError) as error:
            raise SourceError(
                f"option 'incremental': {text!r} is not a value of {self.increment.column!r}, which has values of "
                f"type {self.kind}"
            ) from error


def kind_of(value: Any) -> str:
    """Return the kind of a JSON value, or of a string in a cursor, which determines how it is compared."""
    text = str(value)
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        return type(value).__name__
    if _NUMBER.fullmatch(text):
        return NUMBER
    found = _TIME.fullmatch(text)
    if found is None:
        return TEXT
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return TEXT
    return MOMENT if found[1] else DATE if len(text) == len("2026-01-31") else LOCAL


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


def _local(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is not None:
        raise ValueError(text)
    return found


_READ: Mapping[str, Any] = {
    NUMBER: Decimal,
    DATE: date.fromisoformat,
    LOCAL: _local,
    MOMENT: _moment,
    TEXT: str,
}
