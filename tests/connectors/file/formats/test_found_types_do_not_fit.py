"""Numbers behind the beginning in which types of columns are found, or in other files than the one that has them."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.file.formats import text_ranges
from seatunnel_core.errors import RowError
from tests.connectors.file.local_files import source

BEGINNING = 64


@pytest.fixture(autouse=True)
def _short_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_ranges, "INFERENCE_BYTES", BEGINNING)


def rows(path: Path, format: str, **options: Any) -> list[dict[str, Any]]:
    """The rows, by types that the beginning of each file suggests: of JSON this is what the job asks for."""
    if format == "json" and "schema" not in options:
        options = {"schema_sample": 20, **options}
    return read(source(path, file_format_type=format, csv_use_header_line=True, **options))


def lines(format: str, values: list[str]) -> str:
    if format == "csv":
        return "id,n\n" + "".join(f"{number},{value}\n" for number, value in enumerate(values))
    return "".join(f'{{"id": {number}, "n": {value}}}\n' for number, value in enumerate(values))


def later(format: str, first: str, last: str) -> str:
    return lines(format, [*[first] * 40, last])


@pytest.mark.parametrize(
    ("format", "first", "last", "kind"),
    [
        ("csv", "10115", "01067", "bigint"),
        ("csv", "10115", "-007", "bigint"),
        ("csv", "10115", " 007", "bigint"),
        ("csv", "10115", '"01067"', "bigint"),
        ("csv", "10115", "0x1F", "bigint"),
        ("csv", "1.5", "01067", "double"),
        ("csv", "1.5", "9007199254740993", "double"),
        ("csv", "1.5", "12345678901234567890", "double"),
        ("csv", "1.5", "0.1234567890123456789", "double"),
        ("csv", "1.5", "1e400", "double"),
        ("json", "1.5", "9007199254740993", "double"),
        ("json", "1.5", "12345678901234567890", "double"),
        ("json", "1.5", "0.1234567890123456789", "double"),
        ("json", "[1.5]", "[0.1234567890123456789]", "array<double>"),
        ("json", '{"a": 1.5}', '{"a": 9007199254740993}', "{a = double}"),
    ],
)
def test_a_number_that_would_be_another_is_refused_where_it_stands(
    tmp_path: Path, format: str, first: str, last: str, kind: str
) -> None:
    """Behind the first 16 MiB ``01067`` became 1067, and long numbers lost digits, without a word."""
    (tmp_path / "a").write_text(later(format, first, last))
    number = 42 if format == "csv" else 41
    with pytest.raises(
        RowError, match=rf"/a, line {number}, column 'n': .* is not an? {kind}.*type = string"
    ) as raised:
        rows(tmp_path, format)
    assert "Traceback" not in str(raised.value)
    fields = {"id": "bigint", "n": "string"}
    assert len(rows(tmp_path, format, schema={"fields": fields})) == 41


@pytest.mark.parametrize(
    ("format", "first", "last", "expected"),
    [
        ("csv", "1.5", "9007199254740992", 2.0**53),
        ("csv", "1.5", "0.12345678901234568", 0.12345678901234568),
        ("csv", "1.5", " 1.7976931348623157e308 ", 1.7976931348623157e308),
        ("csv", "1.5", "0.10000000000000000000", 0.1),
        ("csv", "1.5", "nan", None),
        ("csv", "7", " 8\t", 8),
        ("csv", "7", "-9223372036854775808", -(2**63)),
        ("csv", "7", "0", 0),
        ("csv", "7", '""', None),
        ("json", "1.5", "9007199254740992", 2.0**53),
        ("json", "1.5", "0.12345678901234568", 0.12345678901234568),
    ],
)
def test_other_numbers_stay(tmp_path: Path, format: str, first: str, last: str, expected: Any) -> None:
    (tmp_path / "a").write_text(later(format, first, last))
    found = rows(tmp_path, format)[-1]["n"]
    assert found == expected or (last == "nan" and found != found)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_files_of_whole_numbers_and_of_others_lose_no_digit(tmp_path: Path, format: str) -> None:
    """Together they were doubles, and 9007199254740993 of the one file became 9007199254740992."""
    (tmp_path / "a").write_text(lines(format, ["1.5"]))
    (tmp_path / "b").write_text(lines(format, ["7"]))
    assert [row["n"] for row in rows(tmp_path, format)] == [1.5, 7.0]
    (tmp_path / "b").write_text(lines(format, ["9007199254740993"]))
    if format == "json":
        assert [row["n"] for row in rows(tmp_path, format)] == ["1.5", "9007199254740993"]
        return
    with pytest.raises(RowError, match=r"/b, line \d, column 'n': '9007199254740993' is not a double"):
        rows(tmp_path, format)


def test_what_is_left_out_is_the_row_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(later("csv", "10115", "01067") + "99,5\n")
    made, skipped = source(tmp_path, file_format_type="csv", csv_use_header_line=True), Skipped(fail=False)
    assert [row["id"] for row in read(made, context=skipped)] == [*range(40), 99]


def test_parts_of_microseconds_are_reported_as_texts(tmp_path: Path) -> None:
    """They were told as timestamps, and then refused as such."""
    (tmp_path / "a").write_text(lines("csv", ["2024-01-01 00:00:00.123456789"]))
    assert rows(tmp_path, "csv")[0]["n"] == "2024-01-01 00:00:00.123456789"
