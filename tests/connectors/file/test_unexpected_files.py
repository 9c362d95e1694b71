"""Files that are probably not what the job means: warnings and advice.

First lines that name the columns, in jobs that do not state it, were rows, or errors without advice. Where options left
nothing of a folder or archive, the result looked like that of an empty input.
"""

import datetime as dt
import logging
import zipfile
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.errors import RowError
from tests.connectors.file.formats.test_inferred_json import Noted
from tests.connectors.file.local_files import source

SCHEMA = {"fields": {"id": "int"}}
FUTURE = dt.datetime.now() + dt.timedelta(days=2)
WRITTEN = "id,name\n1,Zürich\n2,Bern\n"


def made(path: Path, text: str, **options: Any) -> Any:
    path.write_text(text)
    return source(path, **{"file_format_type": "csv", **options})


@pytest.mark.parametrize(
    ("format", "option"), [("csv", "csv_use_header_line = true"), ("text", "skip_header_row_number = 1")]
)
def test_a_name_that_is_no_number_is_answered_with_the_option(tmp_path: Path, format: str, option: str) -> None:
    columns = {"fields": {"id": "int", "name": "string"}}
    of = made(tmp_path / "a", WRITTEN, file_format_type=format, field_delimiter=",", schema=columns)
    with pytest.raises(RowError, match=rf"line 1, column 'id': 'id' is not an int; if this .*, set {option}$"):
        read(of)


@pytest.mark.parametrize(
    ("text", "line", "options"),
    [
        ("1,a\nid,a\n", 2, {}),
        ("1x,a\n", 1, {}),
        ("id,name\nid,a\n", 2, {"csv_use_header_line": True}),
    ],
)
def test_other_rows_are_not(tmp_path: Path, text: str, line: int, options: dict[str, Any]) -> None:
    of = made(tmp_path / "a", text, schema={"fields": {"id": "int", "name": "string"}}, **options)
    with pytest.raises(RowError, match=rf"line {line}, column 'id': '\w+' is not an int$"):
        read(of)


def test_columns_of_texts_are_noted_where_their_names_stand_as_values(tmp_path: Path) -> None:
    columns = {"fields": {"ID": "string", "name": "string"}}
    of, context = made(tmp_path / "a", WRITTEN, schema=columns), Noted()
    assert len(read(of, context=context)) == 3
    ((what, (count, where)),) = context.notes.items()
    assert (count, where) == (1, f"{tmp_path / 'a'}, line 1")
    assert "set csv_use_header_line = true" in what
    for text, options in ((WRITTEN, {"csv_use_header_line": True}), (WRITTEN[8:], {}), ("", {})):
        of, context = made(tmp_path / "a", text.replace("id", "ID"), schema=columns, **options), Noted()
        read(of, context=context)
        assert not context.notes


