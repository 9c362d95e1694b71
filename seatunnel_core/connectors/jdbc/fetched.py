"""Rows read from a database, with messages for values that the engine's types cannot represent."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.jdbc.column import Column

Values = TypeVar("Values", list[Any], pa.Array)

_REFUSED = (ValueError, TypeError, OverflowError, ArithmeticError, pa.ArrowException)
"""Exceptions that the conversion of a value may raise."""

_SHOWN = 60
"""Maximum number of characters of a value in a message."""

_HIDDEN = "no column type can represent the value, which is not shown because the column is masked"


@frozen
class Misfit:
    """Values in one row that the engine's types cannot represent."""

    reasons: Mapping[str, str]
    """Messages, keyed by column; each message contains the value and a remedy."""

    def __str__(self) -> str:
        name, why = next(iter(self.reasons.items()))
        return f"column {name!r}: {why}"

    def hiding(self, columns: Collection[str]) -> "Misfit":
        """Return a copy in which the values of some columns are hidden."""
        return Misfit({name: _HIDDEN if name in columns else why for name, why in self.reasons.items()})


def misfits_of(columns: Iterable[tuple[str, Mapping[int, str]]]) -> dict[int, Misfit]:
    """Combine the messages of all columns into one ``Misfit`` for each affected row index."""
    found: dict[int, dict[str, str]] = {}
    for name, messages in columns:
        for number, why in messages.items():
            found.setdefault(number, {})[name] = why
    return {number: Misfit(reasons) for number, reasons in found.items()}


@frozen(kw_only=True)
class Fetched:
    """A batch of the rows of a split."""

    rows: pa.RecordBatch
    misfits: Mapping[int, Misfit] = field(factory=dict)
    """Values that Arrow cannot represent, keyed by row index. They are null in ``rows``."""

    def fitting(
        self, first: int, where: str, key: Sequence[str], context: ReadContext, *, nulls: bool
    ) -> pa.RecordBatch:
        """Return the rows; skip rows with misfits or, if ``nulls`` is true, replace the misfits with null.

        ``first`` is the number of the first row in the split; ``key`` are columns that identify a row in messages.

        Raises:
            RowError: A row has a misfit, and the job does not skip such rows.
        """
        if not self.misfits:
            return self.rows
        for number in sorted(self.misfits):
            shown = [f"{name} = {self.rows.column(name)[number].as_py()}" for name in key]
            named = f" with {', '.join(shown)}" if shown else ""
            message = f"{where}, row {first + number}{named}, {self.misfits[number]}"
            if nulls:
                context.note("contain a value that no column type can represent; it was replaced by null", message)
            else:
                context.skip(RowError(message))
        if nulls:
            return self.rows
        return self.rows.filter(pa.array([number not in self.misfits for number in range(self.rows.num_rows)]))


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    """Return the Arrow schema of the columns."""
    return pa.schema([pa.field(column.name, column.arrow) for column in columns])


def fetched(columns: pa.Schema, arrays: Sequence[tuple[pa.Array, Mapping[int, str]]]) -> Fetched:
    """Build a batch from columns. ``arrays`` has the values of each column and its misfit messages, keyed by index."""
    return Fetched(
        rows=pa.RecordBatch.from_arrays([array for array, _ in arrays], schema=columns),
        misfits=misfits_of((name, bad) for name, (_, bad) in zip(columns.names, arrays, strict=True)),
    )


def converted(
    values: Values, convert: Callable[[Values], pa.Array], hint: str = ""
) -> tuple[pa.Array, Mapping[int, str]]:
    """Convert a column. Return it with null for values that cannot be converted, and error messages by index.

    ``convert`` raises one of ``_REFUSED`` for such values; ``hint`` is appended to each message.
    """
    try:
        return convert(values), {}
    except _REFUSED:
        bad = dict(_failing(values, convert, 0))
    kept: Any
    if isinstance(values, list):
        kept = [None if number in bad else value for number, value in enumerate(values)]
    else:
        refused = pa.array([number in bad for number in range(len(values))])
        kept = pc.if_else(refused, pa.scalar(None, values.type), values)
    fitting = convert(kept)
    return fitting, {number: f"{_text(values[number])!r} {why}{hint}" for number, why in bad.items()}


def without(array: pa.Array, refused: pa.Array | None, why: Callable[[int], str]) -> tuple[pa.Array, Mapping[int, str]]:
    """Return the array with null where the mask ``refused`` is true, and messages from ``why``, keyed by index."""
    if refused is None:
        return array, {}
    numbers = pc.indices_nonzero(refused).to_pylist()
    return pc.if_else(refused, pa.scalar(None, array.type), array), {number: why(number) for number in numbers}


def _failing(values: Values, convert: Callable[[Values], pa.Array], start: int) -> Iterator[tuple[int, str]]:
    """Find, by bisection, the values that cannot be converted; yield the index of each with a message."""
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
