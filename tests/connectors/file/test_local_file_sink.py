"""What only the file sink promises: names, folders, save modes, and errors that say where."""

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve

from seatunnel_core.connector_api.testing import commit, options_of, read, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.additions import additions
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.filesystems.partition_folders import folder_value
from seatunnel_core.connectors.filesystems.rename import TargetExistsError, rename_new
from seatunnel_core.connectors.staging.naming import file_name
from seatunnel_core.errors import CommitError, RowError, SinkError, UsageError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.work.committable import Committable
from tests.connectors.file import local_files

SCHEMA = TableSchema(
    table="shop.orders", columns=pa.schema([("id", pa.int64()), ("city", pa.string()), ("day", pa.date32())])
)


def rows(*values: tuple[int, str | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": id, "city": city, "day": None} for id, city in values], SCHEMA.columns)


sink = partial(local_files.sink, file_format_type="parquet")


def published(path: Path) -> list[str]:
    return sorted(
        str(each.relative_to(path)) for each in path.rglob("*") if each.is_file() and ".seatunnel" not in str(each)
    )


def test_rows_go_into_the_folders_of_their_values_in_their_order(tmp_path: Path) -> None:
    made = sink(tmp_path, partition_by=["city"])
    batch = rows((1, "Rome"), (2, None), (3, "Rome"), (4, "a/b"), (5, ".."), (6, "Rome"))
    commit(made, [stage(made, SCHEMA, [batch], place())], place())
    found = {os.path.dirname(name): pq.ParquetFile(tmp_path / name).read() for name in published(tmp_path)}
    assert {folder: table.column("id").to_pylist() for folder, table in found.items()} == {
        "city=Rome": [1, 3, 6],
        "city=__HIVE_DEFAULT_PARTITION__": [2],
        "city=a%2Fb": [4],
        "city=%2E.": [5],
    }
    assert found["city=Rome"].column_names == ["id", "day"]


def test_no_value_leads_out_of_the_target_or_into_the_staging(tmp_path: Path) -> None:
    made = sink(tmp_path / "target", partition_by=["city"], partition_dir_expression="${v0}")
    batch = rows((1, ".."), (2, ".seatunnel"), (3, "../../x"))
    commit(made, [stage(made, SCHEMA, [batch], place())], place())
    assert {os.path.dirname(name) for name in published(tmp_path)} == {
        "target/%2E.",
        "target/%2Eseatunnel",
        "target/%2E.%2F..%2Fx",
    }


def test_an_empty_value_leads_out_of_the_target_no_more_than_any_other(tmp_path: Path) -> None:
    made = sink(tmp_path / "target", partition_by=["city", "id"], partition_dir_expression="${v0}/${v1}")
    commit(made, [stage(made, SCHEMA, [rows((1, ""), (2, "Rome"))], place())], place())
    assert {os.path.dirname(name) for name in published(tmp_path)} == {"target/1", "target/Rome/2"}


def test_a_pattern_of_folders_without_a_value_is_one_folder(tmp_path: Path) -> None:
    made = sink(tmp_path, partition_by=["city"], partition_dir_expression="all")
    commit(made, [stage(made, SCHEMA, [rows((1, "Rome"), (2, None))], place())], place())
    assert {os.path.dirname(name) for name in published(tmp_path)} == {"all"}


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("../${v0}", "partition_dir_expression .* leads to a different folder"),
        ("${k0}=${v0}/${v1}", r"partition_dir_expression contains \$\{v1\}, but partition_by has only 1 column"),
    ],
)
def test_a_pattern_of_folders_stays_in_the_target_and_names_columns_before_there_are_rows(
    tmp_path: Path, pattern: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        sink(tmp_path / "target", partition_by=["city"], partition_dir_expression=pattern)


def test_a_value_that_no_folder_can_be_named_after_is_an_error_of_its_row(tmp_path: Path) -> None:
    """Found when the folder is made, it would be found when the rows are already in a checkpoint, for ever."""
    made = sink(tmp_path, partition_by=["city"])
    with pytest.raises(RowError, match=r"the folder city=xxx.* would have a name of 305 bytes"):
        stage(made, SCHEMA, [rows((1, "x" * 300))], place())


def test_more_partitions_than_open_files_make_more_files_and_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatunnel_core.connectors.file.writing.OPEN_FILES", 2)
    made = sink(tmp_path, partition_by=["city"])
    batches = [rows(*((number, f"c{number % 5}") for number in range(start, start + 10))) for start in (0, 10)]
    commit(made, [stage(made, SCHEMA, batches, place())], place())
    assert sorted(
        id for name in published(tmp_path) for id in pq.ParquetFile(tmp_path / name).read()["id"].to_pylist()
    ) == [*range(20)]


def test_names_contain_the_unit_whatever_the_pattern_says(tmp_path: Path) -> None:
    made = sink(tmp_path, custom_filename=True, file_name_expression="orders", batch_size=2)
    commit(made, [stage(made, SCHEMA, [rows((1, "a"), (2, "b"), (3, "c"))], place(unit=7))], place())
    assert published(tmp_path) == [f"job-p1-s0-o0-e1-u7-a1-0-{number}_orders.parquet" for number in (0, 1)]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"file_name_expression": "orders"}, "_orders.parquet"),
        ({"file_name_expression": "orders", "custom_filename": False}, ".parquet"),
        ({"partition_by": ["id"], "have_partition": False}, ".parquet"),
    ],
)
def test_an_expression_counts_unless_the_job_says_that_it_does_not(
    tmp_path: Path, options: dict[str, Any], name: str
) -> None:
    made = sink(tmp_path, **options)
    commit(made, [stage(made, SCHEMA, [rows((1, "a"))], place())], place())
    assert published(tmp_path) == ["job-p1-s0-o0-e1-u1-a1-0-0" + name]


