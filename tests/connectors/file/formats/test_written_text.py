"""Texts as the file sink writes them: encodings, and the forms of dates and times; and how the source reads them."""

import datetime as dt
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, read, stage
from seatunnel_core.connector_api.testing.drive import place
from seatunnel_core.connectors.file.formats.delimited import writer as delimited
from seatunnel_core.errors import RowError, SinkError, SourceError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.file import local_files

TYPES = {"id": "int", "name": "string", "day": "date", "at": "timestamp", "clock": "time"}
ROWS: list[dict[str, Any]] = [
    {
        "id": number,
        "name": f"漢字 {number}",
        "day": dt.date(2020, 2, 29),
        "at": dt.datetime(1969, 12, 31, 23, 59, 58),
        "clock": dt.time(1, 2, 3, 400_000),
    }
    for number in range(3)
] + [dict.fromkeys(TYPES) | {"id": 4}]
COLUMNS: dict[str, dict[str, Any]] = {
    format: {"file_format_type": format, **({"sink_columns": ["f"]} if format in ("csv", "text") else {})}
    for format in ("csv", "text", "json", "xml", "excel")
}
FORMS = {"date_format": "yyyy/MM/dd", "datetime_format": "yyyyMMddHHmmss", "time_format": "HH:mm:ss.SSS"}


def write(path: Path, format: str, rows: list[dict[str, Any]], **options: Any) -> Path:
    local_files.write(path, TYPES, rows, file_format_type=format, field_delimiter=";", **options)
    return next(each for each in path.iterdir() if each.is_file())


def back(path: Path, format: str, **options: Any) -> list[dict[str, Any]]:
    given = {"file_format_type": format, "xml_row_tag": "RECORD", "field_delimiter": ";", **options}
    return read(local_files.source(path, schema={"fields": TYPES}, **given))


@pytest.mark.parametrize("format", ["csv", "text", "json", "xml"])
@pytest.mark.parametrize("encoding", ["GBK", "utf-16", "UTF-32-BE", "shift_jis", "utf_8_sig"])
def test_what_is_written_in_an_encoding_comes_back(tmp_path: Path, format: str, encoding: str) -> None:
    path = write(tmp_path, format, ROWS, encoding=encoding, enable_header_write=True)
    assert "漢字 0" in path.read_bytes().decode(encoding)
    skip = {"skip_header_row_number": 1} if format in ("csv", "text") else {}
    assert back(tmp_path, format, encoding=encoding, **skip) == ROWS


@pytest.mark.parametrize("format", ["csv", "text", "json", "xml"])
def test_a_value_that_the_encoding_has_no_signs_for_is_an_error_of_its_row(tmp_path: Path, format: str) -> None:
    with pytest.raises(RowError, match="sink LocalFile, column 'name': '漢字 0' cannot be written in the encoding iso"):
        write(tmp_path, format, ROWS, encoding="ISO-8859-1")


@pytest.mark.parametrize("format", ["csv", "text", "json", "xml"])
def test_a_name_of_a_column_that_the_encoding_lacks_is_named(tmp_path: Path, format: str) -> None:
    options = {"file_format_type": format, "encoding": "ISO-8859-1", "enable_header_write": True}
    expected = "the column name 漢字 contains '漢字', which iso8859-1 cannot represent; rename the column"
    with pytest.raises(SinkError, match=expected):
        local_files.write(tmp_path, {"id": "int", "漢字": "int"}, [{"id": 1, "漢字": 2}], **options)


@pytest.mark.parametrize("format", ["csv", "text", "json", "xml", "excel"])
def test_a_float_of_32_bits_is_written_with_its_own_digits(tmp_path: Path, format: str) -> None:
    local_files.write(tmp_path, {"f": "float", "fs": "array<float>"}, [{"f": 3.1, "fs": [0.1]}], **COLUMNS[format])
    (path,) = (each for each in tmp_path.iterdir() if each.is_file())
    if format == "excel":
        with zipfile.ZipFile(path) as book:
            text = book.read("xl/worksheets/sheet1.xml").decode()
    else:
        text = path.read_text()
    assert "3.1" in text
    assert "3.0999" not in text
    assert "0.1000" not in text


@pytest.mark.parametrize("format", ["csv", "text", "json", "xml"])
def test_dates_and_times_have_the_forms_that_the_options_say(tmp_path: Path, format: str) -> None:
    text = write(tmp_path, format, ROWS, **FORMS).read_text()
    for written in ("2020/02/29", "19691231235958", "01:02:03.400"):
        assert text.count(written) == 3
        assert f"{written}0" not in text
    assert back(tmp_path, format, **FORMS) == ROWS
    if format in ("json", "xml"):  # where values are told apart one by one, as SeaTunnel does
        assert back(tmp_path, format) == ROWS
        return
    with pytest.raises(SourceError, match=r"'day'.*'2020/02/29' is not .*yyyy-MM-dd"):
        back(tmp_path, format)


