"""The sink ``Console``: prints rows when their checkpoint is complete.

The text of the first rows of a unit travels in its committable; the rest is only counted. Nothing is staged, so a
commit that is repeated after a crash prints again. A row looks as in SeaTunnel, where ``subtaskIndex`` is the number of
the unit here, and ``rowIndex`` counts the rows of the unit.
"""

import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa

from seatunnel_core import stored
from seatunnel_core.checkpoint.split import Committable
from seatunnel_core.config.option import BOOLEAN, DURATION_MS, Option, Options, within
from seatunnel_core.connectors.sink import Guarantee, Sink, SinkPlace, SinkWriter, Staged, StagingPlace
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.rows.types import type_name
from seatunnel_core.rows.value_text import cut, json_text

PRINT = Option("log.print.data", BOOLEAN, default=True, doc="Whether rows are printed; they are counted in any case.")
DELAY = Option(
    "log.print.delay.ms",
    DURATION_MS,
    default=0,
    no_effect="rows are printed when a checkpoint completes",
    doc="A pause.",
)
ROWS = Option(
    "rows_per_unit", within(0, 10_000), default=100, unit="rows", doc="How many rows of a unit of work are printed."
)

LINE_CHARACTERS = 500
"""Longer rows are cut, and say by how much."""

UNIT_CHARACTERS = 32_000
"""The text of one unit; it travels through the driver."""


class ConsoleSink(Sink):
    """Prints to standard output."""

    identifier: ClassVar[str] = "Console"
    declared = (PRINT, DELAY, ROWS)
    guarantee = Guarantee.AT_LEAST_ONCE

    def open_writer(self, schemas: Sequence[TableSchema], place: StagingPlace) -> "ConsoleWriter":
        return ConsoleWriter(self.options, place.unit)

    def commit(self, committables: Sequence[Committable], place: SinkPlace, *, again: bool) -> None:
        for committable in committables:
            rows = stored.texts(committable.body, "lines")
            lines = [*stored.texts(committable.body, "schemas"), *rows]
            left_out = stored.below(committable.body, "left_out") if rows and "left_out" in committable.body else {}
            lines += [
                f"… and more rows of {_printable(table)} that are not shown: {left_out[table]}" for table in left_out
            ]
            if lines:
                sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


class ConsoleWriter(SinkWriter):
    """Keeps the text of the first rows."""

    def __init__(self, options: Options, unit: int) -> None:
        self._unit = unit
        self._limit: int = options[ROWS] if options[PRINT] else 0
        self._schemas: dict[str, str] = {}
        self._lines: list[str] = []
        self._left_out: dict[str, int] = {}
        self._characters = self._rows = self._bytes = 0

    def write(self, batch: Batch) -> None:
        if batch.table not in self._schemas and self._limit:
            columns = ", ".join(f"{column.name}<{type_name(column.type)}>" for column in batch.rows.schema)
            self._schemas[batch.table] = _printable(f"table {batch.table}: {columns}")
        wanted = self._limit - len(self._lines) if self._characters < UNIT_CHARACTERS else 0
        kept = 0
        types = batch.rows.schema.types
        for number, row in enumerate(batch.rows.slice(0, max(wanted, 0)).to_pylist()):
            kind = RowKind(batch.kinds[number].as_py()) if batch.kinds is not None else RowKind.INSERT
            line = (
                f"subtaskIndex={self._unit}  rowIndex={self._rows + number + 1}:  "
                f"SeaTunnelRow#tableId={batch.table} SeaTunnelRow#kind={kind.name} : "
                + ", ".join(map(_shown, row.values(), types))
            )
            kept = number + 1
            line = _printable(cut(line, LINE_CHARACTERS))
            self._lines.append(line)
            self._characters += len(line)
            if self._characters >= UNIT_CHARACTERS:
                break
        if kept < batch.rows.num_rows:
            self._left_out[batch.table] = self._left_out.get(batch.table, 0) + batch.rows.num_rows - kept
        self._rows += batch.rows.num_rows
        self._bytes += batch.rows.nbytes

    def finish(self) -> Staged:
        body: dict[str, Any] = {"schemas": list(self._schemas.values()), "lines": self._lines}
        if self._left_out:
            body["left_out"] = self._left_out
        return Staged(body=body, rows=self._rows, bytes=self._bytes)

    def abort(self) -> None:
        self._lines.clear()


def _shown(value: Any, kind: pa.DataType) -> str:
    """A value as JSON, but a text or a moment without quotes, as in SeaTunnel."""
    if isinstance(value, str):
        return value
    text = json_text(value, kind)
    return text if pa.types.is_nested(kind) else text.strip('"')


def _printable(text: str) -> str:
    """A text on one line, without the control characters that would move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
