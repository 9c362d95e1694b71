"""What is measured: each in a process of its own, which prints its figures as one line of JSON at the end.

``python -m tests.bench.systems NAME FOLDER TABLE``. The folder is empty at the start. The time that is told begins
when the Spark session is ready; reading and planning the job, its claims and its checkpoints count.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench import jobs, restart
from tests.bench.tables import LINEITEM, LINEITEM_ROWS

MASTER = "local[2]"

BLOCKS = {"256k": 1 << 18, "1m": 1 << 20, "8m": 8 << 20}
"""Bytes that pyarrow reads at a time; the best of them is the floor."""

Figures = dict[str, float]
System = Callable[[Path, Path], Figures]


@contextmanager
def measured() -> Iterator[Figures]:
    """Within the block, time; the mapping is filled at its end. Who looks at this process from outside knows what it
    spends of the processor, and needs to know from when on that counts."""
    figures: Figures = {"ready_at": time.monotonic()}
    wall = time.perf_counter()
    yield figures
    figures["wall_s"] = time.perf_counter() - wall


def ours(folder: Path, table: Path, env: str = "", transform: str = "") -> Figures:
    """The command ``seatunnel``, from CSV to Parquet."""
    return command(jobs.write_lineitem(folder, table, folder / "out", env=env, transform=transform), folder)


def ours_with_env(env: str) -> System:
    return lambda folder, table: ours(folder, table, env)


def ours_with_transform(transform: str) -> System:
    return lambda folder, table: ours(folder, table, transform=transform)


def ours_parquet(folder: Path, table: Path) -> Figures:
    return command(jobs.write_parquet(folder, table), folder)


def ours_killed(folder: Path, table: Path) -> Figures:
    """The job is killed when its first file is committed, and goes on in this process."""
    conf = jobs.write_lineitem(folder, table, folder / "out", env=restart.ENV)
    restart.begin_and_kill(conf, folder)
    return command(conf, folder, "-r", restart.JOB)


def ours_on(master: str) -> System:
    return lambda folder, table: command(jobs.write_lineitem(folder, table, folder / "out"), folder, master=master)


def ours_on_a_cluster(folder: Path, table: Path) -> Figures:
    """On a standalone cluster of this machine with one worker, which has two cores. The workers' Python is this one."""
    from tests.servers.standalone_spark import standalone_spark

    options = {"spark.driver.host": "127.0.0.1", "spark.executor.memory": "1g", "spark.pyspark.python": sys.executable}
    env = "\n  ".join(f'{key} = "{value}"' for key, value in options.items())
    (folder / "cluster").mkdir()
    with standalone_spark(folder / "cluster", {"worker": 2}, memory="2g") as master:
        return command(jobs.write_lineitem(folder, table, folder / "out", env=env), folder, master=master)


