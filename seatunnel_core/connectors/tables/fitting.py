"""Conversion of row values to the types of a table's columns, in a Spark task."""

from collections.abc import Callable
from contextlib import suppress

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from seatunnel_core.connector_api.batch import Batch, RowKind
from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.rows.extent import shown
from seatunnel_core.rows.unknown import filled

_LONGEST = 60
"""Maximum number of characters of a value in a message."""


@frozen(kw_only=True)
class Fitting:
    """The values of one column in a batch."""

    who: str
    """Pipeline and sink, for messages."""

    batch: Batch
    column: str
    """Name of the column in the rows."""

    def refused(self, row: int, why: str) -> RowError:
        """Return the error for a row, given its index from 0."""
        return RowError(f"{self.who}: column {self.column!r}, row {row + 1} of a batch of {self.batch.table}: {why}")

    def require_values(self, values: pa.Array, target: str, *, is_key: bool) -> None:
        """Raise ``RowError`` if a value is null; ``target`` is the column and the table, for messages."""
        if values.null_count:
            why = "is part of the key" if is_key else "may not be null"
            raise self.refused(values.is_null().index(True).as_py(), f"the value is null, but {target} {why}")

    def cast(
        self, values: pa.Array, kind: pa.DataType, convert: Callable[[pa.Array, pa.DataType], pa.Array] = filled
    ) -> pa.Array:
        """Cast values with ``convert``; raise ``RowError`` for a value that cannot be cast (``pa.ArrowException``)."""
        if values.type == kind:
            return values
        try:
            return convert(values, kind)
        except pa.ArrowException as error:
            for row in range(len(values)):
                with suppress(pa.ArrowException):
                    convert(values.slice(row, 1), kind)
                    continue
                why = f"{shown(values[row])[:_LONGEST]!r} does not fit into {kind}"
                raise self.refused(row, why) from error
            raise


def written_values(batch: Batch, name: str, values: pa.Array) -> pa.Array:
    """Return an array that is null where a written value is null. Values that are not written count as present."""
    unwritten = batch.absent.get(name)
    if batch.kinds is not None:
        old = pc.is_in(batch.kinds, pa.array([RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value], pa.int8()))
        unwritten = old if unwritten is None else pc.or_(old, unwritten)
    return values if unwritten is None else pc.or_kleene(values.is_valid(), pc.if_else(unwritten, True, None))