DATETIMES = {
    "yyyy-MM-dd HH:mm:ss.SSS": "2024-05-01 09:05:06.123",
    "yyyy-MM-dd HH:mm:ss.SSSSSS": "2024-05-01 09:05:06.123456",
    "yyyy-MM-dd'T'HH:mm:ss": "2024-05-01T09:05:06",
    "yyyy-MM-dd'T'HH:mm:ss.SSS": "2024-05-01T09:05:06.123",
    "yyyy-MM-dd'T'HH:mm:ss.SSSSSSSSS": "2024-05-01T09:05:06.123456000",
    "yyyy.MM.dd HH:mm:ss": "2024.05.01 09:05:06",
    "yyyy/M/d HH:mm": "2024/5/1 09:05",
    "yyyy-M-d H:mm:ss": "2024-5-1 9:05:06",
}


@pytest.mark.parametrize("format", ["csv", "text", "json", "xml"])
def test_every_form_of_a_timestamp_that_seatunnel_has(tmp_path: Path, format: str) -> None:
    """Parts of a second, and months, days and hours of one digit, were refused."""
    moment = dt.datetime(2024, 5, 1, 9, 5, 6, 123456)
    types = {"at": "timestamp", "in": "array<timestamp>"}
    for number, (form, written) in enumerate(DATETIMES.items()):
        folder = tmp_path / str(number)
        options = {"file_format_type": format, "datetime_format": form, "xml_row_tag": "RECORD"}
        local_files.write(folder, types, [{"at": moment, "in": [moment]}], **options)
        (file,) = (each for each in folder.iterdir() if each.is_file())
        assert written in file.read_text()
        assert f"{written}0" not in file.read_text()
        if form.endswith("S" * 9):
            continue  # no reader keeps them
        (row,) = read(local_files.source(folder, schema={"fields": types}, **options))
        kept = moment if "SSSSSS" in form else moment.replace(microsecond=123_000 if "SSS" in form else 0)
        assert row["at"] == (kept if "ss" in form else kept.replace(second=0))


def test_hours_of_one_digit_and_times_without_seconds(tmp_path: Path) -> None:
    forms = {"date_format": "yyyy/M/d", "datetime_format": "yyyyMMddHHmmss", "time_format": "HH:mm"}
    text = write(tmp_path, "csv", ROWS, **forms).read_text()
    assert text.startswith("0;漢字 0;2020/2/29;19691231235958;01:02\n")
    assert back(tmp_path, "csv", **forms)[0]["clock"] == dt.time(1, 2)


def test_what_cannot_be_is_refused_before_data_moves(tmp_path: Path) -> None:
    for encoding in ("nonsense", "base64"):
        with pytest.raises(UsageError, match="option 'encoding': "):
            write(tmp_path, "csv", ROWS, encoding=encoding)
        with pytest.raises(SourceError, match="is unknown; use UTF-8"):
            back(tmp_path, "csv", encoding=encoding)
    with pytest.raises(UsageError, match="options 'date_format' and 'datetime_format': the format 'QQ' is not"):
        write(tmp_path, "csv", ROWS, date_format="QQ")


@pytest.mark.parametrize("format", ["csv", "text"])
def test_moments_in_nanoseconds_come_back(tmp_path: Path, format: str) -> None:
    """They had nine digits behind the seconds, which the source refuses."""
    whole, fine = 1_704_067_200_123_456_000, 1_704_067_200_123_456_789
    columns = pa.schema([("at", pa.timestamp("ns")), ("zoned", pa.timestamp("ns", "Asia/Tokyo"))])
    arrays = [pa.array([whole, None, whole], pa.int64()).view(kind) for kind in columns.types]
    written, schema = local_files.sink(tmp_path, file_format_type=format), TableSchema(table="t", columns=columns)
    rows = pa.RecordBatch.from_arrays(arrays, schema=columns)
    commit(written, [stage(written, schema, [rows], place())], place())
    made = local_files.source(
        tmp_path, file_format_type=format, schema={"fields": {"at": "timestamp", "zoned": "timestamp_tz"}}
    )
    at = dt.datetime(2024, 1, 1, 0, 0, 0, 123_456)
    row = {"at": at, "zoned": at.replace(tzinfo=dt.UTC)}
    assert read(made) == [row, {"at": None, "zoned": None}, row]
    mixed = delimited._as_text(pa.array([whole, fine, None], pa.int64()).view(pa.timestamp("ns")))
    assert mixed.to_pylist() == ["2024-01-01 00:00:00.123456", "2024-01-01 00:00:00.123456789", None]
