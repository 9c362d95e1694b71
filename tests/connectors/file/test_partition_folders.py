"""What a sink writes into folders named after values, a source reads back equal."""

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.connectors.filesystems.partition_folders import folder_value, partitions
from seatunnel_core.connectors.staging.naming import folders
from seatunnel_core.errors import RowError, SinkError
from seatunnel_core.rows.values import converter
from tests.connectors.file.local_files import source, write

MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 999999)
VALUES: dict[str, list[Any]] = {
    "string": [
        *("eu", "", None, "_na", ".eu", "..", "a/b", "a=b", "100%", "%2F", "%", "ä ö", "x\ny", "\x01", " ", "null"),
        *(
            "__HIVE_DEFAULT_PARTITION__",
            "__hive_default_partition__",
            ".seatunnel",
            "_temporary",
            "C:\\x",
            "*",
            "{b,c}",
        ),
    ],
    "boolean": [True, False, None],
    "tinyint": [-128, 127, None],
    "bigint": [-(2**63), 2**63 - 1],
    "float": [1.5, 1.1754943508222875e-38, float("inf"), None],
    "double": [0.1, -0.0, 1e300, 5e-324, float("-inf")],
    "decimal(38, 10)": [Decimal("1E-10"), Decimal("-9999999999999999999999999999.9999999999"), Decimal(0)],
    "bytes": [b"ab", b"\xff\x00/", b"", None],
    "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31), None],
    "time": [dt.time(0, 0), dt.time(23, 59, 59, 999999), None],
    "timestamp": [dt.datetime(1, 1, 1), MOMENT, None],
    "timestamp_tz": [MOMENT.replace(tzinfo=dt.UTC), None],
}


@pytest.mark.parametrize("in_file", [False, True])
@pytest.mark.parametrize("expression", [None, "${v0}"])
@pytest.mark.parametrize("kind", VALUES)
def test_values_come_back_as_they_were(tmp_path: Path, kind: str, expression: str | None, in_file: bool) -> None:
    """Null came back as the text ``__HIVE_DEFAULT_PARTITION__``, folders of values that begin with ``_`` were not read,
    and a partition column of the schema was null, or an error, where only the folder has it."""
    rows = [{"id": number, "part": value} for number, value in enumerate(VALUES[kind])]
    pattern = {"partition_dir_expression": expression} if expression else {}
    types = {"id": "int", "part": kind}
    options = {"partition_by": ["part"], "is_partition_field_write_in_file": in_file, **pattern}
    write(tmp_path, types, rows, file_format_type="json", **options)
    told_by_folder = expression is None
    columns = types if in_file or told_by_folder else {"id": "int"}
    made = source(tmp_path, file_format_type="json", schema={"fields": columns})
    found = sorted(read(made), key=lambda row: row["id"])
    assert found == [{name: row[name] for name in columns} for row in rows]
    if kind == "double" and "part" in columns:
        assert math.copysign(1, found[1]["part"]) == -1


def test_without_a_schema_a_value_is_the_text_in_the_name(tmp_path: Path) -> None:
    rows = [{"id": number, "part": value} for number, value in enumerate(VALUES["string"])]
    write(tmp_path, {"id": "bigint", "part": "string"}, rows, file_format_type="parquet", partition_by=["part"])
    assert sorted(map(repr, read(source(tmp_path, file_format_type="parquet")))) == sorted(map(repr, rows))


def test_the_columns_of_csv_without_a_header_may_end_with_those_of_folders(tmp_path: Path) -> None:
    rows = [{"id": 1, "name": "a", "day": dt.date(2024, 1, 31)}, {"id": 2, "name": "b", "day": None}]
    types = {"id": "int", "name": "string", "day": "date"}
    write(tmp_path, types, rows, file_format_type="csv", partition_by=["day"], enable_header_write=True)
    made = source(tmp_path, file_format_type="csv", csv_use_header_line=True, schema={"fields": types})
    assert sorted(read(made), key=lambda row: row["id"]) == rows


def test_a_folder_with_another_value_than_its_column_has_is_named(tmp_path: Path) -> None:
    (tmp_path / "year=many").mkdir()
    (tmp_path / "year=many" / "a.json").write_text('{"id": 1}\n')
    made = source(tmp_path, file_format_type="json", schema={"fields": {"id": "int", "year": "int"}})
    with pytest.raises(RowError, match=r"a\.json, column 'year': partition folder: 'many' is not of type int"):
        read(made)


def test_a_list_names_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match="column 'part' has the type array<int>, which cannot be used in a folder name"):
        write(tmp_path, {"part": "array<int>"}, [{"part": [1]}], file_format_type="json", partition_by=["part"])


def test_what_other_programs_write() -> None:
    assert partitions("/in/year=2013/city=New%20York/a.csv") == {"year": "2013", "city": "New York"}
    assert partitions("/in/rate=100%/b=%FF/_c=x=y/a=b.csv") == {"rate": "100%", "b": "%FF", "_c": "x=y"}
    assert partitions("/in/a%3Db=1/x") == {"a=b": "1"}


def test_a_name_that_hadoop_would_hide_is_escaped_where_a_name_begins() -> None:
    assert [folder_value("_na", begins=begins) for begins in (True, False)] == ["%5Fna", "_na"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_folders_of_moments_keep_the_seconds_of_historic_offsets(unit: str) -> None:
    """Berlin was 53 minutes and 28 seconds ahead until 1893, and the folder's name had 53 minutes."""
    moments = [dt.datetime(1883, 11, 18, 12, 3, 57, tzinfo=dt.UTC), None, dt.datetime(2024, 7, 1, tzinfo=dt.UTC)]
    batch = pa.RecordBatch.from_arrays([pa.array(moments, pa.timestamp(unit, "Europe/Berlin"))], names=["v"])
    named = [name.removeprefix("v=").replace("%3A", ":") for name in folders(batch, ["v"], "${k0}=${v0}").to_pylist()]
    digits = {"s": "", "ms": ".000", "us": ".000000", "ns": ".000000000"}[unit]
    assert named == [
        f"1883-11-18 12:03:57{digits}Z",
        "__HIVE_DEFAULT_PARTITION__",
        f"2024-07-01 02:00:00{digits}+0200",
    ]
    read = converter(pa.timestamp("us", "UTC"))
    assert [read(named[0]), read(named[2])] == [moments[0], moments[2]]
