"""The data that is measured with: generated once, kept in a folder that git ignores."""

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

LINEITEM: Mapping[str, str] = {
    "l_orderkey": "bigint",
    "l_partkey": "bigint",
    "l_suppkey": "bigint",
    "l_linenumber": "int",
    "l_quantity": "decimal(15,2)",
    "l_extendedprice": "decimal(15,2)",
    "l_discount": "decimal(15,2)",
    "l_tax": "decimal(15,2)",
    "l_returnflag": "string",
    "l_linestatus": "string",
    "l_shipdate": "date",
    "l_commitdate": "date",
    "l_receiptdate": "date",
    "l_shipinstruct": "string",
    "l_shipmode": "string",
    "l_comment": "string",
}
"""The columns of TPC-H's largest table, in names that SeaTunnel and Spark SQL both know; comments are quoted."""

_ARROW = {"bigint": "int64", "int": "int32", "string": "string", "date": "date32[day]"}


def arrow_schema() -> "pa.Schema":
    """Those columns for pyarrow, which is imported here, because what only counts rows needs none."""
    import pyarrow as pa

    plain = {name: getattr(pa, _ARROW[kind].partition("[")[0])() for name, kind in LINEITEM.items() if kind in _ARROW}
    return pa.schema([(name, plain.get(name, pa.decimal128(15, 2))) for name in LINEITEM])


LINEITEM_ROWS = 2_999_671
"""At scale factor 0.5: 380 MB of CSV."""

LINEITEM_PARQUET_BYTES = 113_000_000
"""About what it has as Parquet, packed with snappy."""

_SCALE = "0.5"


def lineitem(folder: Path, *, files: int, scale: str = _SCALE) -> Path:
    """A folder that holds the table as so many CSV files, each with a header; made if it is not there."""
    found = folder / (f"lineitem-{files}" if scale == _SCALE else f"lineitem-{files}-of-{scale}")
    if found.exists():
        return found
    draft = folder / f"draft-{os.getpid()}"
    parts = ["--parts", str(files)] if files > 1 else []
    command = [_generator(), "csv", "-s", scale, "--tables", "lineitem", "--output-dir", str(draft), *parts]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (draft / "lineitem" if parts else draft).rename(found)
    shutil.rmtree(draft, ignore_errors=True)
    return found


def lineitem_times(folder: Path, times: int) -> Path:
    """The table in eight files, and all of them so many times, as links."""
    eight = lineitem(folder, files=8)
    found = folder / f"lineitem-8x{times}"
    if not found.exists():
        draft = folder / f"draft-{os.getpid()}"
        draft.mkdir()
        for file in eight.iterdir():
            for copy in range(times):
                os.link(file, draft / f"{copy}-{file.name}")
        draft.rename(found)
    return found


def lineitem_in_pieces(folder: Path, files: int) -> Path:
    """The table in as many files as wanted, however small, each with a header; some have a line more than others."""
    found = folder / f"lineitem-{files}"
    if not found.exists():
        draft = folder / f"draft-{os.getpid()}"
        draft.mkdir()
        (whole,) = lineitem(folder, files=1).iterdir()
        with whole.open("rb") as lines:
            header = next(lines)
            for number in range(files):
                rows = LINEITEM_ROWS * (number + 1) // files - LINEITEM_ROWS * number // files
                (draft / f"{number:06d}.csv").write_bytes(header + b"".join(itertools.islice(lines, rows)))
        draft.rename(found)
    return found


def lineitem_parquet(folder: Path) -> Path:
    """The table in eight Parquet files."""
    found = folder / "lineitem-parquet-8"
    if not found.exists():
        from tests.bench import peers

        draft = folder / f"draft-{os.getpid()}"
        draft.mkdir()
        peers.floor(draft, lineitem(folder, files=8), 8 << 20)
        (draft / "out").rename(found)
        shutil.rmtree(draft)
    return found


def small_tables(folder: Path, *, tables: int, rows: int) -> Path:
    """A folder with so many CSV files of a few columns: ``0.csv``, ``1.csv`` and so on."""
    found = folder / f"small-{tables}x{rows}"
    if not found.exists():
        draft = folder / f"draft-{os.getpid()}"
        draft.mkdir()
        for number in range(tables):
            lines = (f"{row},row {row} of {number},{row * 1.5}\n" for row in range(rows))
            (draft / f"{number}.csv").write_text("id,name,value\n" + "".join(lines))
        draft.rename(found)
    return found


def _generator() -> str:
    beside = Path(sys.executable).with_name("tpchgen-cli")
    found = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if found is None:
        sys.exit("tpchgen-cli is not installed: pip install tpchgen-cli, or `make bench`, which does it")
    return found