def test_a_path_may_name_the_table(tmp_path: Path) -> None:
    made = sink(tmp_path / "${database_name}" / "${table_name}")
    commit(made, [stage(made, SCHEMA, [rows((1, "a"))], place())], place())
    assert [os.path.dirname(name) for name in published(tmp_path)] == ["shop/orders"]


def test_a_target_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    made = sink(tmp_path)
    committable = stage(made, SCHEMA, [rows((1, "a"))], place())
    other = tmp_path / committable.body["files"][0][0]
    other.write_text("not ours")
    with pytest.raises(
        CommitError, match=r"pipeline 1, sink LocalFile: .* already exists, but .* has not been renamed to it yet"
    ):
        commit(made, [committable], place(), may_be_committed=True)
    assert other.read_text() == "not ours"


NOT_SHARED = r"cannot see it: .* must be a folder that all workers share with the driver"


def test_what_a_task_wrote_and_the_driver_does_not_see_is_reported_as_that(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=NOT_SHARED):
        sink(tmp_path).prove(sink_place(place()), "token")


def test_what_the_driver_made_and_a_task_does_not_see_is_reported_as_that(tmp_path: Path) -> None:
    made = sink(tmp_path)
    shutil.rmtree(tmp_path / ".seatunnel")
    with pytest.raises(SinkError, match=NOT_SHARED):
        made.probe(sink_place(place()), "token")


def test_a_missing_staging_folder_is_never_taken_for_a_published_file(tmp_path: Path) -> None:
    made = sink(tmp_path)
    committable = stage(made, SCHEMA, [rows((1, "a"))], place())
    os.rename(tmp_path / ".seatunnel", tmp_path.parent / "unmounted")
    with pytest.raises(CommitError, match=r"staging folder .* no longer exists"):
        commit(made, [committable], place(), may_be_committed=True)


def test_two_processes_that_publish_the_same_files_at_once_publish_each_once(tmp_path: Path) -> None:
    """A former process may wake up and finish its commit beside its successor, which restored the same committables.

    Both find the staged file, and both create the folder that it goes to; one renames, and the other one finds nothing
    to rename any more. It once ended the pipeline for that.
    """
    for round_number in range(40):
        made = sink(tmp_path / str(round_number), partition_by=["city"])
        committable = stage(made, SCHEMA, [rows(*((number, f"c{number}") for number in range(8)))], place())
        together = threading.Barrier(2)

        def publish(
            together: threading.Barrier = together,
            made: LocalFileSink = made,
            committable: Committable = committable,
        ) -> None:
            together.wait()
            commit(made, [committable], place(), may_be_committed=True)

        with ThreadPoolExecutor(2) as processes:
            for done in [processes.submit(publish), processes.submit(publish)]:
                done.result()
        assert len(published(tmp_path / str(round_number))) == 8


