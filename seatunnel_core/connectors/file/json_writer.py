"""Writes ``json``: one object per line."""

import json
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connectors.file.writer import FileWriter, write_lines
from seatunnel_core.rows.value_text import json_text


class JsonFileWriter(FileWriter):
    """One object per line. Decimals are numbers with all their digits, dates and times ISO texts, bytes base64."""

    suffix: ClassVar[str] = ".json"

    def write(self, rows: pa.RecordBatch) -> None:
        parts: list[Any] = []
        for column, array in zip(self.columns, rows.columns, strict=True):
            separator = "," if parts else "{"
            parts += [f"{separator}{json.dumps(column.name, ensure_ascii=False)}:", _json_text(array)]
        ends = pa.repeat("}" if parts else "{}", rows.num_rows)
        write_lines(self.stream, [pc.binary_join_element_wise(*parts, ends, "")], "", self.style.line_end)


def _json_text(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        return array.cast(pa.string()).fill_null("null")
    return pa.array([json_text(value, kind) for value in array.to_pylist()], pa.string())
