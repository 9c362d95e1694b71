"""ORC files: stripes, types, and files that are not what they should be."""

import datetime as dt
import random
import sys
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pytest

from seatunnel_core.connector_api.testing import options_of, plan, read
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.file.formats.orc import child, process
from seatunnel_core.connectors.file.sink import LocalFileSink
from seatunnel_core.errors import RowError, SinkError, SourceError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.spark.failure import kind_of
from seatunnel_core.work.failure import FailureKind
from tests.connectors.file import local_files
from tests.connectors.file.local_files import TYPES, damaged, refusals

ROWS: list[dict[str, Any]] = [
    {
        "a_text": "n\u00e4me",
        "a_flag": True,
        "tiny": -128,
        "big": 2**63 - 1,
        "single": 1.5,
        "wide": 0.1 + 0.2,
        "exact": Decimal("12345678901234567890.12345678"),
        "raw": b"\0\xff",
        "day": dt.date(1, 1, 1),
        "clock": dt.time(23, 59, 59, 999999),
        "local": dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
        "moment": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        "list": [1, None],
        "pairs": [("a", [1]), ("b", None)],
        "inner": {"a": 1, "b": None},
        "nothing": None,
    },
    dict.fromkeys(TYPES),
]


source = partial(local_files.source, file_format_type="orc")
write = partial(local_files.write, file_format_type="orc")


@pytest.mark.parametrize("codec", ["none", "snappy", "zlib", "lz4", "zstd"])
def test_every_type_comes_back(tmp_path: Path, codec: str) -> None:
    write(tmp_path, TYPES, ROWS, compress_codec=codec)
    assert next(tmp_path.glob("*.orc")).stat().st_size
    assert read(source(tmp_path, schema={"fields": TYPES})) == ROWS


def test_without_a_schema_the_file_has_the_columns(tmp_path: Path) -> None:
    types = {"local": "timestamp", "clock": "time"}
    write(tmp_path, types, [{"local": dt.datetime(2020, 1, 1), "clock": dt.time(1, 2)}])
    found = plan(source(tmp_path))
    assert found.schemas[0].columns == pa.schema([("local", pa.timestamp("us")), ("clock", pa.string())])


@pytest.mark.parametrize("kind", ["float16_vector(2)", "binary_vector(8)", "decimal(50, 1)", "array<time>"])
def test_a_column_that_orc_cannot_hold_is_refused_before_data_moves(tmp_path: Path, kind: str) -> None:
    made = LocalFileSink(options_of(LocalFileSink, {"path": str(tmp_path), "file_format_type": "orc"}))
    columns = pa.schema([pa.field("c", arrow_type(kind))])
    with pytest.raises(SinkError, match=r"column 'c' of type .* cannot be written as orc; use parquet"):
        made.check_schema(TableSchema(table="default", columns=columns))


def test_a_file_that_is_not_orc_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.orc").write_bytes(b"id,name\n" * 100)
    with pytest.raises(SourceError, match=r"a\.orc is not an ORC file, or is damaged: ") as caught:
        plan(source(tmp_path))
    assert kind_of(caught.value) is FailureKind.DATA  # it was tried for minutes


def test_a_stripe_whose_bytes_are_lost_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.orc"
    with orc.ORCWriter(path, compression="zlib") as writer:
        writer.write(pa.table({"id": [number * number for number in range(10_000)]}))
    content = path.read_bytes()
    path.write_bytes(content[:1000] + b"\xff" * 500 + content[1500:])
    made = source(tmp_path)
    with pytest.raises(RowError, match=r"a\.orc, stripes \[0\]: "):
        read(made)


def test_a_value_that_does_not_fit_the_declared_type_is_named(tmp_path: Path) -> None:
    with orc.ORCWriter(tmp_path / "a.orc") as writer:
        writer.write(pa.table({"id": [1, 300]}))
    made = source(tmp_path, schema={"fields": {"id": "tinyint"}})
    with pytest.raises(
        RowError,
        match=r"a\.orc, stripe 0, row 2, column 'id': '300': the file has bigint, expected tinyint: Integer value",
    ):
        read(made)


def test_a_column_that_is_absent_is_named(tmp_path: Path) -> None:
    with orc.ORCWriter(tmp_path / "a.orc") as writer:
        writer.write(pa.table({"id": [1]}))
    made = source(tmp_path, schema={"fields": {"id": "int", "name": "string"}})
    with pytest.raises(SourceError, match=r"a\.orc has no column name; it has id"):
        read(made)


