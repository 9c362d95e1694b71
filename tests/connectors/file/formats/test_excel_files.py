"""Excel files: what cells can hold, sheets, and files that are not what they should be."""

import datetime as dt
import random
import shutil
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xlsxwriter

from seatunnel_core.connector_api.testing import Skipped, plan, read
from seatunnel_core.connectors.file.formats import xlsx
from seatunnel_core.connectors.file.formats.excel import ExcelFileWriter
from seatunnel_core.errors import RowError, SinkError, SourceError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.file import local_files
from tests.connectors.file.local_files import TYPES, a_row, refusals, sheet

XLS = Path(__file__).parent / "data" / "orders.xls"

source = partial(local_files.source, file_format_type="excel")
sink = partial(local_files.sink, file_format_type="excel")
write = partial(local_files.write, file_format_type="excel")


def test_every_type_comes_back(tmp_path: Path) -> None:
    chance = random.Random(1)
    signs = "ab 1,;\"'\n\txñ漢\U0001f600=+"
    rows = [*(a_row(chance, signs=signs, shortest=1) for _ in range(100)), {**dict.fromkeys(TYPES), "tiny": 1}]
    write(tmp_path, TYPES, rows, sheet_name="Data")
    found = read(source(tmp_path, schema={"fields": TYPES}, sheet_name="Data", skip_header_row_number=1))
    for wanted, row in zip(rows, found, strict=True):
        assert row == wanted


def test_an_empty_text_is_a_cell_with_an_empty_text(tmp_path: Path) -> None:
    write(tmp_path, {"id": "int", "name": "string"}, [{"id": 1, "name": ""}])
    made = source(tmp_path, schema={"fields": {"id": "int", "name": "string"}}, skip_header_row_number=1)
    assert read(made) == [{"id": 1, "name": ""}]


ORDERS = {"id": "int", "name": "string", "price": "decimal(10, 2)", "day": "date", "at": "timestamp", "clock": "time"}


def test_the_older_format_is_read_too(tmp_path: Path) -> None:
    shutil.copy(XLS, tmp_path)
    made = source(tmp_path, schema={"fields": {**ORDERS, "flag": "boolean"}}, skip_header_row_number=1)
    nothing = dict.fromkeys((*ORDERS, "flag"))
    assert read(made) == [
        {
            "id": 1,
            "name": "näme",
            "price": Decimal("12.50"),
            "day": dt.date(2020, 2, 29),
            "at": dt.datetime(2020, 2, 29, 12, 30, 5),
            "clock": dt.time(12, 30, 5),
            "flag": True,
        },
        {**nothing, "id": 2, "price": Decimal("-0.25")},
    ]


def test_columns_of_texts_hold_what_excel_shows(tmp_path: Path) -> None:
    shutil.copy(XLS, tmp_path)
    made = source(tmp_path, schema={"fields": dict.fromkeys((*ORDERS, "flag"), "string")}, skip_header_row_number=1)
    first = read(made)[0]
    assert list(first.values()) == ["1", "näme", "12.5", "2020-02-29", "2020-02-29 12:30:05", "12:30:05", "true"]


def test_columns_are_chosen_by_their_place_and_read_columns(tmp_path: Path) -> None:
    sheet(tmp_path / "a.xlsx", ("id", "name"), (1, "a", "beside"), (), (None, "b"), (None, None, "beside"))
    made = source(
        tmp_path, schema={"fields": {"k": "int", "v": "string"}}, read_columns=["v"], skip_header_row_number=1
    )
    assert read(made) == [{"v": "a"}, {"v": "b"}]


@pytest.mark.parametrize("single", [True, False])
def test_what_a_sheet_may_not_hold_goes_into_another_file(tmp_path: Path, single: bool) -> None:
    rows = [{"a": number} for number in range(5)]
    write(tmp_path, {"a": "int"}, rows, sheet_max_rows=2, single_file_mode=single)
    made = source(tmp_path, schema={"fields": {"a": "int"}}, skip_header_row_number=1)
    found = plan(made)
    assert [len(read(made, found, [split])) for split in found.splits] == [2, 2, 1]
    assert read(made, found) == rows


