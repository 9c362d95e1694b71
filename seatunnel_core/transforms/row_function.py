"""Transforms of Python jobs that apply a function to each row: ``@st.transform``."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, overload

from attrs import frozen

from seatunnel_core.connector_api.errors import RowError, TransformError, UsageError
from seatunnel_core.rows.row_giver import RowGiver

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
Given = Row | Iterable[Row] | None
Function = Callable[[dict[str, Any]], Given]


@frozen(kw_only=True, slots=False, repr=False)
class RowFunction(RowGiver):
    """A function of one row for ``Rows.transform``. Calling the object calls the function."""

    function: Function

    def __repr__(self) -> str:
        return f"<transform {self.place}>"

    def __call__(self, row: dict[str, Any]) -> Given:
        return self.function(row)

    def options(self) -> dict[str, Any]:
        """Return the options of a transform ``Python`` that calls the function for each row of a batch."""
        from seatunnel_core.rows.schema_block import table_schema, written_in_python

        if self.schema is None:
            return {"function": RowsOfBatches(self.function, self.place, None)}
        try:
            block = written_in_python(self.schema)
            declared = table_schema(block)
        except ValueError as error:
            raise UsageError(f"{self.place}: schema: {error}") from error
        assert declared is not None
        return {"function": RowsOfBatches(self.function, self.place, declared.columns), "schema": block}


class RowsOfBatches:
    """Adapter that calls a function for each row of an Arrow batch, and returns the results as a batch."""

    def __init__(self, function: Function, place: str, columns: "pa.Schema | None") -> None:
        self._function = function
        self._place = place
        self._columns = columns
        self.__module__, _, self.__qualname__ = place.partition(":")  # name of the function, for messages

    def __call__(self, batch: "pa.RecordBatch") -> "Iterator[pa.RecordBatch]":
        from seatunnel_core.rows.python_rows import PythonRows

        columns = batch.schema if self._columns is None else self._columns
        given = (row for each in batch.to_pylist(maps_as_pydicts="strict") for row in self._rows(each))
        made = PythonRows(columns)
        try:
            yield from made.batches(given)
        except RowError as error:
            said = "expected the columns of the input; declare different columns with @st.transform(schema=…)"
            hint = f"; {said}" if self._columns is None else ""
            raise TransformError(f"Python: {self._place} returned invalid rows: {error}{hint}") from error
        if not made.count:
            yield _empty(columns)

    def _rows(self, row: dict[str, Any]) -> Iterable[Any]:
        given = self._function(row)
        if given is None:
            return ()
        return (given,) if isinstance(given, Mapping) else given


def _empty(columns: "pa.Schema") -> "pa.RecordBatch":
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([], schema=columns)


@overload
def transform(function: Function, /) -> RowFunction: ...


@overload
def transform(*, schema: "Mapping[str, Any] | pa.Schema | None" = None) -> Callable[[Function], RowFunction]: ...


def transform(
    function: Function | None = None, /, *, schema: "Mapping[str, Any] | pa.Schema | None" = None
) -> RowFunction | Callable[[Function], RowFunction]:
    """Turn a function of one row, a ``dict`` of values by column name, into a transform.

    ::

        @st.transform
        def large(row):
            return row if row["inhabitants"] > 1_000_000 else None

        job.source(cities).transform(large).sink(…)

    The function returns the resulting row, or ``None`` to drop it, or yields several rows. The columns and types are
    those of its input, unless ``schema`` declares others; values are never converted: a value that does not match its
    column's type fails the pipeline with an error that contains the row's key. For functions on whole batches, which
    are faster, use ``Rows.map_batches``.

    It runs in Spark tasks, and **again after a failure**: the rows of a work unit are processed again from the
    beginning, and the output of the failed attempt is discarded. So the function must return the same output for the
    same row, and must not depend on the order of rows or on earlier rows.

    Args:
        function: The function, if the decorator has no arguments.
        schema: The columns of the result, as in ``Job.from_rows``.

    Raises:
        UsageError: The decorated object is not callable.
    """
    if function is None:
        return functools.partial(_made, schema=schema)
    return _made(function, schema=schema)


def _made(function: Any, *, schema: "Mapping[str, Any] | pa.Schema | None") -> RowFunction:
    if not callable(function) or isinstance(function, type):
        raise UsageError(f"@st.transform decorates a function of one row; found {function!r}")
    return RowFunction(function=function, schema=schema)
