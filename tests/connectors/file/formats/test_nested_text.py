"""Arrays, maps and rows in ``text`` and ``csv``: as SeaTunnel writes them, between control characters."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import Skipped, plan, read
from seatunnel_core.errors import RowError, SinkError, SourceError
from tests.connectors.file import local_files

FORMATS = pytest.mark.parametrize("format", ["text", "csv"])
TYPES = {
    "id": "int",
    "names": "array<string>",
    "prices": "map<string, decimal(5, 2)>",
    "person": "{name = string, born = date, marks = array<tinyint>}",
    "deep": "map<int, array<boolean>>",
    "times": "array<timestamp>",
}
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "names": ["a,b", 'say "x"', None],
        "prices": [("a", Decimal("1.50")), ("b", None)],
        "person": {"name": "Joy", "born": dt.date(2000, 1, 2), "marks": [1, None]},
        "deep": [(7, [True, False]), (8, None)],
        "times": [dt.datetime(2020, 1, 2, 3, 4, 5, 6)],
    },
    {"id": 2, "names": ["only"], "prices": None, "person": {"name": "x", "born": None, "marks": None}}
    | dict.fromkeys(("deep", "times")),
]


def back(path: Path, format: str, types: dict[str, str] = TYPES, skipped: Skipped | None = None, **options: Any) -> Any:
    made = local_files.source(path, schema={"fields": types}, file_format_type=format, **options)
    found = plan(made)
    return read(made, found, found.splits, skipped)


@FORMATS
def test_what_is_written_comes_back(format: str, tmp_path: Path) -> None:
    local_files.write(tmp_path, TYPES, ROWS, file_format_type=format)
    assert back(tmp_path, format) == ROWS
    assert back(tmp_path, format, read_columns=["deep"]) == [{"deep": row["deep"]} for row in ROWS]


def test_the_separators_are_those_of_seatunnel(tmp_path: Path) -> None:
    local_files.write(tmp_path, TYPES, ROWS[:1], file_format_type="text")
    (file,) = (each for each in tmp_path.iterdir() if each.is_file())
    assert file.read_text().rstrip("\n").split("\x01") == [
        "1",
        'a,b\x02say "x"\x02',
        "a\x031.50\x02b\x03",
        "Joy\x022000-01-02\x021\x03",
        "7\x03true\x04false\x028\x03",
        "2020-01-02 03:04:05.000006",
    ]


@FORMATS
def test_dates_inside_have_the_form_of_those_outside(format: str, tmp_path: Path) -> None:
    types = {"days": "array<date>", "times": "array<timestamp>", "clocks": "array<time>"}
    forms = {"date_format": "dd.MM.yyyy", "datetime_format": "yyyyMMddHHmmss"}
    row = {"days": [dt.date(2020, 2, 1)], "times": [dt.datetime(2020, 1, 2, 3)], "clocks": [dt.time(1, 2)]}
    local_files.write(tmp_path, types, [row], file_format_type=format, time_format="HH:mm:ss", **forms)
    (file,) = (each for each in tmp_path.iterdir() if each.is_file())
    assert [text.strip('"') for text in file.read_text().strip().split("\x01" if format == "text" else ",")] == [
        "01.02.2020",
        "20200102030000",
        "01:02:00",
    ]
    assert back(tmp_path, format, types, **forms) == [row]  # type: ignore[arg-type]


@FORMATS
def test_what_has_no_characters_is_null(format: str, tmp_path: Path) -> None:
    """No text can tell an empty array from null, nor an empty text in one."""
    types = {"id": "int", "v": "array<string>"}
    local_files.write(tmp_path, types, [{"id": 1, "v": []}, {"id": 2, "v": ["", "x"]}], file_format_type=format)
    assert back(tmp_path, format, types) == [{"id": 1, "v": None}, {"id": 2, "v": [None, "x"]}]


@FORMATS
def test_values_that_do_not_fit_are_errors_of_their_line(format: str, tmp_path: Path) -> None:
    types = {"id": "int", "v": "array<int>", "m": "map<string, int>", "r": "{a = int}"}
    sign = "," if format == "csv" else "\x01"
    lines = ["1|1\x022|a\x031|1", "2|1\x02x|a\x031|1", "3||\x021|1", "4|||1\x022", "5|||"]
    (tmp_path / "a").write_text("".join(line.replace("|", sign) + "\n" for line in lines))
    with pytest.raises(RowError, match=r"a, line 2, column 'v': '1\\x02x' is not an array<int> with U\+0002, U\+0003"):
        back(tmp_path, format, types)
    skipped = Skipped(fail=False)
    found = back(tmp_path, format, types, skipped)
    assert [(row["id"], row["v"], row["m"], row["r"]) for row in found] == [
        (1, [1, 2], [("a", 1)], {"a": 1}),
        (5, None, None, None),
    ]
    assert [text.partition(": ")[0].partition(", ")[2] for text in skipped.errors] == [
        "line 2, column 'v'",
        "line 3, column 'm'",
        "line 4, column 'r'",
    ]


@FORMATS
def test_a_part_with_a_separator_in_it_is_an_error_of_its_row(format: str, tmp_path: Path) -> None:
    with pytest.raises(RowError, match=r"column 'v': 'a\\x03b' contains one of the characters U\+0002 to U\+0007"):
        local_files.write(tmp_path, {"v": "array<string>"}, [{"v": ["a\x03b"]}], file_format_type=format)


@FORMATS
@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("float_vector(2)", "it contains vectors"),
        ("map<string, row<v = binary_vector(8)>>", "it contains vectors"),
        ("map<string, map<string, map<string, array<int>>>>", "it is nested more than 6 times"),
    ],
)
def test_what_cannot_stand_in_a_text(format: str, kind: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=rf"column 'v' of type .*: {why}, and cannot be read from {format}"):
        local_files.source(tmp_path, schema={"fields": {"v": kind}}, file_format_type=format)
    with pytest.raises(SinkError, match=rf"{why}, and cannot be written as {format}; use json or parquet"):
        local_files.write(tmp_path, {"v": kind}, [], file_format_type=format)
