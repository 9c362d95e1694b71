"""What a reader of a folder finds before, while and after its files are replaced, and what is refused."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve

from seatunnel_core.connector_api.sink import WriterContext
from seatunnel_core.connector_api.testing import commit, options_of, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.file.sink import FileSink, LocalFileSink
from seatunnel_core.connectors.filesystems.filesystem import FileSystem
from seatunnel_core.connectors.filesystems.local import LocalFileSystem
from seatunnel_core.connectors.filesystems.objects.files import ObjectFileSystem
from seatunnel_core.connectors.filesystems.objects.staged import mark
from seatunnel_core.errors import SeaTunnelError, SinkError, UsageError
from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.work.committable import Committable
from tests.connectors.test_save_modes import Bucket
from tests.runtime.command import fake_source, job
from tests.runtime.ground import ALL, ROWS, committed, ground_in, kill, run_through, until

SCHEMA = TableSchema(table="shop.orders", columns=pa.schema([("id", pa.int64()), ("day", pa.string())]))
Row = tuple[int, str | None]
DAYS: Mapping[str, Any] = {"partition_by": ["day"], "replace_partitions": ["day"]}


def files(folder: Path, **options: Any) -> LocalFileSink:
    values = {"path": str(folder), "file_format_type": "parquet", "write_mode": "replace", **options}
    return LocalFileSink(options_of(LocalFileSink, values))


def started(sink: FileSink, here: WriterContext) -> None:
    sink.prepare(sink_place(here))
    sink.apply_save_mode(sink_place(here))
    sink.create_tables((SCHEMA,), sink_place(here))


def staged(sink: FileSink, here: WriterContext, *rows: Row) -> Committable:
    values = [dict(zip(SCHEMA.columns.names, row, strict=True)) for row in rows]
    return stage(sink, SCHEMA, [pa.RecordBatch.from_pylist(values, SCHEMA.columns)], here)


def ended(sink: FileSink, here: WriterContext) -> None:
    sink.complete(sink_place(here))
    sink.sweep(sink_place(here), frozenset(), final=True)
    sink.clear(sink_place(here))


def run(sink: FileSink, *units: Sequence[Row], job: str = "job") -> None:
    """A whole run, whose units are committed one by one."""
    here = place(job_id=job)
    started(sink, here)
    for number, rows in enumerate(units, 1):
        commit(sink, [staged(sink, evolve(here, unit=number), *rows)], here)
    ended(sink, here)


def ids(path: Path) -> list[int]:
    """The rows that a reader of a folder finds."""
    found = [each for each in path.rglob("*.parquet") if not any(part.startswith(".") for part in each.parts)]
    return sorted(id for each in found for id in pq.ParquetFile(each).read().column("id").to_pylist())


def below(path: Path) -> list[str]:
    return sorted(str(each.relative_to(path)) for each in path.rglob("*"))


def test_new_files_take_the_place_of_old_ones_when_all_have_come(tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(files(out, write_mode="append"), [(1, "mo")], [(2, "tu")])
    (out / "by hand.txt").write_text("old")
    sink, here = files(out), place(job_id="next")
    started(sink, here)
    commit(sink, [staged(sink, here, (5, "we"))], here)
    commit(sink, [staged(sink, evolve(here, unit=2), (6, "we"))], here)
    assert ids(out) == [1, 2], "nothing is seen before the end"
    sink.complete(sink_place(here))
    assert ids(out) == [5, 6]
    ended(sink, here)
    assert [len(below(out)), below(tmp_path)[:1]] == [2, ["out"]], "neither old files nor a folder of ours is left"


def test_a_run_without_rows_leaves_an_empty_folder(tmp_path: Path) -> None:
    run(files(tmp_path / "out"), [(1, "mo")])
    run(files(tmp_path / "out"), job="next")
    assert below(tmp_path) == ["out"]
    run(files(tmp_path / "new"), job="other")
    assert below(tmp_path) == ["new", "out"]


def test_only_partitions_with_new_rows_are_replaced(tmp_path: Path) -> None:
    run(files(tmp_path, **DAYS), [(1, "mo"), (2, "tu"), (3, None), (4, "a/b")])
    run(files(tmp_path, **DAYS), [(5, "mo")], [(6, None), (7, "we")], [(8, "mo")], job="next")
    assert ids(tmp_path) == [2, 4, 5, 6, 7, 8]
    assert not (tmp_path / ".seatunnel").exists()


def test_each_table_has_a_folder_of_its_own_that_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "a").touch()
    run(files(tmp_path / "${database_name}" / "${table_name}"), [(1, "mo")])
    run(files(tmp_path / "${database_name}" / "${table_name}"), [(2, "mo")], job="next")
    assert ids(tmp_path / "shop" / "orders") == [2]
    assert (tmp_path / "others" / "a").exists()


class Killed(BaseException):
    """In the place of ``kill -9``."""


def killed_at(monkeypatch: pytest.MonkeyPatch, step: int, *, after: bool) -> None:
    """Let the n-th change of the file system that a replacement makes be the last one."""
    left = [step]

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] == 0 and not after:
                raise Killed
            found = real(*arguments, **more)
            if left[0] == 0:
                raise Killed
            return found

        return call

    for name in ("move", "trade", "remove_folder", "make_staging", "leave_note"):
        monkeypatch.setattr(LocalFileSystem, name, counted(getattr(LocalFileSystem, name)))


@pytest.mark.torture
@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("rows", [[(5, "mo"), (6, "we")], []])
@pytest.mark.parametrize("options", [{}, DAYS])
def test_one_that_is_killed_at_any_step_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: Mapping[str, Any], rows: list[Row], exchanges: bool
) -> None:
    """Before and after each rename, removal and note; the next process starts, commits again and completes."""
    if not exchanges:
        monkeypatch.setattr("seatunnel_core.connectors.filesystems.rename._system_call", lambda *_: None)
    wanted = [5, 6] + [2, 3] * bool(options) if rows else [1, 2, 3] * bool(options)
    for number in range(1, 60):
        out = tmp_path / str(number) / "out"
        run(files(out, **{"partition_by": ["day"], **options}), [(1, "mo"), (2, "tu"), (3, "th")])
        sink, here = files(out, **{"partition_by": ["day"], **options}), place(job_id="next")
        started(sink, here)
        found = [staged(sink, here, *rows)]
        commit(sink, found, here)
        with monkeypatch.context() as patched:
            killed_at(patched, (number + 1) // 2, after=number % 2 == 0)
            try:
                sink.complete(sink_place(here))
            except Killed:
                pass
            else:
                break
        assert ids(out) in ([1, 2, 3], sorted(wanted), []) or options, "one or the other, and never some of both"
        later = files(out, **{"partition_by": ["day"], **options})
        started(later, evolve(here, epoch=2))
        commit(later, found, evolve(here, epoch=2), may_be_committed=True)
        ended(later, evolve(here, epoch=2))
        assert ids(out) == sorted(wanted), number
        assert below(out.parent / ".seatunnel") == []
        assert below(out / ".seatunnel") == []
    assert number > 6 or (options and not rows), "there were steps"


def test_one_that_is_killed_when_folders_have_changed_places_does_not_change_them_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    run(files(out), [(1, "mo")])
    sink, here = files(out), place(job_id="next")
    started(sink, here)
    commit(sink, [staged(sink, here, (2, "mo"))], here)
    with monkeypatch.context() as patched:
        patched.setattr(LocalFileSystem, "leave_note", _killed)
        with pytest.raises(Killed):
            sink.complete(sink_place(here))
    assert ids(out) == [2]
    started(sink, evolve(here, epoch=2))
    ended(sink, evolve(here, epoch=2))
    assert [ids(out), below(tmp_path)[:1], len(below(tmp_path))] == [[2], ["out"], 2]


def _killed(*_: object) -> None:
    raise Killed


def test_an_engine_that_was_replaced_changes_nothing_when_it_wakes_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asleep before the folders change places, it would have put the old ones back."""
    out = tmp_path / "out"
    run(files(out), [(1, "mo")])
    asleep, awake, here = files(out), files(out), place(job_id="next")
    started(asleep, here)
    commit(asleep, [staged(asleep, here, (2, "mo"))], here)
    trade = LocalFileSystem.trade

    def slow(system: FileSystem, one: str, other: str) -> bool:
        monkeypatch.setattr(LocalFileSystem, "trade", trade)
        started(awake, evolve(here, epoch=2))
        awake.complete(sink_place(evolve(here, epoch=2)))
        return trade(system, one, other)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalFileSystem, "trade", slow)
    with pytest.raises(SinkError, match="cannot be replaced"):
        asleep.complete(sink_place(here))
    assert ids(out) == [2]
    asleep.complete(sink_place(here))
    assert ids(out) == [2], "nor when it tries again"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"file_format_type": "binary"},
            "binary files keep their names; set data_save_mode = DROP_DATA",
        ),
        ({"data_save_mode": "DROP_DATA"}, "DROP_DATA acts before the first row"),
        ({"path": "/out"}, "is in the root of the file system"),
        ({"replace_partitions": ["day"]}, "partition_by is unset"),
        ({**DAYS, "partition_dir_expression": "${v0}"}, "with a separate folder for each partition"),
        ({**DAYS, "write_mode": "append"}, "requires write_mode = replace"),
    ],
)
def test_options_that_cannot_work_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        files(tmp_path / "out", **options)


