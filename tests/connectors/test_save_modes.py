"""The save modes of files act once for a job and a target, and only for the engine that goes on (R4, R6)."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.sink import Sink, SinkContext, WriterContext
from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import apply_save_mode, place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.file.save_mode import Fence
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.filesystems.objects.files import ObjectFileSystem
from seatunnel_core.connectors.filesystems.objects.staged import mark
from seatunnel_core.connectors.filesystems.objects.store import Found, ObjectStore, Page
from seatunnel_core.connectors.staging.target import Target
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import TableSchema

BINARY = TableSchema(
    table="default",
    columns=pa.schema([("data", pa.binary()), ("relativePath", pa.string()), ("partIndex", pa.int64())]),
)


def files(root: Path, **options: Any) -> LocalFileSink:
    values = {"path": str(root), "file_format_type": "json", "data_save_mode": "DROP_DATA", **options}
    return LocalFileSink(options_of(LocalFileSink, values))


def begun(sink: Sink, here: WriterContext) -> SinkContext:
    """As a process begins that is the first one to come to the target."""
    sink.prepare(sink_place(here))
    apply_save_mode(sink, sink_place(here))
    return sink_place(here)


def copy(sink: LocalFileSink, here: WriterContext, *names: str) -> None:
    """Publish files that keep their names."""
    pieces = [{"data": b"new", "relativePath": name, "partIndex": 0} for name in names]
    rows = pa.RecordBatch.from_pylist(pieces, schema=BINARY.columns)
    commit(sink, [stage(sink, BINARY, [rows], here)], here)


def there(root: Path) -> list[str]:
    return sorted(str(each.relative_to(root)) for each in root.rglob("*") if each.is_file() and ".sea" not in str(each))


def test_an_engine_that_was_replaced_before_its_save_mode_empties_nothing(tmp_path: Path) -> None:
    """It woke up behind its look at the fence, and removed what the next engine had published."""
    asleep, awake = files(tmp_path, file_format_type="binary"), files(tmp_path, file_format_type="binary")
    (tmp_path / "old").write_bytes(b"old")
    asleep.prepare(sink_place(place()))
    begun(awake, place(epoch=2))
    copy(awake, place(epoch=2), "a")
    with pytest.raises(SinkError, match="another engine has taken over this job"):
        asleep.apply_save_mode(sink_place(place()))
    assert there(tmp_path) == ["a"]


def test_nor_does_one_whose_job_has_ended_since(tmp_path: Path) -> None:
    asleep, awake = files(tmp_path), files(tmp_path)
    asleep.prepare(sink_place(place()))
    begun(awake, place(epoch=2))
    awake.clear(sink_place(place(epoch=2)))
    (tmp_path / "of another job").write_bytes(b"")
    with pytest.raises(SinkError, match="or the job has ended"):
        asleep.apply_save_mode(sink_place(place()))
    assert there(tmp_path) == ["of another job"]


@pytest.mark.parametrize("move", [1, 2])
def test_nor_one_that_falls_asleep_between_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, move: int
) -> None:
    """Files that keep their names: what is there now has the name of what was listed."""
    for name in "abc":
        (tmp_path / name).write_bytes(b"old")
    asleep, awake = files(tmp_path, file_format_type="binary"), files(tmp_path, file_format_type="binary")
    rename, moves = os.rename, []

    def slow(old: str, new: str) -> None:
        moves.append(old)
        if len(moves) == move:
            monkeypatch.setattr(os, "rename", rename)
            begun(awake, place(epoch=2))
            copy(awake, place(epoch=2), "a", "b", "c")
        rename(old, new)

    monkeypatch.setattr(os, "rename", slow)
    with pytest.raises(SinkError, match="another engine has taken over"):
        begun(asleep, place())
    assert [(tmp_path / name).read_bytes() for name in "abc"] == [b"new"] * 3


def test_one_that_was_killed_in_the_midst_is_followed_by_one_that_empties_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("a", "b", "folder/c"):
        (tmp_path / name).write_bytes(b"old")
    rename = os.rename

    def killed(old: str, new: str) -> None:
        rename(old, new)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        begun(files(tmp_path), place())
    monkeypatch.undo()
    later = files(tmp_path)
    begun(later, place(epoch=2))
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [], "neither in the target nor moved away"
    later.clear(sink_place(place(epoch=2)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("process", [1, 2])
def test_a_pipeline_that_starts_again_shuts_out_none_of_its_own_process(tmp_path: Path, process: int) -> None:
    """Its epoch is larger than those of the pipelines beside it, which go on."""
    (tmp_path / "old").touch()
    beside, again = files(tmp_path), files(tmp_path)
    here = evolve(sink_place(place(pipeline_id=2, epoch=process * 100_000)), process=process)
    beside.prepare(here)
    again.prepare(evolve(sink_place(place(epoch=process * 100_000 + 1)), process=process))
    beside.apply_save_mode(here)
    assert there(tmp_path) == []


def test_what_lies_on_another_disk_is_not_removed_behind_the_fence_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be moved out of the target first: it is removed where it lies, as long as the job is its own."""
    (tmp_path / "mounted").mkdir()
    (tmp_path / "mounted" / "old").touch()
    asleep, awake = files(tmp_path), files(tmp_path)
    asleep.prepare(sink_place(place()))

    def other_disk(old: str, new: str) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), old)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", other_disk)
        begun(awake, place(epoch=2))
        assert there(tmp_path) == []
    (tmp_path / "mounted").mkdir()
    (tmp_path / "mounted" / "new").touch()
    require = Fence._require
    asked: list[Fence] = []

    def asleep_after_the_first(self: Fence) -> None:
        if asked:
            require(self)
        asked.append(self)

    monkeypatch.setattr(os, "rename", other_disk)
    monkeypatch.setattr(Fence, "_require", asleep_after_the_first)
    with pytest.raises(SinkError, match="another engine has taken over this job"):
        asleep.apply_save_mode(sink_place(place()))
    assert there(tmp_path) == ["mounted/new"]


