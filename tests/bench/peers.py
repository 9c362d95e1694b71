"""Other programs that do the same: the floor of one process with pyarrow, DuckDB, dlt, and SeaTunnel's own engine.

Each reads the CSV files of a table and writes Parquet with snappy into ``folder/out``, durably where it is a floor.
"""

import itertools
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from tests.bench import jobs
from tests.bench.tables import LINEITEM, LINEITEM_ROWS, arrow_schema

THREADS = 2
FILES_OF_ONE = 12
"""Into so many files our job writes a table that lies in one file."""

DLT = "dlt[filesystem,parquet,duckdb,sql-database,postgres]>=1.31"
DLT_VENV = "venv-of-dlt"

SEATUNNEL = "SEATUNNEL_PEER_HOME"
"""Of the environment: an installation of SeaTunnel that is measured, too."""


def floor(folder: Path, table: Path, block: int) -> None:
    """Streaming pyarrow with two threads: the same schema, compression and number of files, each synchronised."""
    (folder / "out").mkdir()
    files = sorted(table.iterdir())
    if len(files) > 1:
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(lambda file: _convert(file, folder / "out" / f"{file.stem}.parquet", block), files))
    else:
        _convert_into_several(files[0], folder / "out", block)


def _batches(file: Path, block: int) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema()
    types = pacsv.ConvertOptions(column_types={column.name: column.type for column in schema})
    with pacsv.open_csv(file, pacsv.ReadOptions(block_size=block, use_threads=False), convert_options=types) as reader:
        yield from reader


def _convert(file: Path, target: Path, block: int) -> None:
    _write(target, _batches(file, block))


def _convert_into_several(file: Path, out: Path, block: int) -> None:
    """One thread reads, the other one writes."""
    waiting: queue.Queue[pa.RecordBatch | None] = queue.Queue(maxsize=8)
    share = -(-LINEITEM_ROWS // FILES_OF_ONE)

    def write() -> None:
        for number in itertools.count():  # to the end, or the reader waits for ever
            if not _write(out / f"{number}.parquet", iter(waiting.get, None), share):
                return

    writer = threading.Thread(target=write)
    writer.start()
    for batch in _batches(file, block):
        waiting.put(batch)
    waiting.put(None)
    writer.join()


def _write(target: Path, batches: Iterator[pa.RecordBatch], rows_of_one: int | None = None) -> bool:
    """Whether there may be more than went into this file."""
    taken = 0
    with open(target, "wb") as file, pq.ParquetWriter(file, arrow_schema(), compression="snappy") as to:
        for batch in batches:
            to.write_batch(batch)
            taken += batch.num_rows
            if rows_of_one is not None and taken >= rows_of_one:
                break
        else:
            rows_of_one = None
    with open(target, "rb") as file:  # type: ignore[assignment]
        os.fsync(file.fileno())
    return rows_of_one is not None


def duckdb(folder: Path, table: Path) -> None:
    import duckdb as db

    columns = ", ".join(f"'{name}': '{_sql_type(kind)}'" for name, kind in LINEITEM.items())
    with db.connect(config={"threads": THREADS}) as connection:
        connection.execute(
            f"COPY (SELECT * FROM read_csv('{table}/*.csv', header = true, columns = {{{columns}}})) "
            f"TO '{folder}/out' (FORMAT parquet, COMPRESSION snappy, PER_THREAD_OUTPUT true)"
        )


def duckdb_json(folder: Path, table: Path) -> None:
    """JSON lines to Parquet, or Parquet to JSON lines; it finds the columns itself."""
    import duckdb as db

    (file,) = table.iterdir()
    source = f"read_json('{file}', format = 'newline_delimited')" if file.suffix == ".json" else f"'{file}'"
    to = "(FORMAT parquet, COMPRESSION snappy)" if file.suffix == ".json" else "(FORMAT json)"
    with db.connect(config={"threads": THREADS}) as connection:
        connection.execute(f"COPY (SELECT * FROM {source}) TO '{folder}/out' {to}")


def _sql_type(kind: str) -> str:
    return {"string": "VARCHAR"}.get(kind, kind.upper())


def python_of_dlt(data: Path) -> Path:
    """In a virtual environment of its own: dlt wants other versions of what we need, too."""
    python = data / DLT_VENV / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        command = [str(python), "-m", "pip", "install", "--quiet", DLT, "psycopg[binary]", "attrs"]
        subprocess.run(command, check=True)
    return python


def dlt(folder: Path, table: Path) -> None:
    """Arrow tables to Parquet files, as its documentation does it for speed."""
    import dlt as load
    from dlt.destinations import filesystem

    @load.resource(name="lineitem")
    def lineitem() -> Iterator[pa.Table]:
        for file in sorted(table.iterdir()):
            for batch in _batches(file, 8 << 20):
                yield pa.Table.from_batches([batch])

    pipeline = load.pipeline(
        pipeline_name="bench",
        pipelines_dir=str(folder / "dlt"),
        destination=filesystem(bucket_url=f"file://{folder}/loaded"),
        dataset_name="out",
    )
    pipeline.run(lineitem(), loader_file_format="parquet").raise_on_failed_jobs()
    (folder / "out").mkdir()
    for number, file in enumerate((folder / "loaded").rglob("lineitem/*.parquet")):
        file.rename(folder / "out" / f"{number}.parquet")


def seatunnel(conf: Path) -> list[str]:
    """The command that runs a job in SeaTunnel's own engine, in one process."""
    return [f"{os.environ[SEATUNNEL]}/bin/seatunnel.sh", "--config", str(conf), "-m", "local"]


def seatunnel_lineitem(folder: Path, table: Path) -> None:
    """With ``parallelism = 2`` it writes rows twice. It knows no header of CSV, and packs with nothing by itself."""
    conf = jobs.write_lineitem(folder, table, folder / "out", parallelism=1)
    text = conf.read_text().replace("csv_use_header_line = true", 'skip_header_row_number = 1, field_delimiter = ","')
    conf.write_text(text.replace('"parquet" }', '"parquet", compress_codec = "snappy" }'))
    subprocess.run(seatunnel(conf), check=True, stdout=sys.stderr)


def with_seatunnel(name: str) -> Sequence[str]:
    """A system of SeaTunnel's, or none where it is not installed."""
    return (name,) if os.environ.get(SEATUNNEL) else ()