def command(conf: Path, folder: Path, *more: str, master: str = MASTER) -> Figures:
    """Run ``seatunnel -c`` in this process, which ends with it; its own log tells when Spark is ready, and when rows
    were committed."""
    from seatunnel_core.cli.main import main

    moments = Moments()
    for name in ("seatunnel.job", "seatunnel.pipeline"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        logger._log = moments.note  # type: ignore[assignment, method-assign]
    sys.argv = ["seatunnel", "-c", str(conf), "-m", master, "--engine-config", str(jobs.write_engine(folder)), *more]
    code = main()
    assert code == 0, f"exit code {code}"
    assert min(moments.ready_at, moments.first_commit_at) > 0, "the log does not tell when rows were committed"
    return moments.figures()


class Moments:
    """When Spark was ready and when rows were committed, by ``time.monotonic()``."""

    def __init__(self) -> None:
        self.ready_at = 0.0
        self.first_commit_at = 0.0
        self.last_commit_at = 0.0

    def note(self, _level: int, message: str, *_: object, **__: object) -> None:
        """What is told, in place of a record of it: who has not asked for debugging pays for none either."""
        if message.startswith("Spark runs"):
            self.ready_at = time.monotonic()
        elif "committed" in message and self.ready_at:  # before, a job that goes on publishes what was staged
            self.last_commit_at = time.monotonic()
            self.first_commit_at = self.first_commit_at or self.last_commit_at

    def figures(self) -> Figures:
        return {
            "ready_at": self.ready_at,
            "wall_s": time.monotonic() - self.ready_at,
            "first_commit_s": self.first_commit_at - self.ready_at,
            "last_commit_s": self.last_commit_at - self.ready_at,
        }


def ours_in_buckets(folder: Path, _table: Path) -> Figures:
    from tests.bench import buckets

    figures = command(buckets.write_job(folder), folder)
    return {**figures, "bytes": buckets.fetch_output(folder)}


def bare_transfer(_folder: Path, _table: Path) -> Figures:
    from tests.bench import buckets

    with measured() as figures:
        buckets.transfer()
    return {"transfer_s": figures["wall_s"]}


def spark_batch(folder: Path, table: Path) -> Figures:
    """Spark's own reader and writer."""
    spark = session(folder)
    with measured() as figures:
        spark.read.csv(str(table), schema=_ddl(), header=True).write.parquet(str(folder / "out"))
    spark.stop()
    return figures


def spark_streaming(folder: Path, table: Path) -> Figures:
    """Structured Streaming over what is there, exactly once."""
    spark = session(folder)
    with measured() as figures:
        rows = spark.readStream.csv(str(table), schema=_ddl(), header=True)
        writer = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoints"))
        query = writer.trigger(availableNow=True).start(str(folder / "out"))
        query.awaitTermination()
    spark.stop()
    return figures


def spark_parquet(folder: Path, table: Path) -> Figures:
    """Spark's own reader and writer, from Parquet to Parquet."""
    spark = session(folder)
    with measured() as figures:
        spark.read.parquet(str(table)).write.parquet(str(folder / "out"))
    spark.stop()
    return figures


def peer(name: str, *more: Any) -> System:
    """One without Spark, measured from its first line; ``start_to_exit_s`` has the start of Python and its imports.
    They are its own: ours and Spark's would be slower and larger with them."""

    def run(folder: Path, table: Path) -> Figures:
        from tests.bench import peers

        with measured() as figures:
            getattr(peers, name)(folder, table, *more)
        return figures

    return run


def seatunnel(folder: Path, table: Path) -> Figures:
    """SeaTunnel's own engine, without the Python that starts it."""
    from tests.bench import peers

    began = time.perf_counter()
    peers.seatunnel_lineitem(folder, table)
    return {"start_to_exit_s": time.perf_counter() - began}


def small_tables(folder: Path, tables: Path) -> Figures:
    """Every table is a pipeline: the time from the session's being ready to the last commit, per table in ms."""
    number = len(list(tables.iterdir()))
    found = command(jobs.write_small(folder, tables, folder / "out", number), folder)
    return {**found, "ms_per_table": found["last_commit_s"] * 1000 / number, "tables": number}


def smallest_program(folder: Path, table: Path) -> Figures:
    """The least that a PySpark program can do: one Python task, and ``stop()``."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master(MASTER).getOrCreate()
    assert spark.sparkContext.parallelize([1], 1).map(lambda value: value + 1).collect() == [2]
    spark.stop()
    return {}


def run_job(conf: Path, folder: Path) -> float:
    """Run our engine on a job file, whose checkpoints lie in the folder, to its end, and say when that was."""
    from seatunnel_core.config.engine import load_engine
    from seatunnel_core.config.job_file import load_job
    from seatunnel_core.registry import lookup
    from seatunnel_core.runtime.job_run import JobRun

    run = JobRun(
        load_job(conf),
        load_engine(jobs.write_engine(folder)),
        registry=lookup,
        job_id="measured",
        master=MASTER,
        log_file=folder / "spark.log",
    )
    with run:
        run.start()
        report = run.wait()
        ended = time.monotonic()
    assert report is not None
    assert report.outcome.value == "finished", report
    return ended


def session(folder: Path):  # type: ignore[no-untyped-def]
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false")
    return builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()


def _ddl() -> str:
    return ", ".join(f"{name} {kind}" for name, kind in LINEITEM.items())


def _check(folder: Path, table: Path) -> None:
    """A contender that loses rows is out."""
    import pyarrow.parquet as pq

    files = list((folder / "out").rglob("*.parquet"))
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    copies = int(table.name.partition("x")[2] or 1)
    assert rows == LINEITEM_ROWS * copies, f"{rows} rows in {len(files)} files"


SYSTEMS: dict[str, System] = {
    "ours": ours,
    "ours, checkpoints every 10 s": ours_with_env("checkpoint.interval = 10000"),
    "ours, checkpoints every 1 s": ours_with_env("checkpoint.interval = 1000"),
    "ours, checkpoints every 0.1 s": ours_with_env("checkpoint.interval = 100"),
    "ours, Sql": ours_with_transform(jobs.SQL),
    "ours, one transform": ours_with_transform(jobs.ONE),
    "ours, five transforms": ours_with_transform(jobs.FIVE),
    "ours, Parquet": ours_parquet,
    "ours, killed": ours_killed,
    "ours, local[1]": ours_on("local[1]"),
    "ours, standalone cluster": ours_on_a_cluster,
    "ours, buckets": ours_in_buckets,
    "bare transfer": bare_transfer,
    "Spark batch": spark_batch,
    "Spark batch, Parquet": spark_parquet,
    "Structured Streaming": spark_streaming,
    **{f"floor, blocks of {name}": peer("floor", block) for name, block in BLOCKS.items()},
    "DuckDB": peer("duckdb"),
    "dlt": peer("dlt"),
    "SeaTunnel": seatunnel,
    "small tables": small_tables,
    "smallest program": smallest_program,
}


def main() -> None:
    from tests.bench import json_lines

    name, folder, table = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    figures = {**SYSTEMS, **json_lines.SYSTEMS}[name](folder, table)
    if (folder / "out").exists() and "lineitem" in table.name:
        _check(folder, table)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
