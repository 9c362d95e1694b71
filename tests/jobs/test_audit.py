"""Rows are read, transformed and staged in Spark tasks only: the driver opens no source file, writes no sink data."""

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen

from tests.figures import Figure
from tests.runtime.command import Command, column, fake_source, job, parquet_sink, published, staged

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("commands-of-jobs"), pytest.mark.timeout(900)]

AUDITED = Path(__file__).with_name("audited.py")


@frozen(kw_only=True)
class Audit:
    """What a job's driver and its Spark did."""

    command: Command
    output: str
    opened: tuple[tuple[str, bool], ...]
    """Path, and whether it was opened for writing, in order."""

    read_bytes: int
    written_bytes: int
    tasks: frozenset[int]
    """The task attempts that succeeded, as Spark's own event log has them."""

    def of_driver(self, folder: Path) -> list[tuple[str, bool]]:
        """The files below a folder that the driver opened, those without a name by their folder. Folders that it opened
        to synchronise them are none: they are not opened to write."""
        return [
            (path, writes)
            for path, writes in self.opened
            if Path(path).is_relative_to(folder) and (writes or not is_folder(path))
        ]

    def staging_attempts(self, folder: Path) -> set[int]:
        """The Spark task attempts that the names of the published files speak of."""
        return {int(re.search(r"-a\d+-(\d+)-\d+\.", path.name)[1]) for path in published(folder)}  # type: ignore[index]


def is_folder(path: str) -> bool:
    """Also when it is gone: files of ours have a suffix, folders have none."""
    return Path(path).is_dir() or not Path(path).suffix


COLUMNS = "schema { fields { id = bigint, text = string } }"
KINDS = {
    "csv": f"file_format_type = csv, {COLUMNS}",
    "csv that tells its columns": "file_format_type = csv, csv_use_header_line = true",
    "json that tells its columns": "file_format_type = json",
    "parquet": "file_format_type = parquet",
    "csv through Spark SQL": f"file_format_type = csv, {COLUMNS}",
}
"""The options with which each kind of table is read. All but the first take more than one look, or another way."""


def write(path: Path, kind: str, rows: range, text: str) -> None:
    if kind == "parquet":
        pq.write_table(pa.table({"id": pa.array(rows, pa.int64()), "text": [text] * len(rows)}), path)
        return
    line = '{{"id": {}, "text": "{}"}}\n' if kind.startswith("json") else "{},{}\n"
    heading = "id,text\n" if kind == "csv that tells its columns" else ""
    path.write_text(heading + "".join(line.format(row, text) for row in rows))


def audit(
    folder: Path,
    tables: int,
    rows: int,
    text_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
    kinds: Sequence[str] = ("csv",),
) -> Audit:
    """Run a job that copies so many files of each kind, of so many rows, a pipeline for each."""
    events = folder / "events"
    events.mkdir()
    (folder / "in").mkdir()
    sources, transforms, sinks = [], [], []
    for number, (copy, kind) in enumerate(itertools.product(range(tables), kinds)):
        path = folder / "in" / f"table-{number}.{kind.split()[0]}"
        write(path, kind, range(copy, copy + rows), "x" * text_bytes)
        output = f"t{number}"
        sources.append(f'\n  LocalFile {{ plugin_output = {output}, path = "{path}", {KINDS[kind]} }}')
        if kind == "csv through Spark SQL":
            output = f"s{number}"
            query = f'query = "SELECT id, text FROM t{number}"'
            transforms.append(f"\n  SparkSql {{ plugin_input = t{number}, plugin_output = {output}, {query} }}")
        sinks.append(parquet_sink(output, folder / "out" / str(number)))
    env = (
        f'job.mode = BATCH, spark.eventLog.enabled = true, spark.eventLog.dir = "file://{events}", '
        "spark.eventLog.compress = false, spark.eventLog.rolling.enabled = false"
    )
    command = Command.of(folder, f"{job(env, sources, sinks)}transform {{{''.join(transforms)}\n}}\n")
    monkeypatch.setenv("AUDIT_LOG", str(folder / "audit.log"))
    engine = command.begin(script=AUDITED)
    assert engine.wait(800) == 0, engine.output
    noted: list[dict[str, Any]] = [json.loads(line) for line in (folder / "audit.log").read_text().splitlines()]
    io = next(line["io"] for line in noted if "io" in line)
    return Audit(
        command=command,
        output=engine.output,
        opened=tuple((line["path"], line["writes"]) for line in noted if "path" in line),
        read_bytes=io["rchar"],
        written_bytes=io["wchar"],
        tasks=frozenset(successful_tasks(events)),
    )


