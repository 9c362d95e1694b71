"""What is measured: each in a process of its own, which prints its figures as one line of JSON at the end.

``python -m tests.bench.contenders NAME FOLDER TABLE``. The folder is empty at the start. The time that is told begins
when the Spark session is ready; reading and planning the job, its claims and its checkpoints count.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench import jobs
from tests.bench.cpu import cpu_s
from tests.bench.tables import LINEITEM, LINEITEM_ROWS

MASTER = "local[2]"

Figures = dict[str, float]


@contextmanager
def measured() -> Iterator[Figures]:
    """Within the block, time and processor time; the mapping is filled at its end."""
    figures: Figures = {}
    cpu, wall = cpu_s(), time.perf_counter()
    yield figures
    figures["wall_s"] = time.perf_counter() - wall
    figures["cpu_s"] = cpu_s() - cpu


def ours(folder: Path, table: Path, env: str = "", transform: str = "") -> Figures:
    """Our engine, on a session that is there already, with the flags that the command line gives to its JVM."""
    from seatunnel_core.spark import session

    running = session.start(session.SparkSettings(options={"spark.master": MASTER}, log_file=folder / "spark.log"))
    conf = jobs.write_lineitem(folder, table, folder / "out", env=env, transform=transform)
    with measured() as figures:
        run_job(conf, folder)
    session.stop(running)
    return figures


def ours_with_checkpoints(folder: Path, table: Path) -> Figures:
    return ours(folder, table, "checkpoint.interval = 1000")


def ours_with_sql(folder: Path, table: Path) -> Figures:
    return ours(folder, table, transform=jobs.SQL)


def ours_with_one(folder: Path, table: Path) -> Figures:
    return ours(folder, table, transform=jobs.ONE)


def ours_with_five(folder: Path, table: Path) -> Figures:
    return ours(folder, table, transform=jobs.FIVE)


def spark_batch(folder: Path, table: Path) -> Figures:
    """Spark's own reader and writer."""
    spark = _session(folder)
    with measured() as figures:
        spark.read.csv(str(table), schema=_ddl(), header=True).write.parquet(str(folder / "out"))
    spark.stop()
    return figures


def spark_streaming(folder: Path, table: Path) -> Figures:
    """Structured Streaming over what is there, exactly once."""
    spark = _session(folder)
    with measured() as figures:
        rows = spark.readStream.csv(str(table), schema=_ddl(), header=True)
        writer = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoints"))
        query = writer.trigger(availableNow=True).start(str(folder / "out"))
        query.awaitTermination()
    spark.stop()
    return figures


def small_tables(folder: Path, tables: Path) -> Figures:
    """Every table is a pipeline: the time from the session's being ready to the last commit, per table in ms."""
    number = len(list(tables.iterdir()))
    conf = jobs.write_small(folder, tables, folder / "out", number)
    seen: dict[str, float] = {}

    class Clock(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.msg.startswith("Spark runs"):
                seen["ready"] = record.created
            elif "committed" in record.msg:
                seen["last commit"] = record.created

    logger = logging.getLogger("seatunnel")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(Clock())
    started = cpu_s()
    run_job(conf, folder)
    return {
        "ms_per_table": (seen["last commit"] - seen["ready"]) * 1000 / number,
        "cpu_ms_per_table": (cpu_s() - started) * 1000 / number,
    }


def smallest_program(folder: Path, table: Path) -> Figures:
    """The least that a PySpark program can do: one Python task, and ``stop()``."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master(MASTER).getOrCreate()
    assert spark.sparkContext.parallelize([1], 1).map(lambda value: value + 1).collect() == [2]
    spark.stop()
    return {}


def run_job(conf: Path, folder: Path) -> None:
    """Run our engine on a job file, whose checkpoints lie in the folder, to its end."""
    from seatunnel_core.config.engine import load_engine
    from seatunnel_core.config.job_file import load_job
    from seatunnel_core.connectors import registry
    from seatunnel_core.runtime.job_run import JobRun

    run = JobRun(
        load_job(conf),
        load_engine(jobs.write_engine(folder)),
        registry=registry,
        job_id="measured",
        master=MASTER,
        log_file=folder / "spark.log",
    )
    with run:
        run.start()
        report = run.wait()
    assert report is not None
    assert report.outcome.value == "finished", report


def _session(folder: Path):  # type: ignore[no-untyped-def]
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false")
    return builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()


def _ddl() -> str:
    return ", ".join(f"{name} {kind}" for name, kind in LINEITEM.items())


def _check(folder: Path, table: Path) -> None:
    """A contender that loses rows is out."""
    import pyarrow.parquet as pq

    files = list((folder / "out").glob("*.parquet"))
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    copies = int(table.name.partition("x")[2] or 1)
    assert rows == LINEITEM_ROWS * copies, f"{rows} rows in {len(files)} files"


CONTENDERS: dict[str, Callable[[Path, Path], Figures]] = {
    "ours": ours,
    "ours-checkpoints": ours_with_checkpoints,
    "ours-sql": ours_with_sql,
    "ours-one": ours_with_one,
    "ours-five": ours_with_five,
    "spark-batch": spark_batch,
    "spark-streaming": spark_streaming,
    "small-tables": small_tables,
    "smallest-program": smallest_program,
}


def main() -> None:
    name, folder, table = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    figures = CONTENDERS[name](folder, table)
    if "wall_s" in figures:
        _check(folder, table)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
