"""Each source and each sink in a whole job: killed while rows are on their way and restored, and at parallelism 1, 2
and 8, each time with the same rows. Tasks run in this process; ``test_spark_connectors.py`` has the source and the sink
Spark, whose jobs are processes.

``docs/evidence/torture.md`` has the table of these tests; a connector that is not among them fails the first one.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import frozen

import seatunnel_core as st
from seatunnel_core.application.handle import JobHandle
from seatunnel_core.application.job import Rows
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.registry import lookup
from seatunnel_core.rows.kind import RowKind
from tests.connectors.duckdb.duckdb_file import FILE, asked
from tests.connectors.iceberg.iceberg_tables import catalog_of, table_in
from tests.connectors.iceberg.test_iceberg_merging import MERGE, batch
from tests.connectors.iceberg.test_iceberg_merging import run as merged
from tests.connectors.test_remote_jobs import PLACES
from tests.runtime.command import column, engine_file, staged
from tests.runtime.ground import ALL, ROWS, committed, ground_in, kill, until
from tests.servers.http_service import HttpService
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import Postgres

DOCS = Path(__file__).parents[2] / "docs" / "evidence" / "torture.md"
PARALLELISMS = (1, 2, 8)
PATIENCE_S = 300


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with ground_in(tmp_path):
        yield tmp_path


@cache
def service() -> HttpService:
    """One for all jobs of ``Http``, for as long as the tests run."""
    return HttpService()


# -- sources: each gives the ids from 1 to ROWS --------------------------------------------------------------------


def _fake(job: st.Job, _folder: Path, parallelism: int) -> Rows:
    options = {"row.num": ROWS // parallelism, "split.num": 24, "auto.increment.enabled": True}
    return job.source("FakeSource", {**options, "schema": {"fields": {"id": "bigint", "text": "string"}}}, name="in")


def _files(job: st.Job, folder: Path, _parallelism: int) -> Rows:
    here = folder / "in"
    if not here.exists():  # a file that is written again is another one to the source
        here.mkdir()
        for part in range(3):
            (here / f"{part}.csv").write_text("".join(f"{each}\n" for each in ALL[part::3]))
    options = {"path": str(here), "file_format_type": "csv", "split_size": 60, "schema": {"fields": {"id": "bigint"}}}
    return job.source("LocalFile", options, name="in")


def _memory(job: st.Job, _folder: Path, _parallelism: int) -> Rows:
    return job.from_arrow(pa.table({"id": pa.array(ALL, pa.int64())}), name="in", rows_per_split=20)


def _function(job: st.Job, _folder: Path, _parallelism: int) -> Rows:
    @st.source(splits=list(range(5)), schema={"id": "bigint"}, replayable=True)
    def numbers(split: int) -> Iterator[dict[str, int]]:
        yield from ({"id": each} for each in ALL[split::5])

    return job.source(numbers, name="in")


def _table(job: st.Job, folder: Path, _parallelism: int) -> Rows:
    with closing(sqlite3.connect(folder / "in.db")) as database:
        database.execute("CREATE TABLE IF NOT EXISTS numbers (id INTEGER PRIMARY KEY)")
        database.executemany("INSERT OR IGNORE INTO numbers VALUES (?)", ((each,) for each in ALL))
        database.commit()
    options = {"url": f"jdbc:sqlite:{folder}/in.db", "table_path": "numbers", "split.size": 25}
    return job.source("Jdbc", options, name="in")


def _pages(job: st.Job, folder: Path, _parallelism: int) -> Rows:
    options = {"url": f"{service().url}/numbers", "schema": {"fields": {"id": "bigint"}}, "replayable": True}
    service().at["/numbers"] = lambda asked: [{"id": each} for each in ALL[int(asked.query["page"]) * 25 - 25 :][:25]]
    return job.source("Http", {**options, "pageing": {"total_page_size": ROWS // 25, "batch_size": 25}}, name="in")


def _snapshot(job: st.Job, folder: Path, _parallelism: int) -> Rows:
    options = {"iceberg.catalog.config": catalog_of(folder / "in"), "namespace": "shop", "table": "orders"}
    if not (folder / "in").exists():  # each unit is a file, and each even number is merged a second time
        (folder / "in").mkdir()
        merged(folder / "in", *([batch(*((each, "mo", 0) for each in ALL[part::20]))] for part in range(20)), **MERGE)
        twice = batch(*((each, "tu", 1) for each in ALL[::2]), (ROWS + 1, "tu", 1))
        merged(folder / "in", [twice], [batch((ROWS + 1, "tu", 0), kinds=[RowKind.DELETE])], job="next", **MERGE)
    return job.source("Iceberg", {**options, "read_columns": ["id"]}, name="in")


SOURCES: Mapping[str, Callable[[st.Job, Path, int], Rows]] = {
    "FakeSource": _fake,
    "Http": _pages,
    "Iceberg": _snapshot,
    "Jdbc": _table,
    "LocalFile": _files,
    "Memory": _memory,
    "PythonFunction": _function,
}
WITH_SPARK = ("Spark",)
"""Sources and sinks whose jobs need Spark itself."""

SERVICES = {
    "source": ["Github", "Gitlab", "Jira", "Klaviyo", "Lemlist", "MyHours", "Notion", "OneSignal", "Persistiq"],
    "sink": ["DingTalk", "Feishu", "Slack", "WeChat"],
}
"""They are Http with headers and messages of their own, which ``test_http_services.py`` looks at."""

BEHIND_SERVERS = (*PLACES, "Kafka", "Redis")
"""Sources and sinks whose jobs need a server: ``test_remote_jobs.py``, ``test_kafka_job.py`` and
``test_redis_job.py`` kill, restore and
divide those."""

OF_LOGS = ("MariaDB-CDC", "MySQL-CDC", "Postgres-CDC")
"""Sources of the logs of databases: ``tests/cdc`` and the ``test_jobs.py`` of each kill, stop and restore those."""

OF_OTHERS = ("Dlt",)
"""Sources of what other packages give: ``test_dlt_page.py`` kills and restores a job. It has one split."""


# -- sinks: what each has in the end -------------------------------------------------------------------------------


@frozen(kw_only=True)
class Played:
    """A job that is over, after one or two processes."""

    folder: Path
    printed: str
    lives: list[JobHandle]


def _ids_in_files(played: Played) -> list[int]:
    assert staged(played.folder / "out") == []
    return column(played.folder / "out", "id")


def _ids_in_iceberg(played: Played) -> list[int]:
    return sorted(table_in(played.folder, "a").scan().to_arrow()["id"].to_pylist())


def _ids_in_database(played: Played) -> list[int]:
    with closing(sqlite3.connect(played.folder / "out.db")) as database:
        staged_tables = database.execute(
            "SELECT name FROM sqlite_master WHERE name GLOB 'seatunnel_*_o*_e*_u*'"
        ).fetchall()
        assert staged_tables == []
        return [number for (number,) in database.execute("SELECT id FROM numbers ORDER BY id")]


def _ids_in_duckdb(played: Played) -> list[int]:
    assert not list((played.folder / ".seatunnel").rglob("*.parquet"))
    return sorted(number for (number,) in asked(played.folder, "SELECT id FROM orders"))


def _ids_printed(played: Played) -> list[int]:
    """The Console prints a row at least once, or counts it where a unit has too many."""
    printed = {int(found) for found in re.findall(r"kind=INSERT : (\d+)", played.printed)}
    counted = sum(int(found) for found in re.findall(r"not shown: (\d+)", played.printed))
    return ALL if printed <= set(ALL) and len(printed) + counted >= ROWS else sorted(printed)


def _ids_received(_played: Played) -> list[int]:
    """A service gets a row at least once."""
    received = [asked.json["id"] for asked in service().of("/rows") if asked.method == "POST"]
    service().asked.clear()
    return sorted(set(received)) if len(received) >= ROWS else received


def _at_service(_folder: Path) -> dict[str, Any]:
    service().at["/rows"] = lambda _: ""
    return {"url": f"{service().url}/rows"}


def _ids_collected(played: Played) -> list[int]:
    """Each process has what it committed, once; a later one says that it has not all, and commits again what the last
    checkpoint before it named."""
    *earlier, last = played.lives
    if not earlier:
        return sorted(last.collect()["id"].to_pylist())
    with pytest.raises(st.UsageError, match=f"of the {ROWS} collected rows"):
        last.collect()
    kept = last._memory_sinks()["out"]._kept  # which rows it has, it does not say otherwise
    assert kept is not None
    of_last = [each for pairs in kept.committables.values() for _, rows in pairs for each in rows["id"].to_pylist()]
    of_first = earlier[0].collect()["id"].to_pylist()
    assert all(len(ids) == len(set(ids)) for ids in (of_first, of_last))
    return sorted({*of_first, *of_last})


def _ids_asserted(played: Played) -> list[int]:
    """Its rules count the rows of the whole job, and the job has not failed."""
    (view,) = played.lives[-1].result().pipelines
    return ALL[: view.rows_committed]


def _rules() -> dict[str, Any]:
    counted = [{"rule_type": kind, "rule_value": ROWS} for kind in ("MIN_ROW", "MAX_ROW")]
    return {"rules": {"row_rules": counted}}


def _in_iceberg(folder: Path) -> dict[str, Any]:
    catalog = catalog_of(folder)
    return {"iceberg.catalog.config": catalog, "namespace": "shop", "table": "a", "exactly_once": True}


def _in_database(folder: Path) -> dict[str, Any]:
    url = f"jdbc:sqlite:{folder}/out.db"
    return {"url": url, "generate_sink_sql": True, "table": "numbers", "is_exactly_once": True}


SINKS: Mapping[str, tuple[Callable[[Path], dict[str, Any]], Callable[[Played], list[int]]]] = {
    "Assert": (lambda _folder: _rules(), _ids_asserted),
    "Console": (lambda _folder: {"rows_per_unit": 10_000}, _ids_printed),
    "DuckDB": (lambda folder: {"path": f"{folder}/{FILE}", "table": "orders"}, _ids_in_duckdb),
    "Http": (_at_service, _ids_received),
    "Iceberg": (_in_iceberg, _ids_in_iceberg),
    "Jdbc": (_in_database, _ids_in_database),
    "LocalFile": (lambda folder: {"path": f"{folder}/out", "file_format_type": "parquet"}, _ids_in_files),
    "Memory": (lambda _folder: {}, _ids_collected),
}
"""By name: its options, and the ids that it has."""


# -- the jobs ------------------------------------------------------------------------------------------------------

EACH = [
    *((source, "LocalFile") for source in SOURCES),
    *(("FakeSource", sink) for sink in SINKS if sink != "LocalFile"),
]


def built(folder: Path, source: str, sink: str, parallelism: int, **env: Any) -> tuple[st.Job, Path]:
    settings = {"checkpoint.interval": 40, "job.retry.times": 0, "parallelism": parallelism}
    job = st.Job("each", {**settings, **env})
    SOURCES[source](job, folder, parallelism).sink(sink, SINKS[sink][0](folder), name="out")
    return job, engine_file(folder)


@pytest.mark.parametrize(("source", "sink"), EACH)
@pytest.mark.torture
@pytest.mark.timeout(300)
def test_killed_in_the_data_phase_and_restored(
    folder: Path, source: str, sink: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job, engine = built(folder, source, sink, 2, **{"read_limit.rows_per_second": 150})
    with job.submit(engine_config=engine) as first:
        until(lambda: committed(first._run) >= ROWS // 6, first._run)
        kill(first._run)
        assert 0 < committed(first._run) < ROWS
        job, engine = built(folder, source, sink, 2)
        with job.submit(restore=first.job_id, engine_config=engine) as second:
            second.result()
            played = Played(folder=folder, printed=capsys.readouterr().out, lives=[first, second])
            assert SINKS[sink][1](played) == ALL


@pytest.mark.parametrize("parallelism", PARALLELISMS)
@pytest.mark.parametrize(("source", "sink"), EACH)
@pytest.mark.torture
@pytest.mark.timeout(300)
def test_the_same_rows_at_every_parallelism(
    folder: Path, source: str, sink: str, parallelism: int, capsys: pytest.CaptureFixture[str]
) -> None:
    job, engine = built(folder, source, sink, parallelism)
    with job.submit(engine_config=engine) as handle:
        handle.result()
        assert SINKS[sink][1](Played(folder=folder, printed=capsys.readouterr().out, lives=[handle])) == ALL


def test_each_source_and_each_sink_is_among_them() -> None:
    """And in the table of the documentation, where each stands with what is tested."""
    shipped = [plugin for plugin in lookup.plugins() if plugin.distribution == "seatunnel-core"]
    sources, sinks = ([each.identifier for each in shipped if each.kind == kind] for kind in ("source", "sink"))
    elsewhere = {*WITH_SPARK, *BEHIND_SERVERS}
    assert sorted(sources) == sorted({*SOURCES, *OF_LOGS, *OF_OTHERS, *elsewhere, *SERVICES["source"]})
    assert sorted(sinks) == sorted({*SINKS, *elsewhere, *SERVICES["sink"]})
    table = DOCS.read_text("utf-8").partition("## Each source and each sink")[2].partition("\n## ")[0]
    named = re.findall(r"^\| (source|sink) `([\w-]+)` \|", table, re.MULTILINE)
    assert sorted(named) == sorted((plugin.kind, plugin.identifier) for plugin in shipped if plugin.kind != "transform")


# -- the source and the sink Jdbc on servers -----------------------------------------------------------------------


def ask(server: Postgres | MariaDB, statement: str) -> list[Any]:
    """The rows that a statement gives in the database of the test."""
    if isinstance(server, MariaDB):
        return server.run(statement)
    with closing(server.connect()) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="module", params=[Postgres, MariaDB], ids=["PostgreSQL", "MariaDB"])
def server(request: pytest.FixtureRequest) -> Iterator[Postgres | MariaDB]:
    running = request.param()
    running.start()
    ask(running, "CREATE TABLE numbers (id bigint PRIMARY KEY)")
    ask(running, f"INSERT INTO numbers VALUES {', '.join(f'({each})' for each in ALL)}")
    yield running
    forget()
    running.stop()


def through(server: Postgres | MariaDB, folder: Path, parallelism: int, **env: Any) -> tuple[st.Job, Path]:
    settings = {"checkpoint.interval": 40, "job.retry.times": 0, "parallelism": parallelism}
    job = st.Job("each", {**settings, **env})
    rows = job.source("Jdbc", {**server.options(), "table_path": "numbers", "split.size": 25}, name="in")
    into = {**server.options(), "generate_sink_sql": True, "table": "copied", "is_exactly_once": True}
    rows.sink("Jdbc", into, name="out")
    return job, engine_file(folder)


def copied(server: Postgres | MariaDB) -> list[int]:
    staged_tables = "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'seatunnel%_o%_e%_u%'"
    assert ask(server, staged_tables) == []
    return [number for (number,) in ask(server, "SELECT id FROM copied ORDER BY id")]


@pytest.mark.servers
@pytest.mark.twin
@pytest.mark.timeout(300)
def test_killed_on_a_server_in_the_data_phase_and_restored(folder: Path, server: Postgres | MariaDB) -> None:
    ask(server, "DROP TABLE IF EXISTS copied")
    job, engine = through(server, folder, 2, **{"read_limit.rows_per_second": 150})
    with job.submit(engine_config=engine) as first:
        until(lambda: committed(first._run) >= ROWS // 6, first._run)
        kill(first._run)
        assert 0 < committed(first._run) < ROWS
        job, engine = through(server, folder, 2)
        with job.submit(restore=first.job_id, engine_config=engine) as second:
            second.result()
    assert copied(server) == ALL


@pytest.mark.parametrize("parallelism", PARALLELISMS)
@pytest.mark.servers
@pytest.mark.twin
@pytest.mark.timeout(300)
def test_the_same_rows_on_a_server_at_every_parallelism(
    folder: Path, server: Postgres | MariaDB, parallelism: int
) -> None:
    ask(server, "DROP TABLE IF EXISTS copied")
    job, engine = through(server, folder, parallelism)
    with job.submit(engine_config=engine) as handle:
        handle.result()
    assert copied(server) == ALL
