"""Columns that are found in files: numbers that no type of 64 bits holds, and files that lack a column."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.errors import RowError, SourceError
from tests.connectors.file.local_files import source

EMAIL = {"name": "email", "type": "string"}


def rows(path: Path, **options: Any) -> list[dict[str, Any]]:
    return read(source(path, **options))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["01067", "10115"], ["01067", "10115"]),
        (["12345678901234567890", "1"], ["12345678901234567890", "1"]),
        (["0.1234567890123456789", "2"], ["0.1234567890123456789", "2"]),
        (["1e400", "2"], ["1e400", "2"]),
        (["9223372036854775807", "0"], [2**63 - 1, 0]),
        (["-0.5", "0.1", "1.7976931348623157e308"], [-0.5, 0.1, 1.7976931348623157e308]),
        (["-007", ""], ["-007", None]),
        (["+41791234567", "+1"], ["+41791234567", "+1"]),
        (["+1.5", "-2"], [1.5, -2.0]),
        (["0000-01-01", "2024-01-01"], ["0000-01-01", "2024-01-01"]),
        (["123456789.12345678", "0"], [123456789.12345678, 0.0]),
        (["Nan", "inf", ""], ["Nan", "inf", None]),
        (["1.5", "inf"], [1.5, float("inf")]),
    ],
)
def test_a_number_that_would_be_another_stays_a_text(tmp_path: Path, written: list[str], expected: list[Any]) -> None:
    """``01067`` became 1067, 20 digits became 12345678901234567000, and a telephone a double, all without a word."""
    (tmp_path / "a.csv").write_text("zip;x\n" + "".join(f"{each};x\n" for each in written))
    found = rows(tmp_path, file_format_type="csv", csv_use_header_line=True, field_delimiter=";")
    assert [row["zip"] for row in found] == expected


def test_numbers_of_json_keep_their_digits(tmp_path: Path) -> None:
    lines = [
        '{"id": 18446744073709551616, "in": {"x": 0.1234567890123456789, "y": 1.5}, '
        '"all": [1.5, 12345678901234567890]}',
        '{"id": 1, "in": {"x": 1, "y": 2}, "all": []}',
    ]
    (tmp_path / "a.json").write_text("\n".join(lines))
    assert rows(tmp_path, file_format_type="json") == [
        {
            "id": "18446744073709551616",
            "in": {"x": "0.1234567890123456789", "y": 1.5},
            "all": ["1.5", "12345678901234567890"],
        },
        {"id": "1", "in": {"x": "1", "y": 2.0}, "all": []},
    ]


@pytest.fixture(params=["csv", "parquet", "json"])
def people(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Two years, of which the older one has no column ``email``."""
    older, newer = [{"id": 1, "name": "x"}], [{"id": 2, "name": "y", "email": "e"}]
    for year, some in ((2023, older), (2024, newer)):
        path = tmp_path / f"{year}.{request.param}"
        if request.param == "csv":
            path.write_text("\n".join(",".join(map(str, line)) for line in (some[0], some[0].values())) + "\n")
        elif request.param == "json":
            path.write_text("".join(json.dumps(row) + "\n" for row in some))
        else:
            pq.write_table(pa.Table.from_pylist(some), path)
    return {"path": tmp_path, "file_format_type": request.param, "csv_use_header_line": True}


def declared(**email: Any) -> dict[str, Any]:
    return {"columns": [{"name": "id", "type": "bigint"}, {"name": "name", "type": "string"}, {**EMAIL, **email}]}


def emails(options: dict[str, Any], **more: Any) -> list[str | None]:
    return [row["email"] for row in rows(**{**options, **more})]


def test_a_column_that_older_files_lack_is_null_when_the_job_says_so(people: dict[str, Any]) -> None:
    """There was no way to say it: ``defaultValue = null`` was none, and without a schema nothing could be said."""
    for more in ({}, {"schema": declared()}):
        assert emails(people, **more, missing_columns="NULL") == [None, "e"]
    assert emails(people, schema=declared(defaultValue=None)) == [None, "e"]
    assert emails(people, schema=declared(defaultValue="")) == ["", "e"]


def test_the_message_names_the_ways(people: dict[str, Any]) -> None:
    if people["file_format_type"] == "json":
        return  # a field that is not there is null
    with pytest.raises(
        SourceError, match=r"no column email; it has id, name\. .*missing_columns = NULL, or give the column a default"
    ):
        emails(people)


def test_a_column_that_must_not_be_null_is_never_lacking(people: dict[str, Any]) -> None:
    with pytest.raises((SourceError, RowError), match="email"):
        emails(people, schema=declared(nullable=False), missing_columns="NULL")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["2024-01-31", None], [dt.date(2024, 1, 31), None]),
        (["2024-01-31", "2024-01-31T10:00:00"], [dt.datetime(2024, 1, 31), dt.datetime(2024, 1, 31, 10)]),
        (["2024-01-31T10:00:00+02:00", "2024-01-31T10:00:00"], ["2024-01-31T10:00:00+02:00", "2024-01-31T10:00:00"]),
    ],
)
def test_days_of_json_are_days_and_moments_keep_their_zone(
    tmp_path: Path, written: list[str | None], expected: list[Any]
) -> None:
    """Days became moments at midnight, and a file with a zone was told as one without, and then refused."""
    (tmp_path / "a.json").write_text("".join(json.dumps({"at": each}) + "\n" for each in written))
    assert [row["at"] for row in rows(tmp_path, file_format_type="json")] == expected
