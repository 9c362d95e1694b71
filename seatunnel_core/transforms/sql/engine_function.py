"""The engine's functions over Arrow columns. DataFusion calls them with whole batches."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.transforms.sql.value import (
    RowError,
    Value,
    constant,
    is_simple,
)

ArrowFunction = Callable[..., Any]
"""Function that returns a column; each argument is a column, or a scalar for a constant."""

BAD_VALUES = (pa.ArrowException, ValueError, ArithmeticError)
"""Exceptions that an Arrow function raises for a row without a result."""


@frozen(kw_only=True)
class EngineFunction:
    """A function as registered in DataFusion."""

    name: str
    types: tuple[pa.DataType, ...]
    result: pa.DataType
    run: Callable[..., pa.Array] = field(repr=False, eq=False)


class EngineFunctions:
    """Engine functions that one statement calls."""

    def __init__(self) -> None:
        self.made: list[EngineFunction] = []

    def call(
        self,
        what: str,
        function: ArrowFunction,
        args: Sequence[Value],
        kind: pa.DataType,
        *,
        fails: bool = True,
        secret: bool = False,
    ) -> Value:
        """Compile a call of a function; a call with constant arguments is computed immediately.

        ``what`` is the name and position of the function, for messages; ``secret`` omits the values from messages.
        ``fails`` is True if the function raises one of ``BAD_VALUES`` for some values.
        """
        bound = [each.constant for each in args]
        if all(each is not None for each in bound):
            known = _known(function, bound, kind)
            if known is not None:
                return constant(known)
            bound[0] = None
        name = f"f{len(self.made)}"
        live = [each for each, known in zip(args, bound, strict=True) if known is None]

        def run(*columns: pa.Array) -> pa.Array:
            rest = map(_from_zero, columns)
            return _evaluated(what, function, [next(rest) if each is None else each for each in bound], kind, secret)

        self.made.append(EngineFunction(name=name, types=tuple(each.type for each in live), result=kind, run=run))
        text = f"{name}({', '.join(each.sql for each in live)})"
        return Value(sql=text, type=kind, fails=fails or any(each.fails for each in live))


def _known(function: ArrowFunction, bound: Sequence[Any], kind: pa.DataType) -> pa.Scalar | None:
    """Return the result for constant arguments; ``None`` if the call fails, so that the error is reported for a row."""
    if not is_simple(kind):
        return None
    try:
        return _column(function(pa.repeat(bound[0], 1), *bound[1:]), kind)[0]
    except BAD_VALUES:
        return None


def _evaluated(what: str, function: ArrowFunction, columns: list[Any], kind: pa.DataType, secret: bool) -> pa.Array:
    try:
        return _column(function(*columns), kind)
    except BAD_VALUES as error:
        if secret:
            raise RowError(f"{what} has no result for a row: {error}") from None
        raise RowError(_message(what, function, columns, kind, error)) from None


def _column(found: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    return _from_zero(found if found.type == kind else found.cast(kind))


def _from_zero(column: pa.Array) -> pa.Array:
    """Return a column with offset 0, by copying it if necessary.

    Some Arrow kernels do not support other offsets in DataFusion's strings. DataFusion does not support them in other
    columns.
    """
    if column.offset or pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return pa.concat_arrays([column.slice(0, 0), column])
    return column


def size_of(columns: Sequence[Any]) -> int:
    """Return the number of rows of the arguments; at least one argument must be a column."""
    return next(len(each) for each in columns if isinstance(each, pa.Array))


def _part(columns: Sequence[Any], first: int, size: int) -> list[Any]:
    return [each.slice(first, size) if isinstance(each, pa.Array) else each for each in columns]


def _message(what: str, function: ArrowFunction, columns: list[Any], kind: pa.DataType, error: Exception) -> str:
    """Return the message about a failure, with the arguments of the first failing row."""
    size = size_of(columns)
    if not size:
        return f"{what}: {error}"
    while size > 1:
        half = size // 2
        first = _part(columns, 0, half)
        try:
            _column(function(*first), kind)
        except BAD_VALUES as found:
            columns, size, error = first, half, found
        else:
            size -= half
            columns = _part(columns, half, size)
    values = [(each[0] if isinstance(each, pa.Array) else each).as_py() for each in columns]
    return f"{what} has no result for {', '.join(map(_short, values))}: {error}"


def _short(value: Any) -> str:
    text = "null" if value is None else repr(value) if isinstance(value, str | bytes) else str(value)
    return text if len(text) <= 80 else text[:77] + "…"


def by_row(function: Callable[..., Any], kind: pa.DataType) -> ArrowFunction:
    """Return an Arrow function that calls a Python function for each row; null if an argument is null."""

    def run(*columns: Any) -> pa.Array:
        return pa.array((None if None in row else function(*row) for row in rows(columns)), kind)

    return run


def either_way(quick: ArrowFunction, slow: ArrowFunction) -> ArrowFunction:
    """Return a function that calls ``quick``, and ``slow`` for a batch that ``quick`` rejects."""

    def run(*columns: Any) -> pa.Array:
        try:
            return quick(*columns)
        except pa.ArrowInvalid:
            return slow(*columns)

    return run


def rows(columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Return the values of each row."""
    lists = (each.to_pylist() if isinstance(each, pa.Array) else itertools.repeat(each.as_py()) for each in columns)
    return zip(*lists, strict=False)


def value_by_value(function: ArrowFunction, kind: pa.DataType) -> ArrowFunction:
    """Return a variant of the function that returns null for each failing row."""

    def run(*columns: Any) -> pa.Array:
        try:
            return _column(function(*columns), kind)
        except BAD_VALUES:
            size = size_of(columns)
            if size == 1:
                return pa.nulls(1, kind)
            half = size // 2
            return pa.concat_arrays([run(*_part(columns, 0, half)), run(*_part(columns, half, size - half))])

    return run
