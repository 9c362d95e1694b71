"""The ``Console`` sink: prints the rows of a work unit to standard output when the unit ends.

A writer compresses the printed lines into the unit's result, which checkpoints do not contain. A unit that is repeated
after a failure prints again. ``subtaskIndex`` is the number of the unit, and ``rowIndex`` the number of the row in it.
"""

import base64
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connector_api.option import BOOLEAN, DURATION_MS, Option, Options, within
from seatunnel_core.connector_api.sink import Guarantee, Sink, SinkContext, SinkWriter, Staged, WriterContext
from seatunnel_core.connector_api.values import Committable
from seatunnel_core.rows.columns import sliced
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.value_text import json_text

PRINT = Option("log.print.data", BOOLEAN, default=True, doc="True to print rows; they are always counted.")
DELAY = Option("log.print.delay.ms", DURATION_MS, default=0, unit="ms", doc="Delay of a task after each row.")
ROWS = Option(
    "rows_per_unit",
    within(0, 2**31 - 1),
    unit="rows",
    doc="Maximum number of rows to print per work unit; by default all.",
)


class ConsoleSink(Sink):
    """Rows are printed in SeaTunnel's format."""

    identifier: ClassVar[str] = "Console"
    isolates_bad_rows = True
    keeps_absent = True
    declared = (PRINT, DELAY, ROWS)
    guarantee = Guarantee.AT_LEAST_ONCE

    @property
    def bound_to(self) -> Mapping[str, str]:
        return {}

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> "ConsoleWriter":
        return ConsoleWriter(self.options, context.unit)

    def show(self, shown: Sequence[str]) -> None:
        for packed in shown:
            sys.stdout.write(zlib.decompress(base64.b64decode(packed)).decode())
        sys.stdout.flush()

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        """Do nothing: the rows are already printed."""


class ConsoleWriter(SinkWriter):
    """Writer that compresses the printed lines of a unit, for ``ConsoleSink.show``."""

    def __init__(self, options: Options, unit: int) -> None:
        self._unit = unit
        self._limit: int | None = options[ROWS] if options[PRINT] else 0
        self._pause_s: float = options[DELAY] / 1000
        self._tables: set[str] = set()
        self._left_out: dict[str, int] = {}
        self._packer = zlib.compressobj(1)
        self._packed: list[bytes] = []
        self._rows = self._bytes = 0

    def write(self, batch: Batch) -> None:
        wanted = batch.rows.num_rows
        if self._limit is not None:
            wanted = min(max(self._limit - self._rows, 0), wanted)
        if self._limit != 0:
            self._pack(sliced(batch, 0, wanted))
        if wanted < batch.rows.num_rows:
            self._left_out[batch.table] = self._left_out.get(batch.table, 0) + batch.rows.num_rows - wanted
        if self._pause_s:
            time.sleep(self._pause_s * batch.rows.num_rows)
        self._rows += batch.rows.num_rows
        self._bytes += batch.rows.nbytes

    def _pack(self, batch: Batch) -> None:
        shown = map(_column, batch.rows.schema, batch.rows.columns)
        rows = list(zip(*_with_unknown(batch, shown) if batch.absent else shown, strict=True))
        if batch.table not in self._tables:
            self._tables.add(batch.table)
            columns = ", ".join(f"{column.name}<{type_name(column.type)}>" for column in batch.rows.schema)
            self._line(f"table {batch.table}: {columns}")
        kinds = [RowKind.INSERT.value] * batch.rows.num_rows if batch.kinds is None else batch.kinds.to_pylist()
        for number, (row, kind) in enumerate(zip(rows, kinds, strict=True), self._rows + 1):
            self._line(
                f"subtaskIndex={self._unit}  rowIndex={number}:  SeaTunnelRow#tableId={batch.table} "
                f"SeaTunnelRow#kind={RowKind(kind).name} : {', '.join(row)}"
            )

    def _line(self, text: str) -> None:
        self._packed.append(self._packer.compress(f"{_printable(text)}\n".encode(errors="backslashreplace")))

    def finish(self) -> Staged:
        for table, rows in self._left_out.items() if self._limit else ():
            self._line(f"… and more rows of {table} that are not shown: {rows}")
        packed = b"".join([*self._packed, self._packer.flush()])
        shown = (base64.b64encode(packed).decode(),) if self._tables else ()
        return Staged(body={}, rows=self._rows, bytes=self._bytes, shown=shown)

    def abort(self) -> None:
        self._packed.clear()


def _with_unknown(batch: Batch, shown: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the displayed values of each column; an absent value is displayed as ``…``."""
    for name, values in zip(batch.rows.schema.names, shown, strict=True):
        mask = batch.absent.get(name)
        yield (
            values if mask is None else ["…" if at else text for text, at in zip(values, mask.to_pylist(), strict=True)]
        )


def _column(column: pa.Field, values: pa.Array) -> list[str]:
    try:
        return [_shown(value, column.type) for value in values.to_pylist()]
    except ValueError as error:
        raise RowError(f"column {column.name!r}: {error}", column=column.name) from None


def _shown(value: Any, kind: pa.DataType) -> str:
    """Format a value as JSON. Strings, dates and times have no quotes, as in SeaTunnel."""
    if isinstance(value, str):
        return value
    text = json_text(value, kind)
    return text if pa.types.is_nested(kind) else text.strip('"')


def _printable(text: str) -> str:
    """Return a string on one line, with control characters escaped."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
