"""Types of Parquet and ORC files that the table has not: a value becomes the same one, or its row is refused."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.connectors.file.formats.casting import cast
from seatunnel_core.errors import RowError, SourceError
from seatunnel_core.rows.types import type_name
from tests.connectors.file.local_files import source, write

MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5, 678901)
DAY = dt.datetime(2024, 1, 2)
MONEY = Decimal("12345678901234567.89")


def values(path: Path, kind: str | None = None, format: str = "parquet") -> list[Any]:
    declared = {} if kind is None else {"schema": {"fields": {"v": kind}}}
    return [row["v"] for row in read(source(path, file_format_type=format, **declared))]


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (pa.array([1.5, 1e300]), "float"),
        (pa.array([1.5, 0.12345678901234568]), "float"),
        (pa.array([Decimal("1.25"), MONEY]), "double"),
        (pa.array([Decimal("1.25"), MONEY]), "float"),
        (pa.array([0.1, 0.125]), "decimal(5, 2)"),
        (pa.array([0.1, float("nan")]), "decimal(5, 2)"),
        (pa.array([0, 1], pa.timestamp("ns")), "time"),
        (pa.array([1, 5]), "boolean"),
        (pa.array([None, 5], pa.int64()), "timestamp"),
        (pa.array([None, 5], pa.int32()), "date"),
        (pa.array([None, MOMENT]), "bigint"),
        (pa.array([None, 5], pa.time64("ns")), "time"),
        (pa.array([{"a": [1.5]}, {"a": [1e300]}]), "{a = array<float>}"),
        (pa.array([[(1, 0.1)], [(1, 0.125)]], pa.map_(pa.int32(), pa.float64())), "map<int, decimal(5, 2)>"),
        (pa.array([1, 100_000]), "decimal(5, 0)"),
    ],
    ids=str,
)
def test_a_value_that_would_be_another_is_refused_at_its_row(tmp_path: Path, found: pa.Array, kind: str) -> None:
    """Arrow rounds floats and decimals, cuts moments off and counts them in microseconds, all without a word."""
    pq.write_table(pa.table({"v": found}), tmp_path / "a.parquet")
    with pytest.raises(RowError, match=r"a\.parquet, row 2, column 'v': .*: the file has .*, expected "):
        values(tmp_path, kind)


@pytest.mark.parametrize(
    ("found", "kind", "expected"),
    [
        (pa.array([0.1, None, float("inf")]), "float", [0.10000000149011612, None, float("inf")]),
        (pa.array([Decimal("1.25"), None]), "double", [1.25, None]),
        (pa.array([0.1, 1e15]), "decimal(38, 18)", [Decimal("0.1"), Decimal(10**15)]),
        (pa.array([DAY, MOMENT, None]), "date", [DAY.date(), DAY.date(), None]),
        (pa.array([DAY, MOMENT, None]), "time", [dt.time(), MOMENT.time(), None]),
        (pa.array([-1], pa.timestamp("ms")), "time", [dt.time(23, 59, 59, 999000)]),
        (pa.array([-1], pa.timestamp("ms")), "date", [dt.date(1969, 12, 31)]),
        (pa.array([MOMENT], pa.timestamp("us", "Asia/Tokyo")), "date", [MOMENT.date()]),
        (pa.array([MOMENT], pa.timestamp("us", "Asia/Tokyo")), "time", [MOMENT.time()]),
        (pa.array([[None], [MOMENT]]), "array<date>", [[None], [DAY.date()]]),
        (pa.array([{"a": MOMENT}]), "{a = time}", [{"a": MOMENT.time()}]),
        (pa.array([1, 0, None]), "boolean", [True, False, None]),
        (pa.array([5, None]), "decimal(5, 2)", [Decimal("5.00"), None]),
        (pa.array([7], pa.duration("s")), "bigint", [7]),
        (pa.array([{"b": 1.5, "a": 2}]), "{a = int, b = float, c = string}", [{"a": 2, "b": 1.5, "c": None}]),
    ],
    ids=str,
)
def test_a_value_that_stays_is_read(tmp_path: Path, found: pa.Array, kind: str, expected: list[Any]) -> None:
    """A whole number of a ``bigint`` was refused as a decimal of few digits.

    A timestamp that the job declares as a date or a time was refused, too; SeaTunnel takes the day, or the time of day.
    """
    pq.write_table(pa.table({"v": found}), tmp_path / "a.parquet")
    assert values(tmp_path, kind) == expected


def test_decimals_beside_doubles_of_another_file_lose_no_digit(tmp_path: Path) -> None:
    """The column of both files is a double, and the decimals were rounded to it."""
    pq.write_table(pa.table({"v": [0.5]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"v": [Decimal("1.25")]}), tmp_path / "b.parquet")
    assert values(tmp_path) == [0.5, 1.25]
    pq.write_table(pa.table({"v": [MONEY]}), tmp_path / "b.parquet")
    with pytest.raises(RowError, match=r"b\.parquet, row 1, column 'v': '12345678901234567\.89'"):
        values(tmp_path)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pa.array(["a", ""]).dictionary_encode(), ["a", ""]),
        (pa.array(["a"], pa.large_string()), ["a"]),
        (pa.array([b"ab"], pa.binary(2)), [b"ab"]),
        (pa.array([2**64 - 1], pa.uint64()), [Decimal(2**64 - 1)]),
        (pa.array([255], pa.uint8()), [255]),
        (pa.array([1.5], pa.float16()), [1.5]),
        (pa.array([Decimal("1.5")], pa.decimal64(10, 2)), [Decimal("1.50")]),
        (pa.array([3_600_000], pa.time32("ms")), [dt.time(1)]),
        (pa.array([[1, 2]], pa.list_(pa.int64(), 2)), [[1, 2]]),
        (pa.array([{"a": [b"ab"]}], pa.struct([("a", pa.large_list(pa.binary(2)))])), [{"a": [b"ab"]}]),
        (pa.array([bytes(16)], pa.uuid()), ["00000000-0000-0000-0000-000000000000"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("format", ["orc", "excel", "csv"])
def test_types_of_arrow_alone_reach_every_sink(
    tmp_path: Path, found: pa.Array, expected: list[Any], format: str
) -> None:
    """Bytes of one length and UUIDs ended in an ``AttributeError`` of the Excel sink; ORC named no column."""
    pq.write_table(pa.table({"v": found}), tmp_path / "a.parquet")
    made = source(tmp_path / "a.parquet", file_format_type="parquet")
    planned = plan(made)
    assert [row["v"] for row in read(made, planned)] == expected
    (column,) = planned.schemas[0].columns
    if format == "csv" and pa.types.is_nested(column.type):
        return  # tells no parts of parts apart from bytes
    kind = type_name(column.type)
    write(tmp_path / "out", {"v": kind}, read(made, planned), file_format_type=format)
    more = {"skip_header_row_number": 1} if format == "excel" else {}
    again = source(tmp_path / "out", file_format_type=format, schema={"fields": {"v": kind}}, **more)
    assert [row["v"] for row in read(again) if row["v"] != ""] == [each for each in expected if each != ""]


def test_spans_of_time_have_no_type(tmp_path: Path) -> None:
    """They became their number in csv, and an ``AttributeError`` in Excel."""
    pq.write_table(pa.table({"v": pa.array([7], pa.duration("us"))}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=r"column 'v' contains durations .* with the type bigint for this column"):
        values(tmp_path)


def test_a_day_is_cut_off_only_where_the_job_declares_it(tmp_path: Path) -> None:
    """The types of a table that are found in other files lose nothing."""
    with pytest.raises(ValueError, match="the value would change"):
        cast(pa.array([MOMENT]), pa.date32())
    with pytest.raises(ValueError, match="the value would change"):
        cast(pa.array([MOMENT], pa.timestamp("us", "UTC")), pa.time64("us"))
    assert cast(pa.array([DAY]), pa.date32()).to_pylist() == [DAY.date()]


def test_orc_is_cast_as_parquet_is(tmp_path: Path) -> None:
    orc.write_table(pa.table({"v": [MOMENT]}), tmp_path / "a.orc")
    assert values(tmp_path, "time", "orc") == [MOMENT.time()]
    assert values(tmp_path, "date", "orc") == [MOMENT.date()]
    orc.write_table(pa.table({"v": [1.5, 1e300]}), tmp_path / "a.orc")
    with pytest.raises(RowError, match=r"stripe 0, row 2, column 'v': '1e\+300'"):
        values(tmp_path, "float", "orc")
