"""Runs the ``seatunnel`` command so that it stops, as a process, at one point that cannot be seen from outside.

``TORTURE_STOP`` holds JSON: ``[call, pattern, nth, side]``, as in ``["link", "\\.ckpt$", 2, "after"]``: at the second
call of ``os.link`` whose new name matches, just after it. ``put`` is for storages behind a network what ``link`` is on
local files. A fifth member, ``true``, lets the counting begin with the first commit: Spark takes long to start, and
checkpoints are stored meanwhile. There the process sends itself SIGSTOP, so that every thread of it stands still; who
watches it then kills it, or something else, from outside by process id, and may let it go on.

``TORTURE_PLAIN_RENAME`` takes the system's rename-without-replacement away, as on file systems that have none.
SIGUSR1 prints the stacks of all threads.
"""

import faulthandler
import json
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any


class Stop:
    """Stops the process at the nth matching call."""

    def __init__(self, call: str, pattern: str, nth: int, side: str, after_a_commit: bool = False) -> None:
        self.call = call
        self._pattern = re.compile(pattern)
        self._left = nth
        self._counting = threading.Lock()
        self._before = side == "before"
        self.counts = not after_a_commit

    def watch(self, function: Callable[..., Any], path_at: int) -> Callable[..., Any]:
        """The function, with the stop around it. ``path_at`` is the position of the path that the pattern is for."""

        def watched(*arguments: Any, **options: Any) -> Any:
            if not self._pattern.search(str(arguments[path_at])):
                return function(*arguments, **options)
            if self._before:
                self._count()
            result = function(*arguments, **options)
            if not self._before:
                self._count()  # a call that failed, for want of a folder, is no moment after a call
            return result

        return watched

    def _count(self) -> None:
        with self._counting:  # several threads call at once; exactly one of them is the nth
            self._left -= self.counts
            this_one = self.counts and self._left == 0
        if this_one:
            # To this thread: a signal to the process may wake another thread, and this one runs on meanwhile.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


def install(stop: Stop, sink: str) -> None:
    """Put the stop into the place where the call is made."""
    if sink in ("iceberg", "iceberg-modes") and stop.call in ("rename", "commit", "unlink"):
        install_in_iceberg(stop)
    elif sink in ("postgres", "mariadb", "duckdb", "postgres-modes", "mariadb-modes") and stop.call in (
        "rename",
        "commit",
        "unlink",
    ):
        install_in_databases(stop, sink)
    elif sink in ("s3", "versitygw", "hdfs") and stop.call in ("rename", "unlink"):
        install_behind_servers(stop, sink)
    elif sink == "kafka" and stop.call in ("rename", "commit"):
        install_in_kafka(stop)
    else:
        install_in_files(stop)


def install_in_iceberg(stop: Stop) -> None:
    """The commit to the table stands for the rename of a file, and its paths are made to look like those of files."""
    from pyiceberg.catalog.sql import SqlCatalog

    from seatunnel_core.connectors.iceberg import sink, table

    if stop.call == "unlink":
        os.unlink = stop.watch(os.unlink, 0)
        delete = stop.watch(lambda _path, run: run(), 0)
        original_delete = table._delete
        vars(table)["_delete"] = lambda of, path: delete(f"/.seatunnel{path}", lambda: original_delete(of, path))
        return
    owner, name = (SqlCatalog, "commit_table") if stop.call == "rename" else (sink.IcebergSink, "commit")
    watched, original = stop.watch(lambda _path, run: run(), 0), getattr(owner, name)

    def commit(self: Any, *arguments: Any, **options: Any) -> Any:
        return watched("/out/", lambda: original(self, *arguments, **options))

    setattr(owner, name, commit)