def test_a_sheet_that_does_not_begin_in_its_corner(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    made = book.add_worksheet()
    made.write_row(2, 1, ("x", 7))
    book.close()
    found = source(tmp_path, schema={"fields": {"a": "string", "b": "string", "c": "int"}})
    assert read(found) == [{"a": None, "b": "x", "c": 7}]
    skipping = source(tmp_path, schema={"fields": {"a": "string", "b": "string", "c": "int"}}, skip_header_row_number=3)
    assert read(skipping) == []


def test_texts_may_hold_dates_in_the_form_that_the_options_say(tmp_path: Path) -> None:
    sheet(tmp_path / "a.xlsx", ("29/02/2020", "2020.02.29 12:30:05", "2020-02-29T01:00:00"))
    formats = {"date_format": "dd/MM/yyyy", "datetime_format": "yyyy.MM.dd HH:mm:ss"}
    made = source(tmp_path, schema={"fields": {"a": "date", "b": "timestamp", "c": "timestamp"}}, **formats)
    assert [str(value) for value in read(made)[0].values()] == [
        *("2020-02-29", "2020-02-29 12:30:05", "2020-02-29 01:00:00")
    ]


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", "x", r"a\.xlsx, sheet 'Sheet1', row 2, column 'v': 'x' is not of type int"),
        ("int", 2.5, "row 2, column 'v': 2.5 is not of type int"),
        ("tinyint", 300, "row 2, column 'v': 300 is not of type tinyint"),
        ("date", "29/02/2020", "row 2, column 'v': '29/02/2020' is not of type date, in the format yyyy-MM-dd"),
        ("decimal(5, 1)", 0.25, "row 2, column 'v': '0.25' is not of type decimal"),
        ("boolean", 1, "row 2, column 'v': 1 is not of type boolean"),
    ],
)
def test_a_bad_cell_names_sheet_row_column_value_and_type(tmp_path: Path, kind: str, value: Any, message: str) -> None:
    sheet(tmp_path / "a.xlsx", (1, None), (2, value), (3, None))
    made = source(tmp_path, schema={"fields": {"id": "int", "v": kind}})
    with pytest.raises(RowError, match=message):
        read(made)
    skipped = Skipped(fail=False)
    assert [row["id"] for row in read(made, context=skipped)] == [1, 3]
    assert len(skipped.errors) == 1


def test_not_nullable_is_held(tmp_path: Path) -> None:
    sheet(tmp_path / "a.xlsx", (1, None))
    columns = [{"name": "id", "type": "int"}, {"name": "v", "type": "string", "nullable": False}]
    made = source(tmp_path, schema={"columns": columns})
    with pytest.raises(RowError, match="row 1, column 'v': the value is null, but the schema has nullable = false"):
        read(made)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    sheet(tmp_path / "a.xlsx", (1,))
    made = source(tmp_path, schema={"fields": {"id": "int"}}, sheet_name="Orders")
    with pytest.raises(SourceError, match=r"a\.xlsx has no sheet 'Orders' \(sheet_name\); it has Sheet1"):
        read(made)
    with pytest.raises(UsageError, match="option 'schema': required for excel"):
        source(tmp_path)


