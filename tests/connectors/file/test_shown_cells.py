"""Cells of sheets in columns of texts: what a person sees."""

import datetime as dt
from functools import partial
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from seatunnel_core.connector_api.testing import read
from seatunnel_core.connectors.file.formats.shown_cells import Cell, shown
from tests.connectors.file import local_files

source = partial(local_files.source, file_format_type="excel")

AT = dt.datetime(2024, 3, 5, 14, 7, 9, 250_000)
LONG = dt.timedelta(hours=30, minutes=5, seconds=7)


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (1067, "00000", "01067"),
        (dt.timedelta(days=1, seconds=21900), "[h]:mm", "30:05"),
        (LONG, "[hh]:mm:ss", "30:05:07"),
        (dt.timedelta(seconds=5407), "[m]:ss", "90:07"),
        (dt.timedelta(seconds=67), "[s]", "67"),
        (dt.datetime(2024, 1, 1, 0, 0), "yyyy-mm-dd hh:mm", "2024-01-01 00:00"),
        (dt.datetime(2024, 1, 1, 0, 0), "yyyy\\-mm\\-dd hh:mm:ss", "2024-01-01 00:00:00"),
        (1234.5, "#,##0.00", "1,234.50"),
        (0.256, "0%", "26%"),
        (0.2567, "0.00%", "25.67%"),
        (1.5, "0.00", "1.50"),
        (-3, "0;(0)", "(3)"),
        (0, '0;-0;"none"', "none"),
        (123456789, "000-00-0000", "123-45-6789"),
        (5551234, "(000) 000-0000", "(000) 555-1234"),
        (1234567, "#,##0,", "1,235"),
        (12345.678, "0.00E+00", "1.23E+04"),
        (0.00012, "0.0E+00", "1.2E-04"),
        (9.999, "0.0E+00", "1.0E+01"),
        (0, "0.00E+00", "0.00E+00"),
        (12.5, '"$"#,##0.00', "$12.50"),
        (12.5, "[$€-407] #,##0.00", "€ 12.50"),
        (12.5, "#,##0.00\\ [$€-407]", "12.50 €"),
        (5, "0.##", "5."),
        (5.1, "0.##", "5.1"),
        (5.125, "0.##", "5.13"),
        (0.5, "#.00", ".50"),
        (-5, "0", "-5"),
        (-1234.567, "#,##0.00_);[Red](#,##0.00)", "(1,234.57)"),
        (0.0, '_(* #,##0.00_);_(* \\(#,##0.00\\);_(* "-"??_);_(@_)', "-  "),
        (AT, "dd/mm/yyyy", "05/03/2024"),
        (AT, "h:mm AM/PM", "2:07 PM"),
        (AT, "d-mmm-yy", "5-Mar-24"),
        (AT, "hh:mm:ss.000", "14:07:09.250"),
        (AT, "mm:ss.0", "07:09.2"),
        (dt.datetime(2024, 3, 5, 0, 0), "[$-407]dd.mm.yyyy", "05.03.2024"),
        (dt.datetime(2024, 3, 5, 0, 0), "[$-409]dddd, mmmm d, yyyy", "Tuesday, March 5, 2024"),
        (dt.time(12, 30, 5), "hh:mm:ss", "12:30:05"),
        (dt.datetime(2024, 3, 5, 0, 0), 'yyyy"年"m"月"d"日"', "2024年3月5日"),
        (dt.datetime(2024, 12, 5, 0, 0), "mmm", "Dec"),
        (7, "00", "07"),
        (7, '0" pcs"', "7 pcs"),
        (1e20, "0", "100000000000000000000"),
        (1.005, "0.00", "1.01"),
        (3, "???", "  3"),
        (42, '"ID-"0000', "ID-0042"),
        (1500000, '0.0,,"M"', "1.5M"),
        (123, "\\X000", "X123"),
        (dt.timedelta(days=1, seconds=21900), "hh:mm", "06:05"),
        (8, "#", "8"),
        (0, "#", ""),
        (0, "0", "0"),
        (1234567.891, "#,##0.0##", "1,234,567.891"),
        (1, "0", "1"),
        (0.5, "# ?/?", "1/2"),
        (-1.25, "# ??/??", "-1 1/4"),
        (5, "# ?/?", "5"),
        (0, "# ?/?", "0"),
        (0.999, "# ?/4", "1"),
        (2.75, "# ?/4", "2 3/4"),
        (3.3, "# ?/10", "3 3/10"),
        (1.5, "?/?", "3/2"),
        (1 / 3, "0 0/0", "0 1/3"),
        (0.5, "# 00/00", "01/02"),
        (0.3125, "# ??/16", "5/16"),
        (2.5, '# ?/? "in"', "2 1/2 in"),
        (5, "[>3]0;0.0", "5"),
        (-2, "[>3]0;0.0", "-2.0"),
        (-3, "[<0](0);0", "(3)"),
        (7, '[=7]"seven";0', "seven"),
        (50, '[<10]"a";[<100]"b";"c"', "b"),
        (500, '[<10]"a";[<100]"b";"c"', "c"),
        (1234.5, "##0.0E+0", "1.2E+3"),
        (12345, "##0.0E+0", "12.3E+3"),
        (999_999, "##0.0E+0", "1.0E+6"),
        (0.00012, "##0.0E+0", "120.0E-6"),
    ],
)
def test_a_value_has_the_text_that_its_format_shows(value: Cell, code: str, text: str) -> None:
    assert shown(value, code) == text


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (12.5, "General"),
        (12.5, "@"),
        (AT, "mm-dd-yy"),
        (AT, "[$-F800]dddd, mmmm dd, yyyy"),
        (AT, "[$-407]d. mmmm yyyy"),
        (dt.time(12, 30, 5), "yyyy-mm-dd hh:mm"),
        (5, "yyyy-mm-dd"),
        (-dt.timedelta(hours=1), "[h]:mm"),
    ],
)
def test_other_formats_leave_the_usual_text(value: Cell, code: str) -> None:
    assert shown(value, code) is None


