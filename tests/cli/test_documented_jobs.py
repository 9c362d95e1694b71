"""Jobs of SeaTunnel's documentation pages run as they stand there; only absolute paths lie in another folder.

Each file of ``documented`` says from which page it is, at which commit, and what was added or changed: a page often
shows one block of a job. ``NAME.page`` is the result that the page shows, ``NAME.ours`` what the page says in words.
The jobs run in this process, without Spark; those that never end are checked only.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import read_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.connector_api.capabilities import SupportsConclude
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import Skipped, plan
from seatunnel_core.connector_api.testing.drive import apply_save_mode, commit, place, shipped, sink_place, through_json
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.connectors.file.listing import Listing
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.planning.check import check_report
from seatunnel_core.planning.plan import PlannedJob, PlannedPipeline
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.transforms.row_kind_extractor import SHORT
from seatunnel_core.work.committable import Committable

FOLDER = Path(__file__).parent / "documented"
JOBS = sorted(FOLDER.glob("*.conf"))
ENGINE = load_engine(environment={"HOME": "/home/me"}, folder=Path("/nowhere"))
SHOWN = re.compile(r"too much content not to show|\.{3,4}")
"""What a page writes in place of a value."""

GIVEN = {
    "jobName": "this_is_a_job_name",
    "strTemplate": "['abc','d~f','hi']",
    "ageType": "int",
    "nameVal": "abc",
    "username": "seatunnel=2.3.1",
    "password": "$a^b%c.d~e0*9(",
}
"""``-i`` on the page about variables."""

STUDENTS = b'{"name": "ann", "age": 20}\n{"name": "bob", "age": 21}\n'
FILES: dict[str, dict[str, bytes]] = {
    "file_json": {"apps/hive/demo/student/part-0.json": STUDENTS},
    "file_json_schema": {"data/answers/one.json": b'{"code":  200, "data":  "get success", "success":  true}\n'},
    "file_text_schema": {"data/people/one.txt": b"tyrantlucifer#26#male\n"},
    "file_text_content": {"tmp/hive/warehouse/test2/one.txt": b"tyrantlucifer#26#male\n"},
    "file_binary": {"seatunnel/read/binary/one.bin": bytes(range(256)) * 20},
    "file_filter": {
        f"data/seatunnel/{name}": b"id,name\n1,ann\n"
        for name in ("abcD2024.csv", "abc2024.csv", "abd2024.csv", "old_data.csv")
    },
    "recipe_nested_json": {
        "data/events.jsonl": b'{"event_id":"e1","payload":{"user":{"id":1001,"name":"alice"},'
        b'"order":{"amount":12.34,"currency":"USD"}}}\n'
    },
}
"""What the jobs read, below the folder that stands for the root."""

ROWS = {
    "variables": 30,  # of a hundred, those whose name is abc
    "first_job": 16,
    "first_job_older": 16,
    "job_guide": 16,
    "schema_columns": 32,  # for two parallel readers
    "schema_fields": 32,
    "schema_nested": 5,
    "two_sinks": 200,
    "named_datasets": 200,
    "fake_simple": 5,
    "fake_random": 16,
    "fake_rows": 4,
    "fake_sizes": 10,
    "fake_template": 5,
    "fake_range": 5,
    "fake_tables": 33,
    "fake_table_names": 15,
    "fake_default_values": 5,
    "fake_now": 1,
    "fake_vectors": 10,
    "fake_auto_increment": 50_000,
    "console_simple": 3,
    "console_two_sources": 6,
    "console_tables": 4,
    "assert_complex": 1,
    "assert_tables": 33,
    "file_parquet": 2,
    "file_json": 2,
    "file_tables": 4,
    "file_filter": 2,
    "sql_job": 100,
    "sql_struct": 100,
    "replace_job": 100,
    "filter_rowkind": 0,  # all are made as INSERT, and left out
    "rowkind_extractor_older": 10,
    "filter_fields": 100,
}
"""How many rows arrive, where no result is compared."""

WRITTEN = {
    "file_binary": "seatunnel/read/binary2/one.bin",
    "sink_orc": "tmp/hive/warehouse/test2/*.orc",
    "sink_text_gbk": "tmp/hive/warehouse/test2/*.txt",
    "sink_parquet": "tmp/hive/warehouse/test2/*.parquet",
    "sink_text_partitions": "tmp/hive/warehouse/test2/age=*/*_20??.??.??*.txt",
    "sink_excel": "tmp/seatunnel/excel/*.xlsx",
    "sink_table_name": "tmp/hive/warehouse/people/*.parquet",
}
FAILING = {"assert_simple": "age", "validator_nested": "Name must be between 2 and 50 characters"}
"""What their errors say."""

ENDLESS = ("assert_streaming", "console_streaming")
WARNED = {
    "variables": ["username", "password"],  # not options of Console, there neither
    "rowkind_extractor_older": ["custom_name"],
}


@pytest.fixture
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder that stands for the root of the file system, with what the job reads."""
    name = request.getfixturevalue("job").stem
    for path, data in FILES.get(name, {}).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    if name in ("file_parquet", "file_tables"):
        for table in ("student", "teacher"):
            folder = tmp_path / "apps/hive/demo" / table
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"name": ["ann", "bob"], "age": [20, 21]}), folder / "part-0.parquet")
    return tmp_path


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_a_job_of_the_documentation_runs_as_it_stands(job: Path, root: Path) -> None:
    written = job.read_text(encoding="utf-8")
    assert re.match(r"# From Apache SeaTunnel: docs/en/[\w/.-]+\.mdx? \([0-9a-f]{12}\)", written)
    text = re.sub(r'(path ?= ?")/', rf"\1{root}/", written)
    planned = planned_from(text)
    assert "guarantee: " in check_report(planned, ENGINE)
    warned = [str(each) for each in planned.warnings if not usual(str(each))]
    assert [re.search(r"'(\w+)'", line)[1] for line in warned] == WARNED.get(job.stem, [])  # type: ignore[index]
    assert planned.bounded is (job.stem not in ENDLESS)
    if job.stem in ENDLESS:
        return
    if job.stem in FAILING:
        with pytest.raises(SeaTunnelError, match=FAILING[job.stem]):
            run(planned.pipelines)
        return
    found = run(planned.pipelines)
    shown = next((each for each in (job.with_suffix(".page"), job.with_suffix(".ours")) if each.exists()), None)
    if shown is not None:
        compare(shown.read_text(encoding="utf-8"), found, whole="jsonpath" not in job.stem)
    elif job.stem in WRITTEN:
        assert list(root.glob(WRITTEN[job.stem]))
    else:
        assert sum(batch.rows.num_rows for batch in found) == ROWS[job.stem]