def test_rename_finishes_what_a_crash_between_link_and_removal_left(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("rows")
    os.link(old, new)
    rename_new(str(old), str(new))
    assert (old.exists(), new.read_text()) == (False, "rows")


def test_rename_without_the_systems_help_does_not_replace_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seatunnel_core.connectors.filesystems.rename._system_call", lambda *_: None)
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("rows")
    rename_new(str(old), str(new))
    assert (old.exists(), new.read_text()) == (False, "rows")
    old.write_text("others")
    with pytest.raises(TargetExistsError):
        rename_new(str(old), str(new))
    assert (old.read_text(), new.read_text()) == ("others", "rows")


@pytest.mark.parametrize(("mode", "left"), [("APPEND_DATA", ["mine/yours", "old"]), ("DROP_DATA", [])])
def test_save_modes(tmp_path: Path, mode: str, left: list[str]) -> None:
    (tmp_path / "old").write_text("old")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "yours").write_text("old")
    made = sink(tmp_path, data_save_mode=mode)
    committable = stage(made, SCHEMA, [rows((1, "a"))], place())
    made.apply_save_mode(sink_place(place()))
    assert published(tmp_path) == left
    commit(made, [committable], place())
    made.apply_save_mode(sink_place(place()))
    assert len(published(tmp_path)) == len(left) + 1, "what the job itself published stays"