FAR = {
    "id": "int",
    "at": "timestamp",
    "moment": "timestamp_tz",
    "list": "array<{a = timestamp, b = date}>",
    "pairs": "map<string, timestamp>",
    "near": "timestamp",
}
LAST, FIRST = dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1, 1, 1)
FAR_ROWS = [
    {
        "id": number,
        "at": each,
        "moment": each.replace(tzinfo=dt.UTC),
        "list": [{"a": each, "b": each.date()}, None],
        "pairs": [("k", each)],
        "near": dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    }
    for number, each in enumerate((LAST, FIRST))
] + [dict.fromkeys(FAR)]


def test_moments_beyond_nanoseconds_of_64_bits_are_read(tmp_path: Path) -> None:
    """Arrow reads moments as nanoseconds since 1970, which end in the year 2262, so 9999-12-31 could not be read."""
    pytest.importorskip("pyorc")
    write(tmp_path, FAR, FAR_ROWS)
    assert read(source(tmp_path)) == FAR_ROWS
    assert [row["at"] for row in read(source(tmp_path, read_columns=["at", "id"]))] == [LAST, FIRST, None]


class Noting(Skipped):
    """A context that collects notes."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple[str, str, int]] = []

    def note(self, what: str, example: str, rows: int = 1) -> None:
        self.notes.append((what, example, rows))


def test_nanoseconds_are_cut_with_a_note(tmp_path: Path) -> None:
    """They were cut off without a word."""
    kind, nested = pa.timestamp("ns"), pa.list_(pa.timestamp("ns"))
    moments, lists = [1_000, None, 1_001, 2_002], [[1], [2_000], None, []]
    orc.write_table(pa.table({"at": pa.array(moments, kind), "list": pa.array(lists, nested)}), tmp_path / "a.orc")
    made, context = source(tmp_path), Noting()
    found = [row["at"] for row in read(made, context=context)]
    assert found == [
        dt.datetime(1970, 1, 1, microsecond=1),
        None,
        *(dt.datetime(1970, 1, 1, microsecond=n) for n in (1, 2)),
    ]
    path = tmp_path / "a.orc"
    assert context.notes == [
        ("have nanoseconds in the column 'at', which are truncated to microseconds", f"{path}, stripe 0, row 3", 2),
        ("have nanoseconds in the column 'list', which are truncated to microseconds", f"{path}, stripe 0, row 1", 1),
    ]


def test_without_the_other_library_they_are_errors_and_no_other_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, FAR, FAR_ROWS)
    monkeypatch.setitem(sys.modules, "pyorc", None)
    with open(next(tmp_path.glob("*.orc")), "rb") as file, pa.OSFile(file.name) as content:
        found = orc.ORCFile(content)
        with pytest.raises(ValueError, match=r"column 'at': ORC timestamp .*pip install '\.\[orc\]'"):
            child._stripe(found, file.fileno(), 0, ["id", "at"])


def test_damaged_files_are_errors_and_the_process_lives(tmp_path: Path) -> None:
    """One of these ended the library of Arrow 26 with a segmentation fault."""
    chance = random.Random(5)
    path = tmp_path / "a.orc"
    numbers = range(3000)
    columns = {
        "c": [chance.randrange(10**12) for _ in numbers],
        "s": [str(chance.random()) for _ in numbers],
        "l": [[number] for number in numbers],
    }
    with orc.ORCWriter(path) as writer:
        writer.write(pa.table(columns))
    whole = path.read_bytes()
    contents = (damaged(whole, chance, chance.choice([1, 3, 30]), index_bytes=400) for _ in range(20))
    refused = refusals(path, contents, file_format_type="orc")
    assert len(refused) > 5
    assert all("a.orc" in message for message in refused)


def test_a_library_that_ends_is_reported_and_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with orc.ORCWriter(tmp_path / "a.orc") as writer:
        writer.write(pa.table({"id": [1]}))
    process.hang_up()
    with monkeypatch.context() as broken:
        broken.setattr(process, "_PROGRAM", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
        with pytest.raises(
            SourceError, match=r"a\.orc is not .*: the process that reads the file ended with signal 11"
        ):
            plan(source(tmp_path))
    assert read(source(tmp_path)) == [{"id": 1}]