def planned_from(text: str) -> PlannedJob:
    problems = Problems()
    raw = read_job(parse(text, "job.conf", Variables(GIVEN, {}), problems), "job.conf", problems)
    return plan_job(raw, lookup, ENGINE, look=True)


def usual(said: str) -> bool:
    """Whether SeaTunnel's own older names, and what has no effect, are warned about."""
    return "is an older name" in said or "has no effect" in said


def run(pipelines: Iterable[PlannedPipeline]) -> list[Batch]:
    """Move the rows of all pipelines; the rows that reached sinks."""
    return [batch for pipeline in pipelines for batch in moved(pipeline)]


def moved(pipeline: PlannedPipeline) -> Iterator[Batch]:
    schemas: dict[str, list[TableSchema]] = {}
    batches: dict[str, list[Batch]] = {}
    for node in pipeline.sources:
        found = plan(node.source, PlanningContext(parallelism=node.parallelism))
        schemas[node.name] = list(found.schemas)
        batches[node.name] = [batch for split in found.splits for batch in node.source.read(split, Skipped())]
    for each in pipeline.transforms:
        assert isinstance(each.transform, Transform)
        schemas[each.name] = [
            after for name in each.inputs for schema in schemas[name] for after in each.transform.output_schemas(schema)
        ]
        coming = [batch for name in each.inputs for batch in batches[name]]
        batches[each.name] = [after for batch in coming for after in each.transform.apply(batch)]
    for node_of_sink in pipeline.sinks:
        sink, here = node_of_sink.sink, place()
        tables = [schema for name in node_of_sink.inputs for schema in schemas[name]]
        sink.prepare(sink_place(here))
        apply_save_mode(sink, sink_place(here))
        sink.create_tables(tables, sink_place(here))
        writer = shipped(sink).open_writer(tables, here)
        for batch in (batch for name in node_of_sink.inputs for batch in batches[name]):
            writer.write(batch)
            yield batch
        staged = writer.finish()
        body, counted = through_json(dict(staged.body)), through_json(dict(staged.table_rows))
        arrived = Committable(
            id="0-1-1", epoch=1, unit=1, source="s", rows=staged.rows, bytes=staged.bytes, body=body, table_rows=counted
        )
        commit(sink, [arrived], here)
        if isinstance(sink, SupportsConclude):
            sink.conclude(staged.rows, counted)


