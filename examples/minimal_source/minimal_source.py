from pathlib import Path

import pyarrow as pa

from seatunnel_core.connector_api.batch import Batch, TableSchema
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connector_api.option import STRING, Option
from seatunnel_core.connector_api.source import Enumeration, Source
from seatunnel_core.connector_api.values import Split

PATH = Option("path", STRING, required=True, doc="A folder that driver and tasks share; its *.log files are read.")
COLUMNS = pa.schema([("file", pa.string()), ("line", pa.int64()), ("text", pa.string())])
ROWS = 10_000


class LogLines(Source):
    """Lines of log files, with file name and line number. Each file is one split."""

    identifier = "LogLines"
    declared = (PATH,)
    example = 'path = "/var/log/app"'

    def planned_schemas(self):
        return (TableSchema(table="log", columns=COLUMNS),)

    def enumerate(self, inspected, planning):
        folder = Path(self.options[PATH])
        if not folder.is_dir():
            raise SourceError(f"{folder} is not a folder; write the folder that holds the *.log files")
        splits = []
        for index, file in enumerate(sorted(folder.glob("*.log"))):
            stat = file.stat()
            size, body = stat.st_size, {"file": str(file), "time": stat.st_mtime_ns}
            splits.append(Split(index=index, rows=1 + size // 80, weight_bytes=size, body=body))
        return Enumeration(schemas=self.planned_schemas(), splits=tuple(splits))

    def read(self, split, context):
        file = Path(split.body["file"])
        if not file.exists() or file.stat().st_mtime_ns != split.body["time"]:
            raise SourceChangedError(f"{file} changed after the job had listed it; move new lines into a new file")
        lines = file.read_text(errors="replace").splitlines()
        for start in range(0, len(lines), ROWS):
            some = lines[start : start + ROWS]
            columns = [[file.name] * len(some), range(start + 1, start + len(some) + 1), some]
            arrays = [pa.array(values, column.type) for values, column in zip(columns, COLUMNS, strict=True)]
            yield Batch(table="log", rows=pa.RecordBatch.from_arrays(arrays, schema=COLUMNS))
