"""The kit, and what patterns name, on files that are reached through fsspec; its memory stands for a server."""

import json
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import fsspec
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from seatunnel_core.config.option import Options
from seatunnel_core.connector_api.testing import SourceConformance, commit, options_of, plan, read, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.file.ftp import SftpFileSink
from seatunnel_core.connectors.file.sink import FileSink
from seatunnel_core.connectors.file.sink_options import SINK_OPTIONS
from seatunnel_core.connectors.file.source import FileSource
from seatunnel_core.connectors.file.source_options import SOURCE_OPTIONS
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.fsspec.files import FsspecFileSystem
from seatunnel_core.errors import CommitError, SourceChangedError, SourceError, UsageError
from tests.connectors.file.sink_suite import FileSinkSuite

ROWS = [{"id": number, "name": f"näme {number}"} for number in range(300)]
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])


class InMemory:
    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return FsspecFileSystem(protocol="memory", top="memory:/")


class MemoryFiles(InMemory, FileSource):
    identifier: ClassVar[str] = "MemoryFiles"
    declared = SOURCE_OPTIONS


class MemoryFileSink(InMemory, FileSink):
    identifier: ClassVar[str] = "MemoryFiles"
    declared = SINK_OPTIONS


@pytest.fixture(autouse=True)
def memory() -> Iterator[Any]:
    server = fsspec.filesystem("memory")
    server.store.clear()
    server.pseudo_dirs[:] = [""]
    yield server
    server.store.clear()
    server.pseudo_dirs[:] = [""]


def put(server: Any, path: str, content: bytes | str) -> None:
    server.makedirs(path.rpartition("/")[0], exist_ok=True)
    server.pipe_file(path, content.encode() if isinstance(content, str) else content)


def source(path: str, **options: Any) -> MemoryFiles:
    given = {"path": path, "file_format_type": "csv", "schema": {"fields": {"id": "bigint"}}, **options}
    return MemoryFiles(options_of(MemoryFiles, given))


class OfFiles(SourceConformance):
    source_class = MemoryFiles
    format: str
    more: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture(autouse=True)
    def files(self, memory: Any) -> None:
        put(memory, "/in/a", self.written(ROWS[:200]))
        put(memory, "/in/deep/b", self.written(ROWS[200:]))
        put(memory, "/in/_ignored", "not a row")
        put(memory, "/in/.hidden/c", "not a row")

    def written(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        raise NotImplementedError

    def options(self) -> Mapping[str, Any]:
        return {"path": "/in", "file_format_type": self.format, "split_size": 500, **self.more}

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS


class TestJson(OfFiles):
    format = "json"
    more: ClassVar[Mapping[str, Any]] = {"schema": {"fields": {"id": "bigint", "name": "string"}}}

    def written(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        return "".join(json.dumps(row) + "\n" for row in rows).encode()


class TestParquet(OfFiles):
    format = "parquet"

    def written(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        out = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(list(rows), COLUMNS), out, row_group_size=50)
        return out.getvalue().to_pybytes()


class TestSink(FileSinkSuite):
    sink_class = MemoryFileSink

    @pytest.fixture(autouse=True)
    def server(self, memory: Any) -> None:
        self.given = {"path": "/target/here", "file_format_type": "json"}
        self.memory = memory

    def files(self) -> Mapping[str, bytes]:
        return {path: self.memory.cat_file(path) for path in self.memory.store}

    def lose(self) -> bool:
        self.memory.store.clear()
        self.memory.pseudo_dirs[:] = [""]
        return True


class TestBinarySink:
    def test_files_are_copied_under_their_names(self, memory: Any) -> None:
        for name in ("/in/a.bin", "/in/deep/b.bin"):
            put(memory, name, name * 1000)
        made = MemoryFiles(
            options_of(MemoryFiles, {"path": "/in", "file_format_type": "binary", "binary_chunk_size": 700})
        )
        sink = MemoryFileSink(options_of(MemoryFileSink, {"path": "/out", "file_format_type": "binary"}))
        sink.prepare(sink_place(place()))
        found = plan(made)
        batches = [pa.RecordBatch.from_pylist(read(made, found), schema=found.schemas[0].columns)]
        committable = stage(sink, found.schemas[0], batches, place())
        commit(sink, [committable], place())
        assert memory.cat_file("/out/deep/b.bin") == b"/in/deep/b.bin" * 1000
        assert memory.cat_file("/out/a.bin") == b"/in/a.bin" * 1000


def test_orc_is_read_from_a_copy(memory: Any) -> None:
    out = pa.BufferOutputStream()
    orc.write_table(pa.Table.from_pylist(ROWS, COLUMNS), out)
    put(memory, "/in/a.orc", out.getvalue().to_pybytes())
    assert read(MemoryFiles(options_of(MemoryFiles, {"path": "/in", "file_format_type": "orc"}))) == ROWS


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/absent", r"^memory://absent cannot be listed: No such file or directory"),
        ("/absent/*.csv", r"^no file matches the pattern memory://absent/\*\.csv"),
    ],
)
def test_what_is_not_there_is_named(path: str, says: str) -> None:
    with pytest.raises(SourceError, match=says):
        source(path).require_input()