def test_own_files_are_recognised_by_the_whole_id_of_their_job(tmp_path: Path) -> None:
    """``daily`` spared the files of ``prod-daily``."""
    for job_id in ("prod-daily", "daily"):
        here, sink = place(job_id=job_id), files(tmp_path, data_save_mode="APPEND_DATA")
        sink.prepare(sink_place(here))
        commit(sink, [stage(sink, SCHEMA, [numbered(0, 1)], here)], here)
    begun(files(tmp_path), place(job_id="daily"))
    assert [name.partition("-p1")[0] for name in there(tmp_path)] == ["daily"]


def test_the_target_of_another_sink_of_the_job_below_this_one_is_left_alone(tmp_path: Path) -> None:
    """Its files may keep names that tell nothing of the job."""
    inner = files(tmp_path / "inner", file_format_type="binary", data_save_mode="APPEND_DATA")
    inner.prepare(sink_place(place(pipeline_id=2)))
    copy(inner, place(pipeline_id=2), "a")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b").touch()
    begun(files(tmp_path), place())
    assert there(tmp_path) == ["inner/a"]


# -- buckets


class Bucket(ObjectStore):
    """Objects in a dictionary."""

    task_modules = ()
    bucket = "b"
    schemes = ("s3",)

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.failing = 0
        self.deleting: Any = lambda: None

    def head(self, key: str) -> Found:
        if key not in self.objects:
            raise FileNotFoundError(2, "no such object", key)
        body, its_mark = self.objects[key]
        return Found(key=key, size=len(body), modified_s=0, etag="e", mark=its_mark)

    def page(self, prefix: str, *, deep: bool, more: str | None = None, most: int = 1000) -> Page:
        below = [key for key in sorted(self.objects) if key.startswith(prefix)]
        if deep:
            return Page(objects=[self.head(key) for key in below][:most])
        folders = {prefix + key[len(prefix) :].partition("/")[0] + "/" for key in below if "/" in key[len(prefix) :]}
        return Page(objects=[self.head(key) for key in below if "/" not in key[len(prefix) :]], folders=sorted(folders))

    def put(self, key: str, body: bytes, mark: str = "") -> None:
        self.objects[key] = (body, mark)

    def copy(self, source: str, key: str) -> None:
        if key in self.objects:
            raise FileExistsError(17, "exists", key)
        self.head(source)
        self.objects[key] = self.objects[source]

    def delete(self, keys: Any) -> None:
        self.deleting()
        if self.failing:
            self.failing -= 1
            raise OSError(5, "503 slow down", keys[0])
        for key in keys:
            self.objects.pop(key, None)

    def uploads(self, key: str) -> Iterator[str]:
        return iter(())

    def days_of_objects(self, prefix: str) -> tuple[int, ...]:
        return ()

    def require_writable(self, prefix: str) -> None: ...

    begin = send = send_copy = complete = abort = get = None  # type: ignore[assignment]


Bucket.__abstractmethods__ = frozenset()


def test_in_a_bucket_the_fence_is_looked_for_before_each_removal() -> None:
    """There is nothing that moves an object away only if another one is there."""
    store = Bucket()
    fence = Fence(Target.of("s3://b/out", place(), "S3File", ObjectFileSystem(store=store)), sink_place(place()))
    newer = Fence(Target.of("s3://b/out", place(), "S3File", ObjectFileSystem(store=store)), sink_place(place(epoch=2)))
    for name in "abc":
        store.put(f"out/{name}", b"old")
    fence.shut_out_older()
    fence.begin()
    found = fence.existing()
    assert [entry.name for entry in found] == ["a", "b", "c"]

    def replaced() -> None:
        store.deleting = lambda: None
        newer.shut_out_older()

    store.deleting = replaced
    with pytest.raises(SinkError, match="another engine has taken over"):
        fence.drop(found)
    assert sorted(store.objects) == ["out/b", "out/c"], "the removal that had begun is finished"


def test_a_removal_that_fails_is_repeated_before_anything_counts_as_published() -> None:
    """It was left to a sweep: a consumer took the published object away, and a repeated commit published it again."""
    store = Bucket()
    there = ObjectFileSystem(store=store)
    staged, target = "s3://b/out/.seatunnel/j/1/1/f", "s3://b/out/f"
    store.put(there.key(staged), b"rows", mark(staged))
    store.failing = 1
    there.publish(staged, target, {"size": 4})
    assert sorted(store.objects) == ["out/f"]
    del store.objects["out/f"]
    with pytest.raises(FileNotFoundError):
        there.publish(staged, target, {"size": 4})
    store.put(there.key(staged), b"rows", mark(staged))
    store.failing = 99
    with pytest.raises(OSError, match="the staged object cannot be removed: 503 slow down"):
        there.publish(staged, target, {"size": 4})
