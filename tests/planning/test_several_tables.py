"""Jobs of several tables, run, killed and restored: each row once, in its table, however many readers there are. Tasks
run in this process; what is written is read by Arrow's own reader."""

import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from tests.runtime.command import published, staged
from tests.runtime.ground import Ground, committed, kill, run_through, until

pytestmark = [pytest.mark.xdist_group("restore-matrix"), pytest.mark.timeout(300)]

ROWS = 240
TABLES = ("shop.orders", "shop.people", "store.items")


def source(output: str, tables: tuple[str, ...], parallelism: int) -> str:
    """Tables whose columns ``id`` count their rows from 1; the name of the other column differs."""
    entries = [
        f"""{{ row.num = {ROWS // parallelism}, split.num = 24, auto.increment.enabled = true
        schema {{ table = "{table}", fields {{ id = bigint, of_{table.split(".")[1]} = string }} }} }}"""
        for table in tables
    ]
    listed = ",".join(entries)
    return f"FakeSource {{ plugin_output = {output}, parallelism = {parallelism}, tables_configs = [{listed}] }}"


def expected(count: int, *tables: str) -> str:
    each = [
        f"""{{ table_path = "{table}", row_rules = [
        {{ rule_type = MIN_ROW, rule_value = {count} }}, {{ rule_type = MAX_ROW, rule_value = {count} }} ] }}"""
        for table in tables
    ]
    names, listed = ",".join(tables), ",".join(each)
    return f'{{ table-names = "{names}", tables_configs = [{listed}] }}'


def one_source(work: Path, parallelism: int, limit: str = "", count: int = ROWS) -> str:
    """Three tables into files, into files behind a transform of one table, and to rules."""
    return f"""
env {{ job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0 {limit} }}
source {{ {source("all", TABLES, parallelism)} }}
transform {{ Copy {{
  plugin_input = all, plugin_output = copied, table_match_regex = "shop.*", src_field = id, dest_field = copy
}} }}
sink {{
  LocalFile {{ plugin_input = all, path = "{work}/out/${{database_name}}/${{table_name}}", file_format_type = parquet }}
  LocalFile {{ plugin_input = copied, path = "{work}/copied/${{table_full_name}}", file_format_type = parquet }}
  Assert {{ plugin_input = all, rules = {expected(count, *TABLES)} }}
}}"""


def two_sources(work: Path, parallelism: int, limit: str = "") -> str:
    return f"""
env {{ job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0 {limit} }}
source {{ {source("first", TABLES[:2], parallelism)}
  {source("second", TABLES[2:], parallelism)} }}
sink {{
  LocalFile {{ plugin_input = [first, second], path = "{work}/out/${{database_name}}/${{table_name}}"
    file_format_type = parquet }}
  Assert {{ plugin_input = [first, second], rules = {expected(ROWS, *TABLES)} }}
}}"""


def of_files(work: Path, parallelism: int, limit: str = "") -> str:
    """The same tables out of files."""
    entries = []
    for table in TABLES:
        folder = work / "in" / table
        if not folder.exists():
            folder.mkdir(parents=True)
            (folder / "all.csv").write_text("".join(f"{number},text {number}\n" for number in ALL))
        fields = f"id = bigint, of_{table.split('.')[1]} = string"
        entries.append(
            f"""{{ path = "{folder}", file_format_type = csv, split_size = 200
            schema {{ table = "{table}", fields {{ {fields} }} }} }}"""
        )
    listed = ",".join(entries)
    return f"""
env {{ job.mode = BATCH, checkpoint.interval = 40, job.retry.times = 0, parallelism = {parallelism} {limit} }}
source {{ LocalFile {{ plugin_output = all, tables_configs = [{listed}] }} }}
sink {{
  LocalFile {{ plugin_input = all, path = "{work}/out/${{database_name}}/${{table_name}}", file_format_type = parquet }}
  Assert {{ plugin_input = all, rules = {expected(ROWS, *TABLES)} }}
}}"""


def content(folder: Path) -> dict[str, tuple[list[str], list[int]]]:
    """The columns and the sorted ids of what was published, by folder."""
    found: dict[str, tuple[list[str], list[int]]] = {}
    for path in published(folder):
        table = pq.ParquetFile(path).read()
        names, ids = found.setdefault(str(path.parent.relative_to(folder)), (table.column_names, []))
        assert table.column_names == names
        ids += table.column("id").to_pylist()
    return {name: (names, sorted(ids)) for name, (names, ids) in found.items()}


ALL = list(range(1, ROWS + 1))
WRITTEN = {table.replace(".", "/"): (["id", f"of_{table.split('.')[1]}"], ALL) for table in TABLES}
COPIED = {
    table: (["id", f"of_{table.split('.')[1]}", *(["copy"] if table.startswith("shop") else [])], ALL)
    for table in TABLES
}


@pytest.mark.parametrize("parallelism", [1, 2, 8])
def test_same_rows_in_every_table_at_every_parallelism(ground: Ground, parallelism: int) -> None:
    report, _ = run_through(ground.run(one_source(ground.work, parallelism)))
    assert report.outcome is JobOutcome.FINISHED, report
    assert content(ground.work / "out") == WRITTEN
    assert content(ground.work / "copied") == COPIED


@pytest.mark.parametrize("job", [one_source, two_sources, of_files])
def test_killed_in_the_middle_and_restored(ground: Ground, job: object) -> None:
    """The rules count the rows of each table before the kill and after it."""
    assert callable(job)
    with ground.run(job(ground.work, 2, ", read_limit.rows_per_second = 400")) as first:
        first.start()
        until(lambda: committed(first) >= ROWS, first)
        kill(first)
    assert sum(len(ids) for _, ids in content(ground.work / "out").values()) < 3 * ROWS
    report, _ = run_through(ground.run(job(ground.work, 2), restore=Restore()))
    assert report.outcome is JobOutcome.FINISHED, report
    assert content(ground.work / "out") == WRITTEN
    assert staged(ground.work) == []


def test_a_rule_of_one_table_that_does_not_hold_ends_the_job_at_once(ground: Ground) -> None:
    begun = time.monotonic()
    report, _ = run_through(ground.run(one_source(ground.work, 1, count=ROWS - 1)))
    assert report.outcome is JobOutcome.FAILED
    assert "240 rows of table shop.orders, expected MAX_ROW 239" in report.pipelines[0].failure
    assert time.monotonic() - begun < 60


def test_a_source_that_finds_nothing_costs_the_others_nothing(ground: Ground) -> None:
    """Nobody knows the columns of its table then, so no transform and no sink hears of it."""
    (ground.work / "in").mkdir()
    text = f"""
env {{ job.mode = BATCH, job.retry.times = 0 }}
source {{
  LocalFile {{ plugin_output = none, path = "{ground.work}/in", file_format_type = parquet }}
  {source("some", ("shop.orders",), 1)}
}}
transform {{ Sql {{ plugin_input = none, plugin_output = few, query = "SELECT id + 1 AS id FROM none" }} }}
sink {{
  LocalFile {{ plugin_input = [few, some], path = "{ground.work}/out", file_format_type = parquet }}
  Assert {{ plugin_input = few, rules {{ row_rules = [{{ rule_type = MAX_ROW, rule_value = 0 }}] }} }}
}}
"""
    report, _ = run_through(ground.run(text))
    assert report.outcome is JobOutcome.FINISHED, report
    assert sum(pq.read_table(path).num_rows for path in published(ground.work / "out")) == ROWS
