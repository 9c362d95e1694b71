"""Jobs whose transforms look across rows: one Spark query over all splits of their sources, whatever is cut."""

import csv
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from pyspark import SparkContext

import seatunnel_core as st
from seatunnel_core.config.job_file import Kind
from seatunnel_core.errors import JobFailedError
from tests.runtime.command import engine_file, published

pytestmark = pytest.mark.usefixtures("backend")

ORDERS = {"table": "orders", "fields": {"id": "bigint", "k": "string", "v": "int"}}
NAMES = {"fields": {"k": "string", "title": "string"}}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files of orders, each of which is several splits, and one of names."""
    folder = tmp_path_factory.mktemp("files")
    draw = random.Random(1)
    for number in range(3):
        rows = ([n, f"k{draw.randrange(7)}", draw.randrange(100)] for n in range(number * 1000, number * 1000 + 1000))
        written(folder / "orders" / f"{number}.csv", ["id", "k", "v"], rows)
    written(folder / "names" / "n.csv", ["k", "title"], ([f"k{n}", f"title {n}"] for n in range(5)))
    return folder


def written(path: Path, header: list[str], rows: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def reading(job: st.Job, files: Path, name: str, schema: Any, split_size: int = 3000) -> st.Rows:
    return job.source(
        "LocalFile",
        path=str(files / name),
        file_format_type="csv",
        skip_header_row_number=1,
        split_size=split_size,
        schema=schema,
        name=name,
        parallelism=2,
    )


def run(job: st.Job, tmp_path: Path, **how: Any) -> Any:
    return job.run(engine_config=engine_file(tmp_path), **how)


def rows(target: Path) -> list[tuple[Any, ...]]:
    tables = [pq.ParquetFile(path).read() for path in published(target)]
    return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())


def in_duckdb(files: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name in ("orders", "names"):
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_csv('{files}/{name}/*.csv')")
        return sorted(connection.execute(query).fetchall())


def tasks() -> dict[int, int]:
    """How many tasks each job of the session's Spark has had."""
    context = SparkContext._active_spark_context
    assert context is not None
    jobs = context._jsc.sc().statusStore().jobsList(None)
    return {(job := jobs.apply(number)).jobId(): job.numTasks() for number in range(jobs.size())}


GROUPED = "SELECT k, count(*) AS n, sum(v) AS s, max(id) AS last FROM orders GROUP BY k"


def test_a_group_comes_once_though_the_source_is_cut(files: Path, tmp_path: Path) -> None:
    """Each work unit was grouped by itself, so a group came once for each, without a word. Sinks past the query, and
    one that also gets what is behind it, have all rows, too: the latter had only one of both."""
    job = st.Job("grouped", {"job.mode": "BATCH"})
    orders = reading(job, files, "orders", ORDERS)
    sums = orders.sql(GROUPED)
    sums.sink("LocalFile", path=str(tmp_path / "sums"), file_format_type="parquet")
    orders.sink("LocalFile", path=str(tmp_path / "all"), file_format_type="parquet")
    ids = orders.transform("Filter", include_fields=["id"], name="ids")
    more = sums.transform("Sql", query="SELECT last AS id FROM t", name="lasts")
    ids.sink("LocalFile", {"path": str(tmp_path / "both"), "file_format_type": "parquet"}, more)
    report = run(job, tmp_path)
    assert rows(tmp_path / "sums") == in_duckdb(files, GROUPED)
    assert rows(tmp_path / "all") == in_duckdb(files, "SELECT * FROM orders")
    both = "SELECT id FROM orders UNION ALL SELECT max(id) FROM orders GROUP BY k"
    assert rows(tmp_path / "both") == in_duckdb(files, both)
    (pipeline,) = report.pipelines
    assert pipeline.rows_read == 3000