@pytest.mark.parametrize("path", ["s3a://bucket/x", "/a/../b", " "])
def test_a_path_of_another_place_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="option 'path'"):
        source(path)


def test_a_file_that_changed_is_refused(memory: Any) -> None:
    put(memory, "/in/a.csv", "1\n2\n")
    made = source("/in")
    found = plan(made)
    put(memory, "/in/a.csv", "1\n2\n3\n")
    with pytest.raises(
        SourceChangedError, match=r"memory://in/a\.csv changed after it was listed: it was modified \(4"
    ):
        read(made, found)
    memory.rm_file("/in/a.csv")
    with pytest.raises(SourceError, match=r"memory://in/a\.csv"):
        read(made, found)


def test_a_target_that_is_there_is_never_replaced(memory: Any) -> None:
    sink = MemoryFileSink(options_of(MemoryFileSink, {"path": "/out", "file_format_type": "json"}))
    sink.prepare(sink_place(place()))
    committable = stage(sink, SCHEMA, [numbered(0, 1)], place())
    put(memory, f"/out/{committable.body['files'][0][0]}", "theirs")
    with pytest.raises(
        CommitError, match=r"memory://out/job-.* already exists, but memory://out/\.seatunnel/.* has not been renamed"
    ):
        commit(sink, [committable], place(), may_be_committed=True)


def test_a_missing_staging_folder_is_never_taken_for_a_published_file(memory: Any) -> None:
    sink = MemoryFileSink(options_of(MemoryFileSink, {"path": "/out", "file_format_type": "json"}))
    sink.prepare(sink_place(place()))
    committable = stage(sink, SCHEMA, [numbered(0, 1)], place())
    memory.rm("/out/.seatunnel", recursive=True)
    with pytest.raises(CommitError, match=r"the staging folder memory://out/\.seatunnel/job/1/1 no longer exists"):
        commit(sink, [committable], place(), may_be_committed=True)


class ManyAtOnce(FsspecFileSystem):
    """Publishes four files at the same time, and notes which are on their way."""

    publishes_at_once: ClassVar[int] = 4
    begun: ClassVar[list[str]] = []
    most: ClassVar[list[int]] = []
    under_way: ClassVar[set[str]] = set()

    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        self.begun.append(target)
        self.under_way.add(target)
        self.most.append(len(self.under_way))
        time.sleep(0.02)
        try:
            super().publish(staged, target, receipt)
        finally:
            self.under_way.discard(target)


class ManyAtOnceSink(MemoryFileSink):
    @classmethod
    def file_system(cls, options: Options) -> FileSystem:
        return ManyAtOnce(protocol="memory", top="memory:/")


def test_many_files_are_published_at_once_until_one_cannot_be(memory: Any) -> None:
    made = ManyAtOnceSink(options_of(ManyAtOnceSink, {"path": "/out", "file_format_type": "json"}))
    for noted in (ManyAtOnce.begun, ManyAtOnce.most):
        noted.clear()
    made.prepare(sink_place(place()))
    staged = [stage(made, SCHEMA, [numbered(unit, 1)], place(unit=unit)) for unit in range(1, 31)]
    commit(made, staged[:10], place())
    assert max(ManyAtOnce.most) == 4
    assert len([path for path in memory.store if path.startswith("/out/job-")]) == 10
    ManyAtOnce.begun.clear()
    put(memory, f"/out/{staged[10].body['files'][0][0]}", "theirs")
    with pytest.raises(
        CommitError, match=r"memory://out/job-.* already exists, but memory://out/\.seatunnel/.* has not been renamed"
    ):
        commit(made, staged[10:], place())
    assert ManyAtOnce.under_way == set()
    assert len(ManyAtOnce.begun) < 20, "one is begun after an error"


def test_a_save_mode_empties_the_target_of_what_is_not_the_jobs(memory: Any) -> None:
    put(memory, "/out/old/deep.json", "{}")
    put(memory, "/out/old.json", "{}")
    options = {"path": "/out", "file_format_type": "json", "data_save_mode": "DROP_DATA"}
    sink = MemoryFileSink(options_of(MemoryFileSink, options))
    sink.prepare(sink_place(place()))
    sink.apply_save_mode(sink_place(place()))
    assert [path for path in memory.store if path.startswith("/out")] == []


def test_secrets_are_not_shown_and_travel_to_tasks() -> None:
    given = {"host": "h", "user": "u", "password": "hunter2", "path": "/out"}
    sink = SftpFileSink(options_of(SftpFileSink, given))
    assert "hunter2" not in repr(sink.files) + repr(sink.options) + repr(sink.target(place()))
    assert pickle.loads(pickle.dumps(sink)).files.options["password"] == "hunter2"
    assert sink.task_modules == ("fsspec", "paramiko")