def install_in_databases(stop: Stop, sink: str) -> None:
    """The move of what is staged stands for the rename of a file, and a sweep for the removal of one."""
    from seatunnel_core.connectors.duckdb.sink import DuckDBSink
    from seatunnel_core.connectors.jdbc.publishing import Publishing
    from seatunnel_core.connectors.jdbc.sink import JdbcSink
    from seatunnel_core.connectors.tables.file_commit import FileCommit
    from seatunnel_core.connectors.tables.file_publishing import FilePublishing

    if stop.call == "unlink":
        os.unlink = stop.watch(os.unlink, 0)
    calls: dict[str, tuple[type, str, str]] = {
        "rename": (Publishing, "_move", "/out/"),
        "commit": (JdbcSink, "commit", "/out/"),
        "unlink": (Publishing, "sweep", "/.seatunnel/"),
    }
    if sink == "duckdb":
        calls = {
            "rename": (FileCommit, "_move", "/out/"),
            "commit": (DuckDBSink, "commit", "/out/"),
            "unlink": (FilePublishing, "expire", "/.seatunnel/"),
        }
    owner, name, path = calls[stop.call]
    watched, original = stop.watch(lambda _path, run: run(), 0), getattr(owner, name)

    def stopping(self: Any, *arguments: Any, **options: Any) -> Any:
        return watched(path, lambda: original(self, *arguments, **options))

    setattr(owner, name, stopping)


def install_behind_servers(stop: Stop, sink: str) -> None:
    """What publishes one file stands for its rename, and what removes a staged one for that of a local file."""
    from seatunnel_core.connectors.filesystems.hdfs import HdfsFileSystem
    from seatunnel_core.connectors.filesystems.objects.files import ObjectFileSystem

    kind: Any = HdfsFileSystem if sink == "hdfs" else ObjectFileSystem
    if stop.call == "rename":
        kind.publish = stop.watch(kind.publish, 2)
    else:
        os.unlink = stop.watch(os.unlink, 0)
        kind.discard = stop.watch(kind.discard, 1)


def install_in_kafka(stop: Stop) -> None:
    """The transaction that sends files stands for the rename of one; files of staging are removed as everywhere."""
    from seatunnel_core.connectors.kafka.publishing import Publishing
    from seatunnel_core.connectors.kafka.sink import KafkaSink

    owner, name = (Publishing, "_in_transaction") if stop.call == "rename" else (KafkaSink, "commit")
    watched, original = stop.watch(lambda _path, run: run(), 0), getattr(owner, name)

    def stopping(self: Any, *arguments: Any, **options: Any) -> Any:
        return watched("/out/", lambda: original(self, *arguments, **options))

    setattr(owner, name, stopping)


def install_in_files(stop: Stop) -> None:
    from seatunnel_core.connectors.file import sink
    from seatunnel_core.connectors.filesystems import local, rename

    if stop.call == "link":
        os.link = stop.watch(os.link, 1)
    elif stop.call == "unlink":
        os.unlink = stop.watch(os.unlink, 0)
    elif stop.call == "put":
        from seatunnel_storage_api.blob import BlobStorage

        put = stop.watch(BlobStorage.put_pieces_if_absent, 1)
        BlobStorage.put_pieces_if_absent = put  # type: ignore[method-assign]
    elif stop.call == "rename":
        vars(local)["rename_new"] = stop.watch(rename.rename_new, 1)
    elif stop.call == "commit":
        committed = stop.watch(lambda _root, run: run(), 0)
        original = sink.FileSink.commit

        def commit(self: Any, *arguments: Any, **options: Any) -> Any:
            return committed(self.layout.root, lambda: original(self, *arguments, **options))

        sink.FileSink.commit = commit  # type: ignore[method-assign]
    else:
        raise ValueError(f"no stop is known at {stop.call!r}")
    if not stop.counts:
        commit_then_count = sink.FileSink.commit

        def commit_and_count(self: Any, *arguments: Any, **options: Any) -> Any:
            commit_then_count(self, *arguments, **options)
            stop.counts = True

        sink.FileSink.commit = commit_and_count  # type: ignore[method-assign]


def main() -> int:
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    wanted = os.environ.pop("TORTURE_STOP", "")
    if wanted:
        install(Stop(*json.loads(wanted)), os.environ.get("TORTURE_SINK", "file"))
    if os.environ.pop("TORTURE_PLAIN_RENAME", ""):
        from seatunnel_core.connectors.filesystems import rename

        rename._system_call = lambda *_: None  # type: ignore[assignment]
    from seatunnel_core.cli.main import main as seatunnel

    return seatunnel()


if __name__ == "__main__":
    sys.path.pop(0)  # this folder's files are nobody's modules
    sys.exit(main())
