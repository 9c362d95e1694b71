import json
import os
from pathlib import Path

import pyarrow as pa

from seatunnel_core.connector_api.errors import CommitError, SinkError
from seatunnel_core.connector_api.option import STRING, Option
from seatunnel_core.connector_api.sink import Sink, SinkWriter, Staged

PATH = Option("path", STRING, required=True, doc="A folder that driver and tasks share; the files appear in it.")


class JsonLines(Sink):
    """Files with one JSON object per row, one file per work unit."""

    identifier, declared, example = "JsonLines", (PATH,), 'path = "/data/out"'

    def staging(self, context, epoch):
        return Path(self.options[PATH], ".seatunnel", context.job_id, str(context.pipeline_id), str(epoch))

    def prepare(self, context):
        if context.prepared_in and not self.staging(context, context.prepared_in).is_dir():
            raise SinkError(f"{self.options[PATH]} was moved, or its disk is not mounted: put it back")
        self.staging(context, context.epoch).mkdir(parents=True, exist_ok=True)

    def open_writer(self, schemas, context):
        name = f"{context.sink_ordinal}~{context.source_ordinal}-{context.epoch}-{context.unit}~{context.attempt}.json"
        return Writer(self.staging(context, context.epoch) / name)  # between the ~ stands the committable's id

    def commit(self, committables, context, *, may_be_committed):
        for committable in committables:
            staged = self.staging(context, committable.epoch) / Path(committable.body["name"]).name
            target = Path(self.options[PATH], f"{context.job_id}~{context.pipeline_id}~{staged.name}")
            if staged.exists() and not target.exists():
                staged.rename(target)
            elif staged.exists() or not may_be_committed or not staged.parent.is_dir():
                raise CommitError(f"{staged} cannot become {target}: it is gone, or both are there")
        sync(Path(self.options[PATH]))

    def sweep(self, context, keep, *, final):
        staged = self.staging(context, 0).parent.glob(f"*/{context.sink_ordinal}~*")
        swept = [f for f in staged if int(f.parent.name) < context.epoch + final and f.name.split("~")[1] not in keep]
        for file in swept:
            file.unlink(missing_ok=True)
        return len(swept)


class Writer(SinkWriter):
    def __init__(self, path):
        self.path, self.file, self.rows = path, pa.OSFile(str(path), "wb"), 0

    def write(self, batch):
        self.file.write("".join(json.dumps(row, default=str) + "\n" for row in batch.rows.to_pylist()).encode())
        self.rows += batch.rows.num_rows

    def finish(self):
        self.file.close()
        sync(self.path), sync(self.path.parent)
        return Staged(body={"name": self.path.name}, rows=self.rows, bytes=self.path.stat().st_size)

    def abort(self):
        self.file.close(), self.path.unlink(missing_ok=True)


def sync(path):  # what was written, or the names in a folder, survive a crash of the machine
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor), os.close(descriptor)