def test_a_sweep_takes_what_another_one_removes_at_the_same_time_for_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that go on with one job, or an old unit that fails and clears up while its pipeline restarts."""
    made = sink(tmp_path)
    for unit in (1, 2):
        stage(made, SCHEMA, [rows((unit, "a"))], place(unit=unit))
    remove = os.unlink

    def remove_after_another(path: str) -> None:
        remove(path)
        remove(path)

    monkeypatch.setattr(os, "unlink", remove_after_another)
    made.sweep(sink_place(place()), frozenset(), final=True)
    assert not [each for each in tmp_path.rglob("*") if each.is_file()]
    shutil.rmtree(tmp_path / ".seatunnel" / place().job_id / "1" / str(place().epoch))
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: [str(place().epoch)] if folder.endswith("/1") else listed(folder))
    assert made.sweep(sink_place(place()), frozenset(), final=True) == 0


def test_dropping_data_takes_no_foreign_file_for_the_jobs_own(tmp_path: Path) -> None:
    """A job may have a short name, of which other names are made."""
    made, mine = sink(tmp_path, data_save_mode="DROP_DATA"), place().job_id
    (tmp_path / f"{mine}-parts.csv").write_text("old")
    made.apply_save_mode(sink_place(place()))
    assert published(tmp_path) == []


def test_a_folder_with_data_is_refused_when_the_job_says_so(tmp_path: Path) -> None:
    made = sink(tmp_path, data_save_mode="ERROR_WHEN_DATA_EXISTS")
    made.apply_save_mode(sink_place(place()))
    (tmp_path / "old").write_text("old")
    with pytest.raises(SinkError, match="contains 'old'"):
        made.apply_save_mode(sink_place(place()))


def test_what_is_there_is_counted_before_rows_are_added(tmp_path: Path) -> None:
    """A rerun looked like a first run, and the folder had each row twice."""
    made = sink(tmp_path)
    made.apply_save_mode(sink_place(place()))
    assert additions(made, 6, {}) == ()
    for name in ("a/b.parquet", "c.parquet", "_SUCCESS", ".seatunnel/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("old")
    made.apply_save_mode(sink_place(place()))
    assert additions(made, 6, {}) == ("6 rows added to 2 existing files",)
    assert additions(made, 0, {}) == ()


def test_who_goes_on_with_a_job_tells_its_own_files_from_others(tmp_path: Path) -> None:
    """A job that was killed and resumed said nothing of what was there before it."""
    begun = sink(tmp_path)
    commit(begun, [stage(begun, SCHEMA, [rows((1, "x"), (2, "y"))], place())], place())
    resumed = sink(tmp_path)
    resumed.prepare(evolve(sink_place(place(epoch=2)), process=2))
    assert additions(resumed, 6, {}) == ()
    (tmp_path / "a.parquet").write_text("old")
    resumed.prepare(evolve(sink_place(place(epoch=3)), process=2))
    assert additions(resumed, 6, {}) == ("6 rows added to 1 existing file",)


def test_a_full_disk_is_named() -> None:
    made = LocalFileSink(options_of(LocalFileSink, {"path": "/dev/shm/never", "file_format_type": "parquet"}))
    from seatunnel_core.connectors.staging.target import Target

    failed = Target.of(made.layout.root, place()).failed(
        "cannot be written", OSError(28, "No space left on device"), "/x"
    )
    assert str(failed) == "pipeline 1, sink LocalFile: /x cannot be written: No space left on device"
    assert failed.retryable


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"file_name_expression": "a/b"}, "a slash"),
        ({"file_name_expression": "${day}"}, r"the variable \$\{day\}"),
        ({"have_partition": True}, "partition_by"),
        ({"filename_extension": "csv/../../x"}, "option 'filename_extension': .* contains a slash"),
        ({"filename_time_format": "yyyy/MM"}, "option 'filename_time_format': .* contains a slash"),
        (
            {"file_format_type": "parquet", "compress_codec": "bz2"},
            "is not supported for parquet; supported are snappy",
        ),
    ],
)
def test_options_that_cannot_work_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sink(tmp_path, **options)


def test_unknown_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        SinkError, match=r"'sink_columns': the table shop.orders has no column 'town'; it has id, city, day$"
    ):
        stage(sink(tmp_path, sink_columns=["id", "town"]), SCHEMA, [rows((1, "a"))], place())


def test_a_name_too_long_for_a_file_system_is_refused() -> None:
    with pytest.raises(SinkError, match="longer than 255 bytes"):
        file_name("x" * 250, "yyyy", "unique", 0, ".csv")


def test_ordinary_values_keep_their_look_in_folders() -> None:
    assert [folder_value(value) for value in ("2013-01-02", "New York", "a=b", None)] == [
        "2013-01-02",
        "New York",
        "a%3Db",
        "__HIVE_DEFAULT_PARTITION__",
    ]


def test_a_folder_that_has_to_be_there_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="/target does not exist, and schema_save_mode is ERROR_WHEN_SCHEMA_NOT_EXIST"):
        sink(tmp_path / "target", schema_save_mode="ERROR_WHEN_SCHEMA_NOT_EXIST")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "target").mkdir()
    sink(tmp_path / "target", schema_save_mode="ERROR_WHEN_SCHEMA_NOT_EXIST")


def test_a_folder_that_is_made_anew_is_emptied(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")
    made = sink(tmp_path, schema_save_mode="RECREATE_SCHEMA")
    assert made.save_mode is not None
    assert made.save_mode.emptied_folder == str(tmp_path)
    made.apply_save_mode(sink_place(place()))
    assert published(tmp_path) == []


@pytest.mark.parametrize("format", ["parquet", "orc", "csv", "text", "json", "excel", "xml"])
def test_a_unit_without_rows_leaves_a_file_when_it_is_asked_to(tmp_path: Path, format: str) -> None:
    wanted = {"file_format_type": format, "create_empty_file_when_no_data": True}
    made = sink(tmp_path, **wanted, enable_header_write=True)
    commit(made, [stage(made, SCHEMA, [], place())], place())
    assert len(published(tmp_path)) == 1
    fields = {"id": "bigint", "city": "string", "day": "date"}
    options = {"file_format_type": format, "xml_row_tag": "RECORD", "skip_header_row_number": 1}
    assert read(local_files.source(tmp_path, schema={"fields": fields}, **options)) == []
    without = sink(tmp_path / "other", file_format_type=format)
    commit(without, [stage(without, SCHEMA, [], place())], place())
    assert published(tmp_path / "other") == []
