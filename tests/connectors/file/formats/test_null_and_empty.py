"""Null and the empty text are two values, and a row of nulls is a row."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.errors import RowError, UsageError
from tests.connectors.file.local_files import sheet, sink, source, write

ROWS: list[dict[str, Any]] = [
    {"a": "", "n": 1},
    {"a": None, "n": 2},
    {"a": "x", "n": None},
    {"a": "", "n": None},
    {"a": None, "n": None},
]
TYPES = {"a": "string", "n": "int"}


def again(path: Path, format: str, types: dict[str, str] = TYPES, **options: Any) -> list[dict[str, Any]]:
    if format == "excel":
        options["skip_header_row_number"] = 1
    if format == "xml":
        options["xml_row_tag"] = "RECORD"
    return read(source(path, file_format_type=format, schema={"fields": types}, **options))


@pytest.mark.parametrize("format", ["csv", "json", "excel", "xml", "parquet", "orc"])
def test_they_stay_two(tmp_path: Path, format: str) -> None:
    """In Excel the empty text came back as null, and a row of nulls was lost without a word."""
    write(tmp_path, TYPES, ROWS, file_format_type=format)
    assert again(tmp_path, format) == ROWS


@pytest.mark.parametrize("format", ["csv", "text"])
def test_they_stay_two_where_null_is_said(tmp_path: Path, format: str) -> None:
    """In ``text`` null and the empty text are both nothing: there was no way to tell them apart."""
    write(tmp_path, TYPES, ROWS, file_format_type=format, null_format="\\N")
    assert again(tmp_path, format, null_format="\\N", empty_value="TEXT") == ROWS


@pytest.mark.parametrize("format", ["csv", "text"])
def test_so_do_those_of_a_single_column(tmp_path: Path, format: str) -> None:
    """In csv null came back as the empty text; in text it was an empty line, which is no row when it is read."""
    some: list[dict[str, Any]] = [{"a": ""}] * (format == "csv") + [{"a": None}, {"a": "x"}]
    write(tmp_path, {"a": "string"}, some, file_format_type=format, null_format="\\N")
    assert again(tmp_path, format, {"a": "string"}, null_format="\\N", empty_value="TEXT") == some


def test_text_is_as_with_seatunnel_when_nothing_is_said(tmp_path: Path) -> None:
    write(tmp_path, TYPES, ROWS, file_format_type="text")
    assert [row["a"] for row in again(tmp_path, "text")] == [None, None, "x", None, None]


@pytest.mark.parametrize("format", ["csv", "text"])
def test_a_value_that_is_written_as_null_is_refused(tmp_path: Path, format: str) -> None:
    with pytest.raises(RowError, match=r"column 'n': the value '7' would be read as null"):
        write(tmp_path, TYPES, [{"a": "x", "n": 7}], file_format_type=format, null_format="7")


def test_a_text_that_looks_like_null_stays_in_quotes(tmp_path: Path) -> None:
    write(tmp_path, TYPES, [{"a": "NULL", "n": 1}], file_format_type="csv", null_format="NULL")
    assert again(tmp_path, "csv", null_format="NULL") == [{"a": "NULL", "n": 1}]


def test_null_format_is_no_part_of_the_format(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="option 'null_format'"):
        sink(tmp_path, file_format_type="csv", null_format="a,b")


def test_a_row_of_nulls_that_no_sheet_holds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RowError, match=r"column 'a': a row of nulls has no cells"):
        write(tmp_path, {"a": "string", "b": "string"}, [{"a": None, "b": None}], file_format_type="excel")


def test_rows_of_a_sheet_without_a_cell_are_left_out(tmp_path: Path) -> None:
    sheet(tmp_path / "a.xlsx", ["a", "n"], ["x", 1], [None, None], ["", 2])
    assert again(tmp_path, "excel") == [{"a": "x", "n": 1}, {"a": None, "n": 2}]
