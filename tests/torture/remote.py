"""Files in a bucket, and of HDFS, as the targets of a tortured job: looked at without the engine's code."""

import atexit
import hashlib
import json
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.connectors.file.hdfs_files import Files
from tests.servers.hadoop import HdfsCluster
from tests.servers.objects.minio import MinIO
from tests.servers.objects.s3 import S3Server
from tests.servers.objects.versitygw import Versitygw
from tests.torture.databases.tables import Table, differences
from tests.torture.job import Target

_SINK = """
  {connector} {{
    plugin_input = "{name}"
{options}
    path = "{path}"
    file_format_type = "{format}"
    {more}
  }}
"""

_KEPT_S = 0.2
"""So old may be what was listed: to ask takes longer than to look at a folder, and it is done all the time."""

_starting = threading.Lock()
_listed: dict[str, tuple[float, frozenset[str]]] = {}


@frozen(kw_only=True)
class RemoteTarget(Target):
    """One folder of a server; the last names of ``folder`` are its own."""

    server: str
    """One of ``SERVERS``."""

    @property
    def path(self) -> str:
        job = hashlib.sha256(str(self.folder.parent).encode()).hexdigest()[:12]
        return f"/{job}/out/{self.folder.name}"

    def block(self, source: str) -> str:
        connector, given = server(self.server).options()
        options = "".join(f"    {key} = {json.dumps(value)}\n" for key, value in given.items())
        return _SINK.format(
            connector=connector, name=source, options=options, path=self.path, format=self.format, more=self.more
        )

    def staged(self) -> set[str]:
        return {name.rpartition("/")[2] for name in self._names() if "/.seatunnel/" in name}

    def published(self) -> set[str]:
        return {name.rpartition("/")[2] for name in self._names() if "/.seatunnel/" not in name}

    def _names(self) -> frozenset[str]:
        moment, found = _listed.get(self.path, (0.0, frozenset()))
        if time.monotonic() - moment > _KEPT_S:
            found = frozenset(server(self.server).names(self.path))
            _listed[self.path] = (time.monotonic(), found)
        return found

    def differences(self) -> str:
        _listed.pop(self.path, None)
        with tempfile.TemporaryDirectory() as folder:
            for name in sorted(self._names()):
                if "/.seatunnel/" not in name:
                    copy = Path(folder, name.removeprefix(f"{self.path}/"))
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_bytes(server(self.server).read(name))
            return differences(self.table, Path(folder))


class _Bucket:
    """Of MinIO, or of versitygw."""

    def __init__(self, folder: Path, stack: ExitStack, kind: type[S3Server] = MinIO) -> None:
        self._server = stack.enter_context(kind(folder))
        self._server.make_bucket("files")
        self._client = self._server.client()

    def options(self) -> tuple[str, Mapping[str, str]]:
        keys = {"access_key": self._server.access_key, "secret_key": self._server.secret_key}
        return "S3File", {"bucket": "files", "fs.s3a.endpoint": self._server.endpoint, **keys}

    def names(self, folder: str) -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket="files", Prefix=f"{folder[1:]}/")
        return [f"/{found['Key']}" for page in pages for found in page.get("Contents", ())]

    def read(self, path: str) -> bytes:
        return self._client.get_object(Bucket="files", Key=path[1:])["Body"].read()

    def put(self, path: str, body: bytes) -> None:
        self._client.put_object(Bucket="files", Key=path[1:], Body=body)


class _Hdfs:
    """A NameNode and a DataNode."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._cluster = stack.enter_context(HdfsCluster(folder))
        self._files = Files(self._cluster.http)
        self.names, self.read, self.put = self._files.all_in, self._files.get, self._files.put

    def options(self) -> tuple[str, Mapping[str, str]]:
        address = {"dfs.namenode.http-address": self._cluster.http}
        return "HdfsFile", {"fs.defaultFS": f"hdfs://{self._cluster.rpc}", **address}


SERVERS = {"s3": _Bucket, "versitygw": partial(_Bucket, kind=Versitygw), "hdfs": _Hdfs}


def server(name: str) -> Any:
    """One for all jobs of this process, several of which may ask for it at the same time."""
    with _starting:
        return _started(name)


@cache
def _started(name: str) -> Any:
    stack = ExitStack()
    atexit.register(stack.close)
    folder = Path(
        stack.enter_context(tempfile.TemporaryDirectory(prefix=f"torture-{name}-", ignore_cleanup_errors=True))
    )
    return SERVERS[name](folder, stack)  # type: ignore[operator]


def remote_targets(name: str, out: Path, tables: Sequence[Table]) -> list[Target]:
    """A folder for each table, two for the first one. In that of the planes there is a file of yesterday's job, which
    ``data_save_mode`` is to drop: once, and never those of this job."""
    targets: list[Target] = []
    for table in tables:
        if table.name == "letters":
            parts = "have_partition = true, partition_by = [kind]"
            more = (("letters-parquet", "parquet", parts), ("letters-csv", "csv", "batch_size = 900"))
        elif table.name == "planes":
            more = (("planes", "json", "data_save_mode = DROP_DATA"),)  # type: ignore[assignment]
        else:
            more = ((table.name, "parquet", ""),)  # type: ignore[assignment]
        for folder, format, options in more:
            targets.append(RemoteTarget(table=table, folder=out / folder, format=format, more=options, server=name))
            if table.name == "planes":
                server(name).put(f"{targets[-1].path}/yesterday.json", b'{"tailnum": "N00000"}\n')  # type: ignore[attr-defined]
    return targets
