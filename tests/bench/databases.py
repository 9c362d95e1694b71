"""Tables of PostgreSQL to Parquet files and back: ``make bench ARGS='jdbc-source jdbc-sink'``.

The server is one of the tests', with its defaults. Reading: our job, Spark's own JDBC reader with as many partitions,
and plain ADBC in one process. Writing: our job at least once and exactly once, and a bare COPY of the same rows, whose
text is made before. Each system is a process of its own, ``python -m tests.bench.databases NAME FOLDER DATA PORT``;
the time that is told begins when its Spark session is ready.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from tests.bench import tables
from tests.bench.bench import Bench
from tests.bench.figure import Figure, at_least, at_most, ratios
from tests.bench.systems import MASTER, Figures, measured, run_job
from tests.servers.postgres import PASSWORD, USER, Postgres

ROWS = 2_000_000
PARTITIONS = 8
JAR = "org.postgresql:postgresql:42.7.4"
_ROOT = Path(__file__).parents[2]

_READ = """env {{ job.name = "read", job.mode = "BATCH", parallelism = 2 }}
source {{ Jdbc {{ {place}, table_path = "public.lineitem", partition_column = "l_orderkey",
  partition_num = {partitions} }} }}
sink {{ LocalFile {{ path = "{folder}/out", file_format_type = "parquet" }} }}
"""
_WRITE = """env {{ job.name = "write", job.mode = "BATCH", parallelism = 2 }}
source {{ LocalFile {{ path = "{data}/rows", file_format_type = "parquet" }} }}
sink {{ Jdbc {{ {place}, generate_sink_sql = true, table = "public.copied", is_exactly_once = {exact} }} }}
"""


# -- the systems ---------------------------------------------------------------------------------------------------


def ours_reads(folder: Path, _data: Path, port: int) -> Figures:
    return _job(folder, _READ.format(place=_place(port), partitions=PARTITIONS, folder=folder))


def spark_reads(folder: Path, data: Path, port: int) -> Figures:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false")
    spark = builder.config("spark.jars", str(_jar(data))).getOrCreate()
    with closing(_connected(port)) as connection:
        low, high = connection.execute("SELECT min(l_orderkey), max(l_orderkey) FROM lineitem").fetchone()
    with measured() as figures:
        rows = spark.read.jdbc(
            f"jdbc:postgresql://127.0.0.1:{port}/postgres",
            "lineitem",
            column="l_orderkey",
            lowerBound=low,
            upperBound=high,
            numPartitions=PARTITIONS,
            properties={"user": USER, "password": PASSWORD, "driver": "org.postgresql.Driver", "fetchsize": "10000"},
        )
        rows.write.parquet(str(folder / "out"))
    spark.stop()
    return figures


def adbc_reads(folder: Path, data: Path, port: int) -> Figures:
    from adbc_driver_postgresql import dbapi
    from psycopg.conninfo import make_conninfo

    schema = pq.read_schema(next((data / "rows").glob("*.parquet")))
    (folder / "out").mkdir()
    conninfo = make_conninfo(host="127.0.0.1", port=port, user=USER, password=PASSWORD, dbname="postgres")
    with measured() as figures, dbapi.connect(conninfo) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM lineitem")
        with pq.ParquetWriter(folder / "out" / "rows.parquet", schema) as writer:
            for batch in cursor.fetch_record_batch():  # numbers of many digits are texts there
                arrays = [_plain(array).cast(column.type) for array, column in zip(batch.columns, schema, strict=True)]
                writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return figures


def ours_writes(folder: Path, data: Path, port: int, exact: str = "false") -> Figures:
    return _job(folder, _WRITE.format(place=_place(port), data=data, exact=exact))


def ours_writes_exactly_once(folder: Path, data: Path, port: int) -> Figures:
    return ours_writes(folder, data, port, "true")


def copy_writes(_folder: Path, data: Path, port: int) -> Figures:
    with measured() as figures, closing(_connected(port)) as connection:
        connection.execute(f"CREATE TABLE copied {_columns()}")
        with (
            (data / "rows.csv").open("rb") as file,
            connection.cursor().copy("COPY copied FROM STDIN (FORMAT csv)") as to,
        ):
            while block := file.read(1 << 20):
                to.write(block)
    return figures


CONTENDERS: dict[str, Callable[[Path, Path, int], Figures]] = {
    "ours-reads": ours_reads,
    "spark-reads": spark_reads,
    "adbc-reads": adbc_reads,
    "ours-writes": ours_writes,
    "ours-writes-exactly-once": ours_writes_exactly_once,
    "copy-writes": copy_writes,
}


def _job(folder: Path, text: str) -> Figures:
    """The engine starts Spark when the job is planned."""
    from seatunnel_core.spark.backend import SparkBackend

    conf = folder / "job.conf"
    conf.write_text(text)
    ready: list[float] = []
    start = SparkBackend.start

    def noted(backend: SparkBackend) -> None:
        start(backend)
        ready.append(time.monotonic())

    SparkBackend.start = noted  # type: ignore[assignment, method-assign]
    ended = run_job(conf, folder)
    return {"wall_s": ended - ready[0]}


def _place(port: int) -> str:
    return f'url = "jdbc:postgresql://127.0.0.1:{port}/postgres", user = {USER}, password = "{PASSWORD}"'


def _connected(port: int) -> Any:
    import psycopg

    place = {"host": "127.0.0.1", "port": port, "user": USER, "password": PASSWORD, "dbname": "postgres"}
    return psycopg.connect(**place, autocommit=True)  # type: ignore[arg-type]


def _plain(array: pa.Array) -> pa.Array:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _columns() -> str:
    names = {"string": "text", "int": "integer", "decimal(15,2)": "numeric(15,2)"}
    return "(" + ", ".join(f"{name} {names.get(kind, kind)}" for name, kind in tables.LINEITEM.items()) + ")"


def _jar(data: Path) -> Path:
    found = data / "jars"
    if not found.exists():
        command = ["mvn", "-q", "dependency:copy", f"-Dartifact={JAR}", f"-DoutputDirectory={found}"]
        subprocess.run(command, check=True)
    return next(found.glob("*.jar"))


# -- the server and its rows ------------------------------------------------------------------------------------------


def report_reading(bench: Bench, rows: int = ROWS) -> None:
    with _server(bench.data, rows) as (here, port):
        _jar(here)
        played = _play(("ours-reads", "spark-reads", "adbc-reads"), here, port, bench.rounds, rows)
    for other, goal in (("spark-reads", at_least(3)), ("adbc-reads", at_least(1))):
        values = ratios((each[other] for each in played), (each["ours-reads"] for each in played))
        bench.record(Figure(what=f"{other} / ours-reads, after Spark is up", values=values, goal=goal))


def report_writing(bench: Bench, rows: int = ROWS) -> None:
    with _server(bench.data, rows) as (here, port):
        played = _play(("copy-writes", "ours-writes", "ours-writes-exactly-once"), here, port, bench.rounds, rows)
    for ours, goal in (("ours-writes", at_most(1.3)), ("ours-writes-exactly-once", at_most(2.2))):
        values = ratios((each[ours] for each in played), (each["copy-writes"] for each in played))
        bench.record(Figure(what=f"{ours} / copy-writes, after Spark is up", values=values, goal=goal))


@contextmanager
def _server(data: Path, rows: int) -> Iterator[tuple[Path, int]]:
    """A server with the table ``lineitem``, and the folder with its rows as Parquet and as CSV."""
    here = _made(data, rows)
    server = Postgres()
    server.start()
    try:
        with closing(server.connect()) as connection:
            connection.execute(f"CREATE TABLE lineitem {_columns()}")
            statement = "COPY lineitem FROM STDIN (FORMAT csv)"
            with (here / "rows.csv").open("rb") as file, connection.cursor().copy(statement) as to:
                while block := file.read(1 << 20):
                    to.write(block)
            connection.execute("CREATE INDEX ON lineitem (l_orderkey)")
            connection.execute("VACUUM ANALYZE lineitem")
        yield here, server.port
    finally:
        server.stop()


def _made(data: Path, rows: int) -> Path:
    found = data / f"lineitem-{rows}-rows"
    if found.exists():
        return found
    draft = Path(tempfile.mkdtemp(prefix="run-", dir=data))
    (draft / "rows").mkdir()
    kinds = {"bigint": pa.int64(), "int": pa.int32(), "string": pa.string(), "date": pa.date32()}
    types = {name: kinds.get(kind, pa.decimal128(15, 2)) for name, kind in tables.LINEITEM.items()}
    (file,) = tables.lineitem(data, files=1).glob("*.csv")
    reader = pacsv.open_csv(file, convert_options=pacsv.ConvertOptions(column_types=types))
    left, batches = rows, []
    while left:
        batch = reader.read_next_batch()[:left]
        left -= len(batch)
        batches.append(batch)
    table = pa.Table.from_batches(batches)
    each = -(-rows // PARTITIONS)
    for number in range(PARTITIONS):
        pq.write_table(table.slice(number * each, each), draft / "rows" / f"{number}.parquet")
    pacsv.write_csv(table, draft / "rows.csv", pacsv.WriteOptions(include_header=False))
    draft.rename(found)
    return found


def _play(names: Sequence[str], here: Path, port: int, rounds: int, rows: int) -> list[dict[str, float]]:
    """The seconds of each system in each round."""
    played = []
    for number in range(rounds):
        turn = number % len(names)
        seconds = {name: _run(name, here, port, rows) for name in [*names[turn:], *names[:turn]]}
        played.append(seconds)
        print(f"    round {number + 1}: {', '.join(f'{name} {seconds[name]:.2f}' for name in names)}", flush=True)
    return played


def _run(name: str, here: Path, port: int, rows: int) -> float:
    with closing(_connected(port)) as connection:
        connection.execute("DROP TABLE IF EXISTS copied")
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=here.parent))
    command = [sys.executable, "-m", "tests.bench.databases", name, str(folder), str(here), str(port)]
    with (folder / "log").open("wb") as log:
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=log, cwd=_ROOT, check=False)
    if ended.returncode:
        sys.exit(f"{name} ended with {ended.returncode}:\n{(folder / 'log').read_text()[-3000:]}")
    if name.endswith("-reads"):
        found = sum(pq.read_metadata(file).num_rows for file in (folder / "out").glob("*.parquet"))
    else:
        with closing(_connected(port)) as connection:
            (found,) = connection.execute("SELECT count(*) FROM copied").fetchone()
    assert found == rows, f"{name}: {found} rows"
    shutil.rmtree(folder)
    return float(json.loads(ended.stdout.decode().splitlines()[-1])["wall_s"])


if __name__ == "__main__":
    print(json.dumps(CONTENDERS[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))))