def book(path: Path, *rows: list[tuple[Any, str]]) -> None:
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append([value for value, _ in row])
        for column, (_, code) in enumerate(row, 1):
            made.active.cell(made.active.max_row, column).number_format = code
    made.save(path)


def test_columns_of_texts_have_what_the_sheet_shows_and_others_their_values(tmp_path: Path) -> None:
    """01067 was read as 1067, 30:05 as "1 day, 6:05:00", and a moment at midnight lost its time."""
    cells = [(1067, "00000"), (LONG, "[h]:mm"), (dt.datetime(2024, 1, 1), "yyyy-mm-dd hh:mm"), (0.5, "0%"), (True, "0")]
    book(
        tmp_path / "a.xlsx",
        [*cells, *cells, *((dt.datetime(2024, 1, 1), code) for code in ("mm-dd-yy", "m/d/yy h:mm"))],
    )
    (tmp_path / "~$a.xlsx").write_bytes(b"\x05owner".ljust(165))
    kinds = {**dict.fromkeys("abcde", "string"), "f": "int", "g": "string", "h": "timestamp", "i": "double"}
    made = source(tmp_path, schema={"fields": {**kinds, "j": "boolean", "k": "string", "l": "string"}})
    assert list(read(made)[0].values()) == [
        *("01067", "30:05", "2024-01-01 00:00", "50%", "true"),
        *(1067, "30:05", dt.datetime(2024, 1, 1), 0.5, True, "2024-01-01", "2024-01-01 00:00:00"),
    ]


def test_a_row_in_a_cell_may_begin_with_json_and_have_it_anywhere(tmp_path: Path) -> None:
    """A cell that began with a brace was read as JSON of the whole row: a map in the first field was an error."""
    kind = {"fields": {"made": {"parts": "map<string, string>", "size": "int", "tags": "array<string>"}}}
    cells = ['{"rim":"a;b"};7;["x;y"]', '{"rim":"wide"}', '{"size": 5}', "{}", ";7"]
    book(tmp_path / "a.xlsx", *([(cell, "General")] for cell in cells))
    made = source(tmp_path, field_delimiter=";", schema=kind)
    assert [tuple(row["made"].values()) for row in read(made)] == [
        ([("rim", "a;b")], 7, ["x;y"]),
        ([("rim", "wide")], None, None),
        (None, 5, None),
        (None, None, None),
        (None, 7, None),
    ]
