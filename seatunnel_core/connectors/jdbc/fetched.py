"""Rows as a database gives them, and which of them have a value that rows cannot hold."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.source import ReadContext
from seatunnel_core.errors import RowError

Values = TypeVar("Values", list[Any], pa.Array)

_REFUSED = (ValueError, TypeError, OverflowError, ArithmeticError, pa.ArrowException)
"""What converting a value may raise."""

_SHOWN = 60
"""So many characters of a value are in a message."""


@frozen(kw_only=True)
class Fetched:
    """Some of the rows of a split."""

    rows: pa.RecordBatch
    misfits: Mapping[int, str] = field(factory=dict)
    """What is wrong with a row, by its number in them: the column, its value, and what to do. It is null there."""

    def fitting(self, first: int, where: str, key: Sequence[str], context: ReadContext) -> pa.RecordBatch:
        """The rows that have no such value.

        Args:
            first: the number of the first of them in the split, from 1.
            where: the split, for messages.
            key: columns by which a person finds a row.

        Raises:
            RowError: there is one that has, and the job does not leave such rows out.
        """
        if not self.misfits:
            return self.rows
        for number in sorted(self.misfits):
            told = [f"{name} = {self.rows.column(name)[number].as_py()}" for name in key]
            named = f" with {', '.join(told)}" if told else ""
            context.skip(RowError(f"{where}, row {first + number}{named}, {self.misfits[number]}"))
        return self.rows.filter(pa.array([number not in self.misfits for number in range(self.rows.num_rows)]))


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """The columns as rows have them."""
    return pa.schema([pa.field(column.name, column.arrow) for column in columns])


def fetched(columns: pa.Schema, arrays: Sequence[tuple[pa.Array, Mapping[int, str]]]) -> Fetched:
    """Rows from their columns, each with what is wrong with some of its values."""
    misfits: dict[int, str] = {}
    for column, (_, bad) in zip(columns, arrays, strict=True):
        for number, why in bad.items():
            misfits.setdefault(number, f"column {column.name!r}: {why}")
    return Fetched(
        rows=pa.RecordBatch.from_arrays([array for array, _ in arrays], schema=columns),
        misfits=misfits,
    )


def converted(
    values: Values, convert: Callable[[Values], pa.Array], hint: str = ""
) -> tuple[pa.Array, Mapping[int, str]]:
    """Values of one column as ``convert`` makes them. Those at which it fails are null, and told."""
    try:
        return convert(values), {}
    except _REFUSED:
        bad = dict(_failing(values, convert, 0))
    kept: Any = [None if number in bad else value for number, value in enumerate(values)]
    fitting = convert(kept if isinstance(values, list) else pa.array(kept, values.type))
    return fitting, {number: f"{_text(values[number])!r} {why}{hint}" for number, why in bad.items()}


def without(array: pa.Array, refused: pa.Array | None, why: Callable[[int], str]) -> tuple[pa.Array, Mapping[int, str]]:
    """An array with null in place of the values that are refused, and what is wrong with each of these."""
    if refused is None:
        return array, {}
    numbers = pc.indices_nonzero(refused).to_pylist()
    return pc.if_else(refused, pa.scalar(None, array.type), array), {number: why(number) for number in numbers}


def _failing(values: Values, convert: Callable[[Values], pa.Array], start: int) -> Iterator[tuple[int, str]]:
    """Halves the values until each that does not fit is by itself."""
    try:
        convert(values)
    except _REFUSED as error:
        if len(values) == 1:
            yield start, f"does not fit: {error}"
            return
        half = len(values) // 2
        yield from _failing(values[:half], convert, start)
        yield from _failing(values[half:], convert, start + half)


def _text(value: Any) -> str:
    shown = str(value.as_py() if isinstance(value, pa.Scalar) else value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
