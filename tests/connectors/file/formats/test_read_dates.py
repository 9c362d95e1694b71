"""The forms in which files have dates and timestamps."""

import json
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import SourceError
from tests.connectors.file.local_files import source


def rows(made: LocalFileSource) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in read(made)]


def test_formats_of_dates(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("2013/01/02|20130102030405\n2013/12/31|2013-12-31 00:00:00.25\n")
    made = source(
        tmp_path,
        file_format_type="csv",
        schema={"fields": {"day": "date", "at": "timestamp"}},
        field_delimiter="|",
        date_format="yyyy/MM/dd",
        datetime_format="yyyyMMddHHmmss",
    )
    assert [tuple(map(str, row)) for row in rows(made)] == [
        ("2013-01-02", "2013-01-02 03:04:05"),
        ("2013-12-31", "2013-12-31 00:00:00.250000"),
    ]


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("yyyy/M/d HH:mm", ["2024/5/1 09:05", "2024/12/31 23:59"]),
        ("yyyy-M-d H:mm:ss", ["2024-5-1 9:05:00", "2024-12-31 23:59:00"]),
        ("yyyy-MM-dd HH:mm:ss.SSS", ["2024-05-01 09:05:00.000", "2024-12-31 23:59:00"]),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSSSS", ["2024-05-01T09:05:00.000000", "2024-12-31T23:59:00"]),
    ],
)
@pytest.mark.parametrize("format", ["csv", "json"])
def test_formats_with_one_digit_or_parts_of_a_second(tmp_path: Path, form: str, texts: list[str], format: str) -> None:
    """They were refused, though SeaTunnel has them."""
    lines = [json.dumps({"at": text}) if format == "json" else text for text in texts]
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")
    made = source(tmp_path, schema={"fields": {"at": "timestamp"}}, file_format_type=format, datetime_format=form)
    assert [str(row[0]) for row in rows(made)] == ["2024-05-01 09:05:00", "2024-12-31 23:59:00"]


def test_no_other_form_stands_in_for_the_one_that_is_written(tmp_path: Path) -> None:
    """``20240506`` with ``yyyyddMM`` was the 6th of May, without a word; ISO 8601 with its signs is always read."""
    (tmp_path / "a.json").write_text('{"a": "20240506"}\n{"a": "2024-05-06"}\n')
    given = {"schema": {"fields": {"a": "date"}}, "file_format_type": "json", "date_format": "yyyyddMM"}
    assert [str(row[0]) for row in rows(source(tmp_path, **given))] == ["2024-06-05", "2024-05-06"]
    (tmp_path / "a.json").write_text('{"a": "20240513"}\n')
    with pytest.raises(SourceError, match="'20240513' is not of type date, in the format yyyyddMM"):
        rows(source(tmp_path, **given))


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_form_that_looks_like_iso_8601_is_refused(tmp_path: Path, format: str) -> None:
    """``2024-06-05`` was the 5th of June with ``yyyy-dd-MM``, too."""
    (tmp_path / "a.txt").write_text("2024-06-05\n" if format == "csv" else '{"a": "2024-06-05"}\n')
    given = {"schema": {"fields": {"a": "date"}}, "file_format_type": format, "date_format": "yyyy-dd-MM"}
    with pytest.raises(SourceError, match="'yyyy-dd-MM' cannot be distinguished from ISO 8601"):
        rows(source(tmp_path, **given))
