"""How long a commit of many files takes: ``python -m tests.bench.publishing``, one after the other and at once."""

import tempfile
import time
from pathlib import Path
from typing import Any

from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.file.hdfs import HdfsFileSink
from seatunnel_core.connectors.file.s3 import S3FileSink
from seatunnel_core.connectors.file.sink import FileSink
from tests.servers.hadoop import HdfsCluster
from tests.servers.objects.minio import MinIO

FILES = 200


def seconds(kind: type[FileSink], given: dict[str, Any], at_once: int | None) -> float:
    """For a commit of ``FILES`` files with a row each; ``None`` for as many at once as the file system has it."""
    path = f"/publishing/{time.time_ns()}"
    sink = kind(options_of(kind, {**given, "path": path, "file_format_type": "json"}))
    sink.prepare(sink_place(place()))
    staged = [stage(sink, SCHEMA, [numbered(unit, 1)], place(unit=unit)) for unit in range(1, FILES + 1)]
    if at_once is not None:
        type(sink.files).publishes_at_once, before = at_once, type(sink.files).publishes_at_once
    began = time.perf_counter()
    commit(sink, staged, place())
    taken = time.perf_counter() - began
    if at_once is not None:
        type(sink.files).publishes_at_once = before
    return taken


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in ("s3", "hdfs"):
            (Path(folder) / name).mkdir()
        with MinIO(Path(folder) / "s3") as server:
            server.make_bucket("files")
            keys = {"access_key": server.access_key, "secret_key": server.secret_key}
            _show("S3File", S3FileSink, {"bucket": "files", "fs.s3a.endpoint": server.endpoint, **keys})
        with HdfsCluster(Path(folder) / "hdfs") as cluster:
            given = {"fs.defaultFS": f"hdfs://{cluster.rpc}", "dfs.namenode.http-address": cluster.http}
            _show("HdfsFile", HdfsFileSink, given)


def _show(name: str, kind: type[FileSink], given: dict[str, Any]) -> None:
    seconds(kind, given, None)  # connections are opened, code is compiled
    for at_once in (1, None, 1, None):
        taken = seconds(kind, given, at_once)
        how = "one after the other" if at_once else "at once"
        print(f"{name}: {FILES} files published {how} in {taken:.2f} s", flush=True)


if __name__ == "__main__":
    main()