def compare(shown: str, found: list[Batch], *, whole: bool) -> None:
    """Hold rows against a page: lines of named values, or tables, each below its name if there are several.

    Args:
        whole: whether a table has all columns, in their order; the page about JsonPath leaves some out.
    """
    if shown.startswith("+I, "):
        assert [named_values(row, kind) for row, kind in rows_of(found)] == shown.splitlines()
        return
    for block in shown.split("\n\n"):
        lines = block.strip().splitlines()
        table = None if lines[0].startswith("|") else lines.pop(0)
        chosen = [batch for batch in found if table in (None, batch.table)]
        assert chosen, f"nothing came of table {table}"
        names, *wanted = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
        assert names == chosen[0].rows.schema.names or not whole
        given = [[row[name] for name in names] for row, _ in rows_of(chosen)]
        for cells, values in zip(wanted[1:], given if wanted else (), strict=True):
            assert all(SHOWN.fullmatch(cell) or same(cell, value) for cell, value in zip(cells, values, strict=True)), (
                cells,
                values,
            )


def rows_of(batches: list[Batch]) -> Iterator[tuple[dict[str, Any], RowKind]]:
    for batch in batches:
        kinds = [0] * batch.rows.num_rows if batch.kinds is None else batch.kinds.to_pylist()
        yield from ((row, RowKind(kind)) for row, kind in zip(batch.rows.to_pylist(), kinds, strict=True))


def named_values(row: dict[str, Any], kind: RowKind) -> str:
    return ", ".join([SHORT[kind], *(f"{name}={json.dumps(value)}" for name, value in row.items())])


def same(cell: str, value: Any) -> bool:
    """Whether a cell of a page shows this value."""
    if isinstance(value, dict):  # a row
        value = list(value.values())
    if isinstance(value, list):
        return bool(json.loads(cell) == value)
    if isinstance(value, bool | None):
        return cell == json.dumps(value)
    if isinstance(value, float):
        return float(cell) == pytest.approx(value, rel=1e-6)
    return cell == str(value).removesuffix("000") if hasattr(value, "microsecond") else cell == str(value)


def test_the_rows_of_a_page_keep_their_kinds_and_values(tmp_path: Path) -> None:
    problems = Problems()
    raw = read_job(
        parse((FOLDER / "fake_rows.conf").read_text(), "job.conf", Variables({}, {}), problems), "", problems
    )
    found = list(rows_of(run(plan_job(raw, lookup, ENGINE).pipelines)))
    assert [kind.name for _, kind in found] == ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"]
    assert [dict(row["c_map"]) for row, _ in found] == [{"a": "b"}, {"a": "c"}, {"a": "e"}, {"a": "f"}]
    assert found[0][0]["c_bytes"] == b"miIZj"  # as the page says
    assert str(found[0][0]["c_decimal"]) == "2924137191386439303744.39292216"


def test_the_variables_of_a_page_have_the_values_that_it_gives() -> None:
    planned = planned_from((FOLDER / "variables.conf").read_text())
    found = [row for row, _ in rows_of(run(planned.pipelines))]
    assert planned.name == "this_is_a_job_name"
    assert {row["name"] for row in found} == {"abc"}
    assert {row["age"] for row in found} == {20, 21}


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (".*.txt", ["20241001/report.txt"]),
        ("abc.*", ["20241002/abcg202410.csv", "20241007/abch202410.csv"]),
        ("/data/seatunnel/20241007/abc[h,g].*", ["20241007/abch202410.csv"]),
        (
            "/data/seatunnel/202410\\d*/.*.csv",
            ["20241002/abcg202410.csv", "20241005/old_data.csv", "20241007/abch202410.csv"],
        ),
    ],
)
def test_the_patterns_of_the_page_about_files(tmp_path: Path, pattern: str, names: list[str]) -> None:
    """docs/en/connectors/source/LocalFile.md (02c0cc4430a5), ``file_filter_pattern``, examples 1 to 4."""
    folder = tmp_path / "data/seatunnel"
    for name in (
        "20241001/report.txt",
        "20241007/abch202410.csv",
        "20241002/abcg202410.csv",
        "20241005/old_data.csv",
        "20241012/logo.png",
    ):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).touch()
    listing = Listing(path=str(folder), pattern=pattern.replace("/data/", f"{tmp_path}/data/"))
    assert [file.path.removeprefix(f"{folder}/") for file in listing.files()] == names
