"""Rows per second of processor time of a copy of all TPC-H tables from PostgreSQL to Iceberg.

``python -m tests.cdc.peers.tpch --scale 1`` needs the command ``tpchgen-cli`` of the package with the same name.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from attrs import define

from tests.cdc.captured import CapturedPostgres
from tests.cdc.job import CopyJob
from tests.cdc.usage import Usage

SOURCE = "tpch"
PATIENCE_S = 1_800.0
_KEY = "primary key"
_PERSON = "{0}_name text, {0}_address text, {0}_nationkey int, {0}_phone text, {0}_acctbal decimal(15, 2)"
TABLES = {
    "region": f"r_regionkey int {_KEY}, r_name text, r_comment text",
    "nation": f"n_nationkey int {_KEY}, n_name text, n_regionkey int, n_comment text",
    "supplier": f"s_suppkey bigint {_KEY}, {_PERSON.format('s')}, s_comment text",
    "customer": f"c_custkey bigint {_KEY}, {_PERSON.format('c')}, c_mktsegment text, c_comment text",
    "part": f"p_partkey bigint {_KEY}, p_name text, p_mfgr text, p_brand text, p_type text, p_size int, "
    "p_container text, p_retailprice decimal(15, 2), p_comment text",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty int, ps_supplycost decimal(15, 2), ps_comment text, "
    f"{_KEY} (ps_partkey, ps_suppkey)",
    "orders": f"o_orderkey bigint {_KEY}, o_custkey bigint, o_orderstatus text, o_totalprice decimal(15, 2), "
    "o_orderdate date, o_orderpriority text, o_clerk text, o_shippriority int, o_comment text",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber int, l_quantity decimal(15, 2), "
    "l_extendedprice decimal(15, 2), l_discount decimal(15, 2), l_tax decimal(15, 2), l_returnflag text, "
    "l_linestatus text, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct text, l_shipmode text, "
    f"l_comment text, {_KEY} (l_orderkey, l_linenumber)",
}
SUMS = {"lineitem": "l_extendedprice", "orders": "o_totalprice", "partsupp": "ps_supplycost", "customer": "c_acctbal"}
"""Column of each table whose sum is compared; of other tables, the rows are only counted."""


@define
class PostgresToIceberg(CapturedPostgres):
    """A source database in PostgreSQL, and a target in a catalog and a warehouse of Iceberg in a folder."""

    folder: Path

    def __attrs_post_init__(self) -> None:
        super().__init__()

    @property
    def catalog(self) -> dict[str, str]:
        """Properties of the catalog."""
        return {
            "type": "sql",
            "uri": f"sqlite:///{self.folder}/catalog.db",
            "warehouse": f"file://{self.folder}/warehouse",
        }

    def sink_block(self, database: str, more: str = "") -> str:
        """Return the sink of a job; the database becomes the namespace."""
        properties = ", ".join(f'{name} = "{value}"' for name, value in self.catalog.items())
        return f"""
  Iceberg {{
    iceberg.catalog.config {{ {properties} }}
    namespace = "{database}", table = "${{table_name}}"
    {more}
  }}"""


def load(captured: PostgresToIceberg, scale: float) -> None:
    """Create and fill the tables of the source."""
    made = captured.folder / "made"
    subprocess.run(["tpchgen-cli", "csv", "-s", str(scale), f"--output-dir={made}"], check=True, capture_output=True)
    captured.recreate(SOURCE)
    captured.run(SOURCE, *(f"CREATE TABLE {table} ({columns})" for table, columns in TABLES.items()))
    with closing(captured.connect(SOURCE)) as connection, connection.cursor() as cursor:
        for table in TABLES:
            with (
                (made / f"{table}.csv").open("rb") as file,
                cursor.copy(f"COPY {table} FROM STDIN (FORMAT csv, HEADER)") as copy,
            ):
                while data := file.read(1 << 20):
                    copy.write(data)
    captured.run(SOURCE, "ANALYZE")
    shutil.rmtree(made)


def measure(captured: PostgresToIceberg, scale: float) -> str:
    """Copy the tables once; return the figures in a line."""
    load(captured, scale)
    job = CopyJob(
        folder=captured.folder,
        captured=captured,
        database=SOURCE,
        tables=tuple(TABLES),
        slot=SOURCE,
        source_options="startup.mode = snapshot-only, snapshot.split.size = 100000",
        interval_ms=10_000,
        target=SOURCE,
    )
    job.write()
    began = time.monotonic()
    engine = job.start()
    usage = Usage(engine.pid)
    try:
        assert engine.wait(PATIENCE_S) == 0, engine.output[-4000:]
        taken_s = time.monotonic() - began
    finally:
        usage.close()
        job.end()
    rows = compare(captured)
    worker_mib = usage.peak_mib("worker")
    return (
        f"scale {scale:g}: {rows:,} rows in {taken_s:.0f} s, processor time {usage.cpu_s:.0f} s (of the workers "
        f"{usage.cpu_of('worker'):.0f} s): {rows / usage.cpu_s:,.0f} rows per second and core; driver "
        f"{usage.peak_mib('driver'):.0f} MiB, JVM {usage.peak_mib('jvm'):.0f} MiB, largest worker {worker_mib:.0f} MiB"
    )


def compare(captured: PostgresToIceberg) -> int:
    """Return the number of rows of all tables, which must be equal in both systems, as must their sums."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyiceberg.catalog import load_catalog

    catalog: Any = load_catalog("default", **captured.catalog)
    total = 0
    for table in TABLES:
        column = SUMS.get(table)
        ((rows, amount),) = captured.run(
            SOURCE, f"SELECT count(*), {f'sum({column})' if column else 'NULL'} FROM {table}"
        )
        found = catalog.load_table((SOURCE, table)).scan(selected_fields=(column or "*",)).to_arrow()
        assert found.num_rows == rows, (table, found.num_rows, rows)
        assert column is None or pc.sum(found[column].cast(pa.decimal128(38, 2))).as_py() == amount, table
        total += rows
    return total


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cdc.peers.tpch", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="scale factor of TPC-H")
    scale = parser.parse_args(argv).scale
    with tempfile.TemporaryDirectory(prefix="tpch-") as folder:
        captured = PostgresToIceberg(Path(folder))
        try:
            print(measure(captured, scale), flush=True)
        finally:
            captured.release(SOURCE)
            captured.run("postgres", f"DROP DATABASE IF EXISTS {SOURCE} WITH (FORCE)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
