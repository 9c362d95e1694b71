"""First lines that name the columns, in jobs that do not say so: they were rows, or errors without advice."""

import logging
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connectors.testing import plan, read
from seatunnel_core.errors import RowError
from tests.connectors.file.formats.test_inferred_json import Noted
from tests.connectors.file.local_files import source

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
    with pytest.raises(RowError, match=rf"line 1, column 'id': 'id' is not an int; if this .*, write {option}$"):
        read(of, plan(of))


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
        read(of, plan(of))


def test_columns_of_texts_are_noted_where_their_names_stand_as_values(tmp_path: Path) -> None:
    columns = {"fields": {"ID": "string", "name": "string"}}
    of, context = made(tmp_path / "a", WRITTEN, schema=columns), Noted()
    assert len(read(of, plan(of), context=context)) == 3
    ((what, (count, where)),) = context.notes.items()
    assert (count, where) == (1, f"{tmp_path / 'a'}, line 1")
    assert "write csv_use_header_line = true" in what
    for text, options in ((WRITTEN, {"csv_use_header_line": True}), (WRITTEN[8:], {}), ("", {})):
        of, context = made(tmp_path / "a", text.replace("id", "ID"), schema=columns, **options), Noted()
        read(of, plan(of), context=context)
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
    said = f"{tmp_path / 'a'}, line 1: it looks like the names of the columns"
    assert any(said in record.getMessage() for record in caplog.records) == doubtful
    assert any("csv_use_header_line = true" in remark for remark in of.planned_reading()) == doubtful
