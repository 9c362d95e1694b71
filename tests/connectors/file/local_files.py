"""``LocalFile`` as the tests of its formats make it, rows of every type, and files with damaged bytes."""

import datetime as dt
import math
import random
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import xlsxwriter

from seatunnel_core.connector_api.testing import commit, options_of, read, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import SourceError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.types import arrow_type

TYPES = {
    "a_text": "string",
    "a_flag": "boolean",
    "tiny": "tinyint",
    "big": "bigint",
    "single": "float",
    "wide": "double",
    "exact": "decimal(30, 8)",
    "raw": "bytes",
    "day": "date",
    "clock": "time",
    "local": "timestamp",
    "moment": "timestamp_tz",
    "list": "array<int>",
    "pairs": "map<string, array<int>>",
    "inner": "{a = int, b = string}",
    "nothing": "null",
}


def a_row(chance: random.Random, *, signs: str, shortest: int = 0) -> dict[str, Any]:
    """A row of ``TYPES``, whose text has ``signs`` and at least the length ``shortest``."""
    moment = dt.datetime(1, 1, 1) + dt.timedelta(microseconds=chance.randrange(3 * 10**17))
    recent = dt.datetime(1900, 1, 1) + dt.timedelta(milliseconds=chance.randrange(10**13))
    number = chance.choice([chance.uniform(-1e9, 1e9), 0.1 + 0.2, 5e-324, 1.7976931348623157e308, math.inf, -0.5])
    return {
        "a_text": "".join(chance.choices(signs, k=chance.randrange(shortest, 12))),
        "a_flag": chance.random() < 0.5,
        "tiny": chance.randrange(-128, 128),
        "big": chance.choice([2**63 - 1, -(2**63), 0, 2**53, 2**53 + 1, chance.randrange(10**6)]),
        "single": float(pa.scalar(chance.uniform(-1, 1), pa.float32()).as_py()),
        "wide": number,
        "exact": Decimal(chance.choice(["12345678901234567890.12345678", "-0.10000000", "7.00000000", "1E-8"])),
        "raw": chance.randbytes(5),
        "day": chance.choice([moment.date(), recent.date()]),
        "clock": chance.choice([moment.time(), recent.time()]),
        "local": chance.choice([moment, recent]),
        "moment": moment.replace(tzinfo=dt.UTC),
        "list": [1, None],
        "pairs": [("a", [1]), ("b", None)],
        "inner": {"a": 1, "b": 'x"<y'},
        "nothing": None,
    }


def source(path: str | Path, **options: Any) -> LocalFileSource:
    return LocalFileSource(options_of(LocalFileSource, {"path": str(path), **options}))


def sink(path: str | Path, **options: Any) -> LocalFileSink:
    """A sink whose driver is ready for tasks."""
    made = LocalFileSink(options_of(LocalFileSink, {"path": str(path), **options}))
    made.prepare(sink_place(place()))
    return made


def write(path: str | Path, types: dict[str, str], rows: list[dict[str, Any]], **options: Any) -> None:
    """Write and publish the rows of one unit."""
    made = sink(path, **options)
    columns = pa.schema([(name, arrow_type(kind)) for name, kind in types.items()])
    schema = TableSchema(table="default", columns=columns)
    commit(made, [stage(made, schema, [pa.RecordBatch.from_pylist(rows, columns)], place())], place())


def sheet(file: Path | IO[bytes], *rows: Iterable[Any]) -> None:
    """Write an ``.xlsx`` file with these cells, by another library than ours."""
    book = xlsxwriter.Workbook(file)
    made = book.add_worksheet()
    for number, row in enumerate(rows):
        made.write_row(number, 0, row)
    book.close()


def damaged(whole: bytes, chance: random.Random, changes: int, *, index_bytes: int) -> bytes:
    """The bytes of a file with some of them changed, half of those in the index at its end."""
    found = bytearray(whole)
    for _ in range(changes):
        near_the_end = len(whole) - 1 - chance.randrange(index_bytes)
        found[chance.choice([chance.randrange(len(whole)), near_the_end])] = chance.randrange(256)
    return bytes(found)


def refusals(path: Path, contents: Iterable[bytes], **options: Any) -> list[str]:
    """What is said of a file with one content after the other, where it is refused."""
    found = []
    for content in contents:
        path.write_bytes(content)
        made = source(path, **options)
        try:
            read(made)
        except SourceError as error:
            found.append(str(error))
    return found
