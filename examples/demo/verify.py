"""Compare the demo's Parquet files with its CSV files, row by row as multisets, without the engine's code.

The CSV side is read with Python's own csv module, the Parquet side with pyarrow; missing, duplicated and changed rows
are shown. Usage: ``python examples/demo/verify.py [TABLES_FOLDER PARQUET_FOLDER]``. If Python lacks pyarrow, the Python
of ``make demo`` is used instead.
"""

import csv
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

try:
    import pyarrow as pa
    import pyarrow.parquet
except ModuleNotFoundError:
    own = Path(__file__).resolve().parents[2] / ".venv" / "bin" / "python"
    if Path(sys.executable) == own or not own.exists():
        sys.exit("This Python has no pyarrow. Run `make demo` first, which sets one up that has it.")
    os.execv(own, [str(own), *sys.argv])

ROWS = {"airlines": 16, "airports": 1_458, "planes": 3_322, "weather": 26_115, "flights": 336_776}
NULL = "NA"


def main(tables: Path, parquet: Path) -> int:
    """Return 0 if every table contains exactly the rows of its CSV file, otherwise 1."""
    wrong = [table for table, rows in ROWS.items() if not _equal(table, rows, tables, parquet)]
    left = sorted(str(path) for path in parquet.rglob("*") if path.is_file() and ".seatunnel" in path.parts)
    for path in left:
        print(f"  staged file left behind: {path}")
    print("Every row is there once." if not wrong and not left else "The output is NOT what it should be.")
    return 1 if wrong or left else 0


def _equal(table: str, expected_rows: int, tables: Path, parquet: Path) -> bool:
    files = sorted(path for path in (parquet / table).glob("**/*.parquet") if ".seatunnel" not in path.parts)
    if not files:
        print(f"  {table}: no Parquet file under {parquet / table}")
        return False
    found = pa.concat_tables([pa.parquet.read_table(file, partitioning=None) for file in files])
    sink = Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))
    source = Counter(_source_rows(tables / f"{table}.csv", found.schema))
    missing, extra = source - sink, sink - source
    sound = not missing and not extra and sink.total() == expected_rows
    print(f"  {table}: {sink.total():,} rows in {len(files)} files, {'equal' if sound else 'NOT EQUAL'}")
    for word, rows in (("missing", missing), ("too many", extra)):
        for row, times in list(rows.items())[:3]:
            print(f"    {word} ({times}x): {row}")
    return sound


def _source_rows(path: Path, schema: pa.Schema) -> Iterator[tuple[Any, ...]]:
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = next(reader)
        if header != schema.names:
            sys.exit(f"{path} has the columns {header}, the Parquet files have {schema.names}")
        columns = [
            [None if text == NULL else convert(text) for text in texts]
            for texts, convert in zip(zip(*reader, strict=True), map(_converter, schema.types), strict=True)
        ]
    return zip(*columns, strict=True)


def _converter(kind: pa.DataType) -> Callable[[str], Any]:
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_floating(kind):
        return float
    if pa.types.is_timestamp(kind):
        return _moments().__getitem__
    return str


def _moments() -> "dict[str, datetime]":
    class Moments(dict[str, datetime]):
        """Timestamps by text, each parsed once: 336,776 flights have fewer than 7,000 different hours."""

        def __missing__(self, text: str) -> datetime:
            self[text] = datetime.fromisoformat(text)
            return self[text]

    return Moments()


if __name__ == "__main__":
    places = [Path(argument) for argument in sys.argv[1:]] or [Path("demo-output/tables"), Path("demo-output/parquet")]
    sys.exit(main(*places))