def test_a_folder_that_cannot_be_replaced_is_refused_before_a_row_moves(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(SinkError, match=f"it is a link; set path to its target, {tmp_path}/real"):
        started(files(tmp_path / "link"), place())
    with pytest.raises(SinkError, match="it is a link"):
        files(tmp_path / "link").dry_run(None)
    other = files(tmp_path / "real", write_mode="append")
    started(other, place(job_id="other"))
    with pytest.raises(SinkError, match=r"real/.seatunnel may contain staged rows of another job"):
        started(files(tmp_path / "real"), place())


@pytest.mark.torture
def test_a_killed_job_is_restored_and_its_rows_replace_the_old_ones(tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        out = ground.work / "out"
        run(files(out, write_mode="append"), [(-1, "mo")])

        def text(limit: str) -> str:
            env = f"job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0{limit}"
            how = f'path = "{out}", file_format_type = parquet, write_mode = replace'
            return job(env, [fake_source("a", rows=ROWS, splits=60)], [f"LocalFile {{ plugin_input = [a], {how} }}"])

        with ground.run(text(", read_limit.rows_per_second = 150")) as first:
            first.start()
            until(lambda: committed(first) >= ROWS // 6, first)
            kill(first)
        assert ids(out) == [-1]
        report, _ = run_through(ground.run(text(""), restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
        assert ids(out) == sorted(ALL)
        assert not (ground.work / ".seatunnel").exists()


def test_a_sink_that_adds_to_what_another_one_replaces_is_refused(tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        how = "file_format_type = parquet, plugin_input = [a]"
        sinks = [f'LocalFile {{ path = "{tmp_path}/out", write_mode = replace, {how} }}']
        for below in ("out", "out/more"):
            more = f'LocalFile {{ path = "{tmp_path}/{below}", {how} }}'
            text = job("job.mode = BATCH", [fake_source("a", rows=1, splits=1)], ["\n".join([*sinks, more])])
            with pytest.raises(SeaTunnelError, match="its rows would be lost"):
                run_through(ground.run(text))


# -- buckets


def bucket_sink(store: Bucket, monkeypatch: pytest.MonkeyPatch, **options: Any) -> LocalFileSink:
    there = ObjectFileSystem(store=store)
    monkeypatch.setattr(LocalFileSink, "file_system", classmethod(lambda _cls, _options: there))
    return files(Path("/out"), file_format_type="json", **options)


def put(sink: FileSink, store: Bucket, here: WriterContext, *folders: str) -> Committable:
    """A unit with a file for each folder, staged and committed."""
    target = sink.target(here)
    found = []
    for number, folder in enumerate(folders):
        name = f"{here.job_id}-p1-s0-o0-e{here.epoch}-u{here.unit}-a1-0-{number}.json"
        key = f"{target.staging(here.epoch)}/{name}"
        store.put(target.files.key(key), b"new", mark(key))  # type: ignore[attr-defined]
        found.append([name, folder, {"size": 3}])
    made = Committable(
        id=f"0-{here.epoch}-{here.unit}", epoch=here.epoch, unit=here.unit, source="s", rows=1, bytes=3,
        body={"files": found}, table_rows={},
    )  # fmt: skip
    commit(sink, [made], here)
    return made


def objects(store: Bucket) -> list[str]:
    return sorted(key for key in store.objects if ".seatunnel" not in key)


@pytest.mark.parametrize("options", [{}, DAYS])
def test_in_a_bucket_new_objects_come_beside_the_old_ones_which_go_then(
    monkeypatch: pytest.MonkeyPatch, options: Mapping[str, Any]
) -> None:
    """Killed after each answer of the store, and finished by the next process."""
    for step in range(1, 40):
        store = Bucket()
        sink, here = bucket_sink(store, monkeypatch, **options), place(job_id="next")
        for name in ("day=mo/old", "day=mo/also", "day=tu/old"):
            store.put(f"out/{name}", b"old")
        started(sink, here)
        found = put(sink, store, here, "day=mo", "day=we")
        assert objects(store) == ["out/day=mo/also", "out/day=mo/old", "out/day=tu/old"]
        new = {f"out/day={day}/next-p1-s0-o0-e1-u1-a1-0-{number}.json" for number, day in enumerate(("mo", "we"))}
        wanted = new | ({"out/day=tu/old"} if options else set())
        left = [step]

        def counted(real: Callable[..., Any], left: list[int] = left) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                found = real(*arguments)
                left[0] -= 1
                if not left[0]:
                    raise Killed
                return found

            return call

        for name in ("copy", "delete", "put"):
            monkeypatch.setattr(store, name, counted(getattr(store, name)))
        with suppress(Killed):
            sink.complete(sink_place(here))
        left[0] = 0
        later = bucket_sink(store, monkeypatch, **options)
        started(later, evolve(here, epoch=2))
        commit(later, [found], evolve(here, epoch=2), may_be_committed=True)
        store.put("out/day=mo/later", b"of another job")
        ended(later, evolve(here, epoch=2))
        assert set(objects(store)) - {"out/day=mo/later"} == wanted, step
        assert sorted(store.objects) == objects(store), "nothing of ours is left"


def test_in_a_bucket_an_engine_that_was_replaced_removes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Bucket()
    sink, here = bucket_sink(store, monkeypatch), place(job_id="next")
    started(sink, here)
    put(sink, store, here, "")
    sink.complete(sink_place(here))
    newer = bucket_sink(store, monkeypatch)
    newer.prepare(evolve(sink_place(evolve(here, epoch=2)), process=2))
    store.put("out/of another job", b"rows")
    store.objects.pop("out/.seatunnel/next/replacing/1-0-done", None)
    store.put("out/.seatunnel/next/replacing/1-0-folders/.replaced", b"")
    with pytest.raises(SinkError, match="another engine has taken over"):
        sink.complete(sink_place(here))
    assert "out/of another job" in store.objects
