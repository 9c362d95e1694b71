"""Delimiters of several characters, for which Arrow's parser has to be shown another text than the file's."""

import gzip
import random
import re
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import Skipped, plan, read
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import RowError, SourceError, UsageError
from tests.connectors.file import local_files

FIELDS = {"fields": {"id": "bigint", "one": "string", "other": "string"}}
CONTROL = "".join(chr(sign) for sign in (*range(1, 32), 127) if chr(sign) not in "\t\r\n")
WAYS: dict[str, dict[str, Any]] = {
    "in one split": {},
    "in many splits": {"split_size": 100},
    "packed": {"compress_codec": "gzip"},
    "transcoded": {"encoding": "UTF-16LE"},
    "csv without quotes": {"file_format_type": "csv", "quote_char": ""},
}


def source(path: Path, delimiter: str, **options: Any) -> LocalFileSource:
    given = {"file_format_type": "text", "schema": FIELDS, "field_delimiter": delimiter, **options}
    return local_files.source(path, **given)


def rows(made: LocalFileSource, *, skipped: Skipped | None = None) -> list[tuple[Any, ...]]:
    found = plan(made)
    return [tuple(row.values()) for row in read(made, found, found.splits, skipped)]


def write(path: Path, text: str, options: dict[str, Any]) -> None:
    data = text.encode(options.get("encoding", "utf-8"))
    path.write_bytes(gzip.compress(data) if "compress_codec" in options else data)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("delimiter", ["||", "@#@", "\\t|", "，", "aba"])
def test_the_values_are_those_between_the_delimiters(tmp_path: Path, delimiter: str, way: str) -> None:
    """As Python splits a line, for values of the delimiter's own characters, too."""
    meant = delimiter.replace("\\t", "\t")
    chance = random.Random(f"{delimiter} {way}")
    lines: list[Any] = []
    while len(lines) < 60:
        values = ["".join(chance.choices(f"{meant}x\x01", k=chance.randrange(6))) for _ in range(2)]
        line = meant.join([str(len(lines)), *values])
        lines += [line] if len(line.split(meant)) == 3 else []
    write(tmp_path / "a", "".join(line + chance.choice(("\n", "\r\n")) for line in lines), WAYS[way])
    expected = [line.split(meant) for line in lines]
    assert rows(source(tmp_path / "a", delimiter, **WAYS[way])) == [
        (int(number), one or None, other or None) for number, one, other in expected
    ]


@pytest.mark.parametrize("way", WAYS)
def test_a_bad_row_is_named_with_its_line_and_the_others_are_read(tmp_path: Path, way: str) -> None:
    write(tmp_path / "a", "1||a||b\n2||a\n\nx||a||b\n4||a||b", WAYS[way])
    skipped = Skipped(fail=False)
    made = source(tmp_path / "a", "||", row_error_handle_way="SKIP", **WAYS[way])
    assert [row[0] for row in rows(made, skipped=skipped)] == [1, 4]
    assert [error.partition("/a, ")[2] for error in skipped.errors] == [
        "line 2: found 2 values, expected 3 (id, one, other)",
        "line 4, column 'id': 'x' is not a bigint",
    ]


def test_a_header_names_the_columns(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one||id||other\na||1||b\n")
    options = {"file_format_type": "csv", "quote_char": "", "csv_use_header_line": True}
    assert rows(source(tmp_path / "a", "||", **options)) == [(1, "a", "b")]
    found_out = local_files.source(tmp_path / "a", field_delimiter="||", **options)
    assert rows(found_out) == [("a", 1, "b")]


def test_control_characters_are_values_like_others(tmp_path: Path) -> None:
    """One that is not in the text stands for the delimiter; the rows with all of them cannot be read, and say so."""
    half = len(CONTROL) // 2
    lines = [f"1||{CONTROL[:half]}||a", f"2||{CONTROL[half:]}||b", f"3||{CONTROL}||c"]
    (tmp_path / "a").write_text("\n".join(lines) + "\n")
    skipped = Skipped(fail=False)
    assert rows(source(tmp_path / "a", "||"), skipped=skipped) == [(1, CONTROL[:half], "a"), (2, CONTROL[half:], "b")]
    assert "line 3: the text contains every control character" in skipped.errors[0]


TYPES = {"id": "bigint", "one": "string", "at": "timestamp"}


@pytest.mark.parametrize("delimiter", ["||", "@#@", "0", "10"])
def test_what_the_sink_writes_is_what_the_source_reads(tmp_path: Path, delimiter: str) -> None:
    written = [{"id": 7, "one": "|a|b", "at": None}, {"id": None, "one": "@#", "at": None}]
    if delimiter == "@#@":
        written[1]["one"] = "#"  # type: ignore[index]
    options = {"file_format_type": "text", "field_delimiter": delimiter}
    local_files.write(tmp_path / "out", TYPES, written, **options)  # type: ignore[arg-type]
    assert read(local_files.source(tmp_path / "out", schema={"fields": TYPES}, **options)) == written


@pytest.mark.parametrize(
    ("delimiter", "value"), [("||", "a||b"), ("||", "a|"), ("@#@", "a@#"), ("aba", "xab"), (";", "a;b"), ("]^", "]^")]
)
def test_a_value_that_would_be_read_as_another_is_refused(tmp_path: Path, delimiter: str, value: str) -> None:
    with pytest.raises(RowError, match=f"column 'one': {re.escape(repr(value))} contains the field delimiter"):
        local_files.write(
            tmp_path, TYPES, [{"id": 1, "one": value, "at": None}], file_format_type="text", field_delimiter=delimiter
        )


def test_where_there_are_quotes_it_is_one_character(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(SourceError, match='set file_format_type = text, or quote_char = ""'):
        source(tmp_path / "a", "||", file_format_type="csv")
    with pytest.raises(SourceError, match="one character"):
        source(tmp_path / "a", "||", file_format_type="csv", quote_char="", escape_char="\\")
    with pytest.raises((SourceError, UsageError), match=r"must be one character .* set file_format_type = text"):
        local_files.sink(tmp_path, file_format_type="csv", field_delimiter="||")