def damaged(whole: bytes, chance: random.Random) -> bytes:
    found = bytearray(whole)
    for _ in range(chance.choice([1, 10, 100])):
        found[chance.randrange(len(whole))] = chance.randrange(256)
    return bytes(found[: chance.choice([len(whole), len(whole) // 2])])


def test_damaged_files_are_errors(tmp_path: Path) -> None:
    schema = {"fields": {"id": "string", "name": "string"}}
    sheet(tmp_path / "a.xlsx", *((number, "x" * number) for number in range(50)))
    originals = {"a.xlsx": (tmp_path / "a.xlsx").read_bytes(), "a.xls": XLS.read_bytes()}
    chance = random.Random(3)
    refused = []
    for name, whole in originals.items():
        contents = (damaged(whole, chance) for _ in range(40))
        refused += refusals(tmp_path / name, contents, file_format_type="excel", schema=schema)
    assert len(refused) > 20
    assert all("a.xls" in message for message in refused)


def test_more_rows_than_a_sheet_has_make_a_further_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ExcelFileWriter, "most_rows", 2)
    write(tmp_path, {"id": "int"}, [{"id": number} for number in range(5)], single_file_mode=True)
    assert len(list(tmp_path.glob("*.xlsx"))) == 3


def test_a_text_that_is_too_long_for_a_cell_is_an_error_of_its_row(tmp_path: Path) -> None:
    with pytest.raises(RowError, match=r"sink LocalFile, column 'v': 'xxx.* has 32768 characters, but a cell"):
        write(tmp_path, {"v": "string"}, [{"v": "x" * 32_768}])


def test_what_a_sheet_cannot_be_is_refused_before_data_moves(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"option 'sheet_name': 'a/b' is not allowed"):
        sink(tmp_path, sheet_name="a/b")
    with pytest.raises(UsageError, match="option 'compress_codec': gzip is not supported for excel; remove it"):
        sink(tmp_path, compress_codec="gzip")
    wide = pa.schema([(f"c{number}", pa.int32()) for number in range(16_385)])
    with pytest.raises(SinkError, match="at most 16384 columns"):
        sink(tmp_path).check_schema(TableSchema(table="default", columns=wide))


def test_what_xml_cannot_hold_is_written_as_excel_writes_it() -> None:
    """The library that reads them does not take all of these back, so the text itself is looked at."""
    assert xlsx.text("a\x01_x0001_ <b>").removeprefix('<c t="inlineStr"><is><t xml:space="preserve">') == (
        "a_x0001__x005F_x0001_ &lt;b&gt;</t></is></c>"
    )


def test_columns_have_letters() -> None:
    assert [xlsx.letters(column) for column in (0, 25, 26, 701, 702, 16_383)] == ["A", "Z", "AA", "ZZ", "AAA", "XFD"]


def test_signs_that_xml_cannot_hold_come_back(tmp_path: Path) -> None:
    """``_x000D_`` was read as it stands in the file, so what the sink had written was another text."""
    texts = [
        "first\r\nsecond",
        "_x0041_",
        "_x005F_x000D_",
        "\x00\x01\x0b",
        "_x",
        "_x00",
        "\ufffe",
        "\U0001f600",
        "a_x000d_b",
    ]
    rows = [{"note": text} for text in texts]
    write(tmp_path, {"note": "string"}, rows, file_format_type="excel")
    assert read(source(tmp_path, skip_header_row_number=1, schema={"fields": {"note": "string"}})) == rows


def test_half_of_a_pair_of_surrogates_is_an_error_of_its_row(tmp_path: Path) -> None:
    sheet(tmp_path / "a.xlsx", ["_xD83D__xDE00_"], ["a_xD83D_"])
    made = source(tmp_path, schema={"fields": {"note": "string"}})
    skipped = Skipped(fail=False)
    assert read(made, context=skipped) == [{"note": "\U0001f600"}]
    assert [error.partition("row 2, ")[2] for error in skipped.errors] == [
        "column 'note': 'a\\ud83d' is not of type string"
    ]


def test_bytes_stand_in_cells_as_seatunnel_writes_them(tmp_path: Path) -> None:
    """Only base64 was read, which SeaTunnel does not write."""
    sheet(tmp_path / "a.xlsx", ["[72, 105]"], ["[-1,0 , 255]"], ["[]"], ["Hi ä"], ["[1, 999]"], [5], [True], ["SGk="])
    made = source(tmp_path, schema={"fields": {"print": "bytes"}})
    assert [row["print"] for row in read(made)] == [
        *(b"Hi", b"\xff\x00\xff", b"", "Hi ä".encode(), b"[1, 999]", b"5", b"true", b"SGk="),
    ]


def test_a_row_stands_in_a_cell_with_delimiters_or_as_json(tmp_path: Path) -> None:
    """Only JSON was read, which is not what SeaTunnel writes for a row."""
    kind = {"fields": {"made": {"colour": "string", "size": "int", "at": "date", "mark": "bytes"}}}
    cells = ["red;5;2024-01-31;[72]", "red", ";5", '{"colour": "red", "size": 5}', 7]
    sheet(tmp_path / "a.xlsx", *([cell] for cell in cells))
    made = source(tmp_path, field_delimiter=";", schema=kind)
    found = [tuple(row["made"].values()) for row in read(made)]
    assert found == [
        *(("red", 5, dt.date(2024, 1, 31), b"H"), ("red", None, None, None), (None, 5, None, None)),
        *(("red", 5, None, None), ("7", None, None, None)),
    ]
    sheet(tmp_path / "a.xlsx", ["red;x"], ["a;1;;;b"])
    skipped = Skipped(fail=False)
    assert read(made, context=skipped) == []
    assert [error.partition("row ")[2] for error in skipped.errors] == [
        "1, column 'made': 'x' is not of type int",
        "2, column 'made': 'a;1;;;b' has 5 fields, expected 4 of "
        "{colour = string, size = int, at = date, mark = bytes}",
    ]