def test_two_sources_are_joined(files: Path, tmp_path: Path) -> None:
    """Each source ran the query with its own rows alone, under the name of the first."""
    query = (
        "SELECT o.k, n.title, count(*) AS n, sum(o.v) AS s FROM orders o LEFT JOIN names n ON o.k = n.k "
        "WHERE o.v > (SELECT avg(v) FROM orders) GROUP BY o.k, n.title"
    )
    job = st.Job("joined", {"job.mode": "BATCH"})
    orders = reading(job, files, "orders", ORDERS)
    names = reading(job, files, "names", NAMES, split_size=30)
    orders.sql(query, names).sink("LocalFile", path=str(tmp_path / "joined"), file_format_type="parquet")
    names.sink("LocalFile", path=str(tmp_path / "names"), file_format_type="parquet")
    report = run(job, tmp_path)
    assert rows(tmp_path / "joined") == in_duckdb(files, query)
    assert rows(tmp_path / "names") == in_duckdb(files, "SELECT * FROM names")
    (pipeline,) = report.pipelines
    assert pipeline.rows_read == 3005


def test_what_comes_through_one_input_is_one_table(files: Path, tmp_path: Path) -> None:
    """Two sources that a transform puts together, a chain of queries behind it, and the first of them in two sinks:
    what chance draws is drawn once. Few rows do not become 200 tasks of Spark."""
    job = st.Job("chain", {"job.mode": "BATCH"})
    orders = reading(job, files, "orders", ORDERS)
    again = job.source(
        "LocalFile",
        path=str(files / "orders" / "0.csv"),
        file_format_type="csv",
        skip_header_row_number=1,
        schema=ORDERS,
        name="again",
    )
    both = job._add(Kind.TRANSFORM, "Filter", {"include_fields": ["id", "k"]}, "both", (orders, again))
    few = both.sql("SELECT k, count(*) AS n, uuid() AS u FROM both GROUP BY k", name="few")
    most = few.map_frame(lambda t: t.orderBy("n", ascending=False).limit(3))
    few.sink("LocalFile", path=str(tmp_path / "few"), file_format_type="parquet")
    most.sink("LocalFile", path=str(tmp_path / "most"), file_format_type="parquet")
    before = tasks()
    run(job, tmp_path)
    assert max(count for job_id, count in tasks().items() if job_id not in before) < 20
    expected = in_duckdb(
        files,
        "SELECT k, count(*) FROM (SELECT k FROM orders UNION ALL SELECT k FROM orders WHERE id < 1000) GROUP BY k",
    )
    found = rows(tmp_path / "few")
    assert [row[:2] for row in found] == expected
    three = rows(tmp_path / "most")
    assert sorted(n for _, n, _ in three) == sorted(n for _, n in expected)[-3:]
    assert set(three) <= set(found)


def test_a_scope_that_the_job_says(files: Path, tmp_path: Path) -> None:
    job = st.Job("scopes", {"job.mode": "BATCH"})
    orders = reading(job, files, "orders", ORDERS)
    orders.sql("SELECT count(*) AS n FROM orders", scope="unit").collect(name="units")
    with job.submit(engine_config=engine_file(tmp_path)) as handle:
        handle.result()
        counts = handle.collect("units").column("n").to_pylist()
    assert sum(counts) == 3000

    def above(t: Any) -> Any:
        return t.where(t.v > (t.agg({"v": "avg"}).collect()[0][0] or 0))

    other = st.Job("scopes", {"job.mode": "BATCH"})
    reading(other, files, "orders", ORDERS).map_frame(above, scope="all").sink(
        "LocalFile", path=str(tmp_path / "above"), file_format_type="parquet"
    )
    run(other, tmp_path)
    assert rows(tmp_path / "above") == in_duckdb(files, "SELECT * FROM orders WHERE v > (SELECT avg(v) FROM orders)")


@pytest.mark.parametrize(
    ("behind", "clause"),
    [
        (lambda rows: rows.sql("SELECT DISTINCT k FROM orders"), "DISTINCT"),
        (lambda rows: rows.map_frame(lambda t: t.groupBy("k").count()), "GROUP BY or an aggregate function"),
        (lambda rows: rows.sql("SELECT k FROM orders", scope="all"), "scope = all"),
    ],
)
def test_streaming_refuses_what_looks_across_rows(
    behind: Callable[[st.Rows], st.Rows], clause: str, files: Path, tmp_path: Path
) -> None:
    job = st.Job("streaming", {"job.mode": "STREAMING"})
    behind(reading(job, files, "orders", ORDERS)).sink("LocalFile", path=str(tmp_path / "out"), file_format_type="csv")
    with pytest.raises(JobFailedError, match=rf"combines rows \({clause}\), but a streaming job has no last row"):
        run(job, tmp_path)
    assert not published(tmp_path / "out")