@pytest.mark.parametrize(
    ("text", "doubtful"),
    [
        (WRITTEN, True),
        ("id,day\r\n1,2024-01-31\r\n", True),
        ('"id","name"\n1,"a, b"\n', True),
        ("a,b\nc,d\n", False),
        ("1,a\n2,b\n", False),
        ("x,1\ny,2\n", False),
        ("a,1\n2,3\n", False),
        ("id,name\n", False),
        ("id\n1,2\n", False),
        ('a,"b\nc"\n1,2\n', False),
    ],
)
def test_inferred_columns_are_doubted(
    tmp_path: Path, text: str, doubtful: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """They were all texts, ``column_1`` and so on, and the names of the columns the first row."""
    of = made(tmp_path / "a", text, row_error_handle_way="SKIP")
    with caplog.at_level(logging.WARNING, "seatunnel_core"):
        try:
            plan(of)
            of.planned_schemas()
        except Exception:
            assert text in ("id\n1,2\n",)
    said = f"{tmp_path / 'a'}, line 1: the line is read as a row, but it may contain the column names"
    assert any(said in record.getMessage() for record in caplog.records) == doubtful
    assert any("csv_use_header_line = true" in remark for remark in of.planned_reading()) == doubtful


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for name in ("a.csv", "b.csv", "c.txt"):
        (tmp_path / "in" / name).write_text("1\n")
    return tmp_path / "in"


@pytest.mark.parametrize(
    ("options", "reasons"),
    [
        ({"file_filter_pattern": r".*\.json"}, r"file_filter_pattern = '.*\\.json' skips 3"),
        ({"filename_extension": "json"}, "filename_extension = 'json' skips 3"),
        ({"file_filter_modified_start": f"{FUTURE:%Y-%m-%d %H:%M:%S}"}, "file_filter_modified_start skips 3"),
        ({"file_filter_modified_end": "1999-01-01 00:00:00"}, "file_filter_modified_end skips 3"),
        ({"read_partitions": ["day=1"]}, "read_partitions = ['day=1'] skips 3"),
        (
            {"filename_extension": "csv", "file_filter_pattern": "x.*"},
            "file_filter_pattern = 'x.*' skips 2, filename_extension = 'csv' skips 1",
        ),
    ],
)
@pytest.mark.parametrize("more", [{"schema": SCHEMA}, {}], ids=["declared", "inferred"])
def test_options_that_leave_no_file_are_reported_once(
    folder: Path, options: dict[str, Any], more: dict[str, Any], reasons: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert plan(source(folder, file_format_type="csv", **options, **more)).splits == ()
    (message,) = caplog.messages
    said, _, rest = message.partition("are skipped: ")
    listed, _, example = rest.partition("; for example ")
    assert said == f"{folder} has 3 files, but all of them "
    assert ", ".join(sorted(listed.split(", "))) == reasons
    assert example == f"{folder}/a.csv"


@pytest.mark.parametrize("options", [{}, {"filename_extension": "txt"}, {"file_filter_pattern": "a.*"}])
def test_options_that_leave_a_file_are_not_reported(
    folder: Path, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert plan(source(folder, file_format_type="csv", schema=SCHEMA, **options)).splits
    assert caplog.messages == []


def test_an_empty_folder_is_no_fault_of_a_filter(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert plan(source(tmp_path, file_format_type="csv", schema=SCHEMA, filename_extension="csv")).splits == ()
    assert caplog.messages == []


def test_a_check_reports_a_filter_that_leaves_nothing(folder: Path) -> None:
    made = source(folder, file_format_type="csv", schema=SCHEMA, filename_extension="json")
    made.planned_schemas()
    (remark,) = made.planned_reading()
    assert remark.startswith(f"{folder} has 3 files, but all of them are skipped: filename_extension = 'json' skips 3")


def test_a_watched_folder_reports_it_at_its_first_listing(folder: Path) -> None:
    made = source(folder, file_format_type="csv", schema=SCHEMA, discovery_mode="continuous", filename_extension="json")
    first = made.poll({}, PlanningContext(parallelism=1))
    assert [each.split(" skips")[0] for each in first.warnings] == [
        f"{folder} has 3 files, but all of them are skipped: filename_extension = 'json'"
    ]
    assert made.poll(dict(first.cursor), PlanningContext(parallelism=1)).warnings == ()


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"_a.csv": "1\n", ".b.csv": "2\n", "_in/c.csv": "3\n", "d.csv": ""}, 1),
        ({}, 1),
        ({"_a.csv": "1\n", "d.csv": "2\n"}, 0),
    ],
)
def test_an_archive_of_which_nothing_is_read(tmp_path: Path, members: dict[str, str], expected: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    made, context = source(tmp_path, file_format_type="csv", schema=SCHEMA, archive_compress_codec="zip"), Noted()
    rows = read(made, context=context)
    assert [(rows, example) for rows, example in context.notes.values()] == [(0, f"{tmp_path}/a.zip")] * expected
    assert len(rows) == 1 - expected


CASE = (
    "have the key 'Id' but no 'id': the names differ in case, so the column is null. Write the name in schema as in "
    "the data"
)


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("at", [range(3), [7], [0, 4999]])
def test_keys_of_json_that_differ_in_case_are_counted(tmp_path: Path, careful: bool, at: list[int]) -> None:
    lines = [f'{{"{"Id" if number in at else "id"}": {number}, "b": {{"C": 1}}}}' for number in range(5000)]
    (tmp_path / "a.json").write_text("\n".join([*lines, "{" if careful else "", ""]))
    columns = {"id": "int", "b": "{c = int}"}
    options = {"row_error_handle_way": "SKIP"} if careful else {}
    made = source(tmp_path, file_format_type="json", schema={"fields": columns}, **options)
    context = Noted()
    context.fail = False
    assert [row["id"] for row in read(made, context=context)].count(None) == len(at)
    nested = CASE.replace("'Id'", "'C'").replace("'id'", "'b.c'")
    assert context.notes == {
        CASE: (len(at), f"{tmp_path}/a.json, line {at[-1] + 1}"),
        nested: (5000, f"{tmp_path}/a.json, line 5000"),
    }


def test_keys_of_json_that_no_column_has_are_not_noted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1, "x": 1}\n{"id": null, "ID": 1}\n{"x": {"Id": 2}}\n')
    made, context = source(tmp_path, file_format_type="json", schema={"fields": {"id": "int"}}), Noted()
    assert [row["id"] for row in read(made, context=context)] == [1, None, None]
    assert context.notes == {}
