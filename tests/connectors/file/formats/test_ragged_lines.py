"""Lines with more or fewer values than columns, and delimiters that are expressions, as SeaTunnel reads them."""

from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.several_tables import source_of
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connector_api.testing import Skipped, options_of, plan
from seatunnel_core.connector_api.testing.drive import shipped
from seatunnel_core.connectors.file.formats.delimited.delimiter import text_or_pattern
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import RowError, SourceError
from tests.connectors.file import local_files

FIELDS = {"a": "string", "b": "string", "c": "int"}


class Noting(ReadContext):
    """Keeps what is noted, and takes no bad row."""

    def __init__(self) -> None:
        self.noted: list[str] = []

    def skip(self, error: Exception, rows: int = 1) -> None:
        raise error

    def note(self, what: str, example: str, rows: int = 1) -> None:
        self.noted += [example] * rows


def rows(path: Path, text: str, context: ReadContext, **options: Any) -> list[tuple[Any, ...]]:
    (path / "a").write_text(text)
    given: dict[str, Any] = {"file_format_type": "text", "field_delimiter": ";", "schema": {"fields": FIELDS}}
    made = local_files.source(path, **(given | options))
    found = plan(made)
    batches = [batch for split in found.splits for batch in shipped(made).read(split, context)]
    return [tuple(row.values()) for batch in batches for row in batch.rows.to_pylist()]


@pytest.mark.parametrize("format", ["text", "csv"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_missing_values_are_null_and_more_are_left_out(tmp_path: Path, format: str, end: str) -> None:
    """Each such line ended the job: a delimiter at the end of lines, or a column that came later, was enough."""
    context = Noting()
    text = end.join(["x;y;1", "x;y;1;", "x;y", "x", "", "x;y;1;z;z", "x;;3", "last;;"])
    assert rows(tmp_path, text, context, file_format_type=format) == [
        *(("x", "y", 1), ("x", "y", 1), ("x", "y", None), ("x", None, None), ("x", "y", 1), ("x", None, 3)),
        ("last", None, None),
    ]
    assert [noted.rpartition(", ")[2] for noted in context.noted] == [
        *("line 2 with 4", "line 3 with 2", "line 4 with 1", "line 6 with 5"),
    ]


def test_quotes_are_no_delimiters(tmp_path: Path) -> None:
    context = Noting()
    text = '"a;a";"b\nb"\n"";"";1;"z;z"\n"q""";x"y\nb"b;;2;\n'
    assert rows(tmp_path, text, context, file_format_type="csv") == [
        *(("a;a", "b\nb", None), ("", "", 1), ('q"', 'x"y', None), ('b"b', None, 2)),
    ]
    assert len(context.noted) == 4


def test_names_of_a_header_count_as_columns(tmp_path: Path) -> None:
    context = Noting()
    text = "c;a;b\n1;x\n2\n3;x;y;z\n"
    found = rows(tmp_path, text, context, file_format_type="csv", csv_use_header_line=True)
    assert found == [("x", None, 1), (None, None, 2), ("x", "y", 3)]


def test_lines_of_another_length_give_no_types(tmp_path: Path) -> None:
    text = "a;b\n1;2\n3\n4;5;6\n"
    found = rows(tmp_path, text, Noting(), file_format_type="csv", csv_use_header_line=True, schema={})
    assert found == [(1, 2), (3, None), (4, 5)]


@pytest.mark.parametrize("say", ["FAIL", "SKIP"])
def test_a_job_may_say_otherwise(tmp_path: Path, say: str) -> None:
    context = Skipped(fail=say == "FAIL")
    if say == "FAIL":
        with pytest.raises(RowError, match="line 2: found 4 values, expected 3"):
            rows(tmp_path, "x;y;1\nx;y;1;\n", context, row_error_handle_way=say)
    else:
        assert rows(tmp_path, "x;y;1\nx;y;1;\n", context, row_error_handle_way=say) == [("x", "y", 1)]
        assert len(context.errors) == 1


def test_what_a_job_says_counts_for_each_of_several_tables(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x;y;1;\n")
    entry = {"path": str(tmp_path), "file_format_type": "text", "field_delimiter": ";", "schema": {"fields": FIELDS}}
    said = options_of(LocalFileSource, {"tables_configs": [entry], "row_error_handle_way": "SKIP"})
    made = source_of(LocalFileSource, said)
    context = Skipped(fail=False)
    assert [batch for split in plan(made).splits for batch in made.read(split, context)] == []
    assert len(context.errors) == 1


def test_a_missing_value_is_no_value_for_a_column_that_must_have_one(tmp_path: Path) -> None:
    columns = [{"name": "a", "type": "string"}, {"name": "b", "type": "string", "nullable": False}]
    with pytest.raises(RowError, match="line 1, column 'b': the value is null, but the schema has nullable = false"):
        rows(tmp_path, "x\n", Noting(), schema={"columns": columns})


@pytest.mark.parametrize(
    ("delimiter", "text"),
    [
        *((r"\|", "x|y|1\n"), (r"\|\|", "x||y||1\n"), ("[|]", "x|y|1\n"), (r"\Q||\E", "x||y||1\n"), ("|", "x|y|1\n")),
        *(("||", "x||y||1\n"), (r"\x01", "x\x01y\x011\n"), (r"\u0002", "x\x02y\x021\n"), (r"\.", "x.y.1\n")),
        *((r"\s+", "x  y\t1\n"), ("[,;]", "x,y;1\n"), (r",\s*", "x, y,1\n"), (" +", "x y   1\n"), (",|;", "x,y;1\n")),
        *((".", "x.y.1\n"), ("*", "x*y*1\n"), ("~|~", "x~|~y~|~1\n"), ("^", "x^y^1\n"), ("$$", "x$$y$$1\n")),
        *((r"\t", "x\ty\t1\n"), (r"\\", "x\\y\\1\n"), ("(?:,|--)", "x,y--1\n"), ("|#|", "x|#|y|#|1\n")),
    ],
)
def test_a_delimiter_is_an_expression(tmp_path: Path, delimiter: str, text: str) -> None:
    r"""``\|``, as everybody writes who has bars in his files, was two characters."""
    assert rows(tmp_path, text * 3, Noting(), field_delimiter=delimiter) == [("x", "y", 1)] * 3


def test_lines_between_expressions_may_be_ragged_too(tmp_path: Path) -> None:
    context = Noting()
    assert rows(tmp_path, "x y  1 z\nx\n\nx  y\n", context, field_delimiter=r"\s+") == [
        *(("x", "y", 1), ("x", None, None), ("x", "y", None)),
    ]
    assert len(context.noted) == 3


@pytest.mark.parametrize(
    ("delimiter", "says"),
    [
        (r"[a", "not a supported regular"),
        (r"\s*", "a regular expression that also matches"),
        (r"\p{L}", "not a supported regular"),
    ],
)
def test_an_expression_that_cannot_be_is_refused(delimiter: str, says: str) -> None:
    with pytest.raises(SourceError, match=f"field_delimiter .* is .*{says}.*"):
        text_or_pattern(delimiter)
