"""Writer for the format ``json``: one object per line."""

from typing import ClassVar

import pyarrow as pa

from seatunnel_core.connectors.file.formats.writer import FileStyle, FileWriter


class JsonFileWriter(FileWriter):
    """Writer for JSON lines. Decimals keep all digits; dates and times are ISO 8601, and bytes are base64."""

    suffix: ClassVar[str] = ".json"

    @classmethod
    def prepared(cls, style: FileStyle, rows: pa.RecordBatch) -> pa.RecordBatch:
        from seatunnel_core.rows.json_column import json_lines

        return pa.RecordBatch.from_arrays([json_lines(rows, style.line_end)], names=["line"])

    def write(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows:
            self.stream.write(joined(rows.column(0)))


def joined(texts: pa.Array) -> pa.Buffer:
    """Return the concatenated bytes of all strings, without copying them."""
    _, offsets, data = texts.buffers()
    ends = memoryview(offsets).cast("i")
    return data.slice(ends[texts.offset], ends[texts.offset + len(texts)] - ends[texts.offset])