def successful_tasks(events: Path) -> set[int]:
    (log,) = [path for path in events.rglob("*") if path.is_file() and path.stat().st_size]
    ended = (json.loads(line) for line in log.read_text().splitlines() if '"SparkListenerTaskEnd"' in line)
    return {event["Task Info"]["Task ID"] for event in ended if event["Task End Reason"]["Reason"] == "Success"}


def assert_only_tasks_touched_data(seen: Audit) -> None:
    folder = seen.command.folder
    assert seen.opened, "the hook was at work"
    assert seen.of_driver(folder / "state"), "the hook sees the files that the driver does open"
    assert seen.of_driver(folder / "in") == []
    assert seen.of_driver(folder / "out") == []
    attempts = seen.staging_attempts(folder / "out")
    assert attempts
    assert attempts <= seen.tasks, "every published file was written by a Spark task that succeeded"
    assert not staged(folder / "out")


def test_the_driver_of_the_smallest_job_touches_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    seen = audit(tmp_path, tables=1, rows=1, text_bytes=1, monkeypatch=monkeypatch)
    assert_only_tasks_touched_data(seen)
    assert column(tmp_path / "out", "id") == [0]
    assert len(seen.tasks) == 1, "one row, one task"
    figure(f"smallest job: 1 Spark task; the driver read {seen.read_bytes:,} and wrote {seen.written_bytes:,} bytes")


@pytest.mark.torture
def test_the_driver_touches_no_data_of_any_kind_whatever_way_it_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns that the data tells, row groups and queries need a look into the files: tasks take that too."""
    seen = audit(tmp_path, tables=1, rows=3, text_bytes=1, monkeypatch=monkeypatch, kinds=tuple(KINDS))
    assert_only_tasks_touched_data(seen)
    assert column(tmp_path / "out", "id") == sorted([0, 1, 2] * len(KINDS))


@pytest.mark.torture
def test_the_driver_of_a_job_that_spark_writes_touches_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither what waits for its checkpoint nor the target: Python only says to Spark which files to read."""
    sink = f'''
  Spark {{ plugin_input = [a], format = parquet, path = "{tmp_path}/out", staging_path = "{tmp_path}/staging" }}'''
    command = Command.of(tmp_path, job("job.mode = BATCH", [fake_source("a", rows=50)], [sink]))
    monkeypatch.setenv("AUDIT_LOG", str(tmp_path / "audit.log"))
    engine = command.begin(script=AUDITED)
    assert engine.wait(800) == 0, engine.output
    noted: list[dict[str, Any]] = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    opened = [line["path"] for line in noted if "path" in line]
    assert [path for path in opened if path.startswith(f"{tmp_path}/state/")], "the hook was at work"
    touched = [path for path in opened if path.startswith((f"{tmp_path}/out", f"{tmp_path}/staging"))]
    assert [path for path in touched if not is_folder(path)] == []
    assert not staged(tmp_path / "staging")


@pytest.mark.torture
@pytest.mark.parametrize(
    ("kinds", "rows"),
    [
        pytest.param(("csv",), 60_000, id="one"),
        pytest.param(tuple(KINDS), 12_000, id="each kind", marks=pytest.mark.long),
    ],
)
def test_the_driver_of_a_large_table_moves_no_bytes_of_it(
    kinds: Sequence[str], rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    """What native code opens raises no audit event, but the kernel counts bytes: they must not grow with the data."""
    (tmp_path / "small").mkdir()
    (tmp_path / "large").mkdir()
    small = audit(tmp_path / "small", tables=1, rows=1, text_bytes=1, monkeypatch=monkeypatch, kinds=kinds)
    large = audit(tmp_path / "large", tables=1, rows=rows, text_bytes=1000, monkeypatch=monkeypatch, kinds=kinds)
    assert_only_tasks_touched_data(large)
    read, written = large.read_bytes - small.read_bytes, large.written_bytes - small.written_bytes
    figure(f"60 MB of rows: the driver read {read:,} and wrote {written:,} bytes more than for one row")
    assert read < 2_000_000
    assert written < 2_000_000


@pytest.mark.torture
def test_the_driver_of_a_job_with_1000_tables_touches_no_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figure: Figure
) -> None:
    seen = audit(tmp_path, tables=1000, rows=100, text_bytes=8, monkeypatch=monkeypatch)
    assert_only_tasks_touched_data(seen)
    assert "100,000" in seen.output, "the closing table counts every row"
    every = sorted(row for number in range(1000) for row in range(number, number + 100))
    assert column(tmp_path / "out", "id") == every
    assert len(seen.tasks) < 1000, "pipelines share tasks"
    figure(f"1,000 tables of 100 rows: {len(seen.tasks)} Spark tasks; no source or sink file was opened by the driver")
