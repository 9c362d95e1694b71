"""The rows of the sink do not depend on how the work is cut: parallelism, split size, unit packing, Spark path.

Random tables with quotes, newlines inside values, nulls, decimals and timestamps with and without zone go through the
whole engine, on one Spark session that belongs to the test, and come back with Python's own csv module as the oracle.
"""

import itertools
import os
import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen

import seatunnel_core as st
from tests.runtime.command import engine_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("same-rows"), pytest.mark.usefixtures("one_spark_for_all")]

FIELDS = {
    "id": "bigint",
    "word": "string",
    "price": "decimal(12,3)",
    "local": "timestamp",
    "moment": "timestamp_tz",
    "share": "double",
}
ALPHABET = 'ab ,;"\n\r\tñ漢\U0001f600'
PARALLELISMS = (1, 2, 8)
SPLIT_SIZES = (97, 1500, 10**9)
PACKINGS = ("ALL", "OFF", "PART")

DRAWN = int(os.environ.get("SEATUNNEL_EXAMPLES", "0")) // 500
"""So many more tables, each cut in a way that is drawn."""


@frozen(kw_only=True)
class Shape:
    """One way to cut the work."""

    parallelism: int
    split_size: int
    packing: str
    on_frames: bool
    """Whether the rows go through a DataFrame of Spark, or past it through Arrow only."""


def every_pair() -> list[Shape]:
    """A Latin square: each two of parallelism, split size and packing meet once, on one path or the other."""
    return [
        Shape(
            parallelism=PARALLELISMS[row],
            split_size=SPLIT_SIZES[column],
            packing=PACKINGS[(row + column) % 3],
            on_frames=(row + 2 * column) % 3 == 0,
        )
        for row, column in itertools.product(range(3), repeat=2)
    ]


def drawn(seed: int) -> Shape:
    chance = random.Random(f"shape {seed}")
    return Shape(
        parallelism=chance.choice((*PARALLELISMS, chance.randint(1, 12))),
        split_size=chance.choice((*SPLIT_SIZES, chance.randint(80, 4000))),
        packing=chance.choice(PACKINGS),
        on_frames=chance.random() < 0.5,
    )


def a_table(seed: int, rows: int) -> list[tuple[Any, ...]]:
    chance = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.15 else value

    start_of_time = datetime(1999, 12, 31, 23, 59, 58)
    return [
        (
            number,
            maybe("".join(chance.choices(ALPHABET, k=chance.randrange(12)))),
            maybe(Decimal(chance.randrange(-(10**11), 10**11)).scaleb(-3)),
            maybe(start_of_time + timedelta(microseconds=chance.randrange(10**15))),
            maybe((start_of_time + timedelta(seconds=chance.randrange(10**9))).replace(tzinfo=UTC)),
            maybe(chance.uniform(-1e9, 1e9)),
        )
        for number in range(rows)
    ]


def as_csv(rows: list[tuple[Any, ...]], line_end: str) -> str:
    def text(value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return '"' + value.replace('"', '""') + '"'
        return value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)

    return "".join(",".join(map(text, row)) + line_end for row in [tuple(FIELDS), *rows])


def unchanged(frame: "DataFrame") -> "DataFrame":
    return frame


def moved(folder: Path, shape: Shape) -> "Counter[Any]":
    """The rows that the sink has in the end."""
    engine = engine_file(folder, more=f"task_execution_thread_share_mode: {shape.packing}")
    name = f"{shape.parallelism}-{shape.split_size}-{shape.packing}-{shape.on_frames}"
    job = st.Job(name, {"parallelism": shape.parallelism})
    rows = job.source(
        "LocalFile",
        path=str(folder / "in"),
        file_format_type="csv",
        csv_use_header_line=True,
        split_size=shape.split_size,
        schema={"fields": FIELDS},
    )
    if shape.on_frames:
        rows = rows.map_frame(unchanged)
    rows.sink("LocalFile", path=str(folder / name), file_format_type="parquet")
    job.run(engine_config=engine)
    files = sorted((folder / name).rglob("*.parquet"))
    tables = [pq.read_table(file, partitioning=None) for file in files]
    assert {table.schema.remove_metadata() for table in tables} <= {COLUMNS}
    return Counter(row for table in tables for row in zip(*table.to_pydict().values(), strict=True))


COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("word", pa.string()),
        ("price", pa.decimal128(12, 3)),
        ("local", pa.timestamp("us")),
        ("moment", pa.timestamp("us", tz="UTC")),
        ("share", pa.float64()),
    ]
)


def a_written_table(folder: Path, seed: int) -> "Counter[Any]":
    """Four files of random rows, and what lies in them."""
    (folder / "in").mkdir()
    written: list[tuple[Any, ...]] = []
    for file, size in enumerate((120, 0, 1, 60)):
        rows = a_table(100 * seed + file, size)
        written += rows
        with (folder / "in" / f"{file}.csv").open("w", newline="", encoding="utf-8") as out:
            out.write(as_csv(rows, "\r\n" if file == 1 else "\n"))
    return Counter(written)


def check(folder: Path, expected: "Counter[Any]", shape: Shape) -> None:
    found = moved(folder, shape)
    assert found == expected, f"{shape}: missing {expected - found}, extra {found - expected}"


@pytest.mark.torture
def test_same_rows_and_types_however_the_work_is_cut(tmp_path: Path) -> None:
    """Every parallelism, on both paths, with every split size and packing."""
    expected = a_written_table(tmp_path, 0)
    shapes = every_pair()
    for one, other in itertools.combinations(("parallelism", "split_size", "packing"), 2):
        assert len({(getattr(shape, one), getattr(shape, other)) for shape in shapes}) == 9
    for factor in ("parallelism", "split_size", "packing"):
        assert len({(getattr(shape, factor), shape.on_frames) for shape in shapes}) == 6
    for shape in shapes:
        check(tmp_path, expected, shape)


@pytest.mark.fuzz
@pytest.mark.torture
@pytest.mark.parametrize("seed", range(1, 2 + DRAWN))
def test_same_rows_and_types_in_a_drawn_shape(tmp_path: Path, seed: int) -> None:
    """`make fuzz` draws many. `make test` cuts the work within one task: ``tests/spark/test_task.py``."""
    check(tmp_path, a_written_table(tmp_path, seed), drawn(seed))
