"""Whatever the split size, ``LocalFile`` reads from a CSV or JSON file what was written into it, row by row.

The oracle is the value that was drawn; the text is written by a writer of the test's own, with quotes where they are
needed and sometimes where they are not, so that nothing of ours stands on both sides.
"""

import datetime as dt
import decimal
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import Skipped, options_of, plan, read
from seatunnel_core.connectors.file.formats import cutting
from seatunnel_core.connectors.file.formats.delimited import reader
from seatunnel_core.connectors.file.source import LocalFileSource
from seatunnel_core.errors import RowError

SIGNS = st.characters(codec="utf-8", exclude_characters="\x00")
TEXTS = st.one_of(
    st.text(SIGNS, max_size=6),
    st.text(st.sampled_from('"\n\r,; aé\ufeff漢'), max_size=8),
    st.sampled_from(['""', '"', "\n", "\r\n", "NA", "a\nb", 'x","y', "\ufeffstart"]),
)
MOMENTS = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))
COLUMNS = {
    "string": TEXTS,
    "int": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "decimal(20, 4)": st.decimals(-(10**15), 10**15, places=4),
    "boolean": st.booleans(),
    "date": st.dates(dt.date(1700, 1, 1), dt.date(2200, 1, 1)),
    "timestamp": MOMENTS,
    "timestamp_tz": st.builds(lambda moment: moment.replace(tzinfo=dt.UTC), MOMENTS),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[Any]]]:
    """Types of columns, and rows in which some values are null; the first column never is, so no line is empty."""
    types = ["int", *draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=4))]
    first = [COLUMNS["int"]]
    rest = [st.one_of(st.none(), COLUMNS[kind]) for kind in types[1:]]
    return types, [list(row) for row in draw(st.lists(st.tuples(*first, *rest), max_size=25))]


def as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.isoformat(" ").replace("+00:00", "Z")
    return repr(value) if isinstance(value, float) else str(value)


def as_csv(rows: list[list[Any]], quote_all: bool, line_ends: list[str], null: str) -> str:
    """One line end per row, taken in turn; an empty line here and there says nothing."""
    parts = []
    for number, row in enumerate(rows):
        fields = []
        for value in row:
            text = null if value is None else as_text(value)
            special = isinstance(value, str) and (text in ("", "NA") or any(sign in text for sign in '",\r\n'))
            quoted = value is not None and (special or quote_all)
            fields.append('"' + text.replace('"', '""') + '"' if quoted else text)
        parts.append(",".join(fields) + line_ends[number % len(line_ends)])
    return "".join(parts)


def read_in_pieces(monkeypatch: pytest.MonkeyPatch, chunk: int, block: int) -> None:
    """Let pieces be as small as they are asked for, and chunks and blocks have so many bytes."""
    monkeypatch.setattr(cutting, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(cutting, "SMALLEST_PIECE", 1)
    monkeypatch.setattr(reader, "BLOCK_BYTES", block)


@given(
    table=tables(),
    split_size=st.integers(1, 200),
    chunk=st.one_of(st.integers(1, 64), st.just(1 << 20)),
    block=st.sampled_from([32, 256, 1 << 20]),
    quote_all=st.booleans(),
    line_ends=st.lists(st.sampled_from(["\n", "\r\n", "\n\n", "\r"]), min_size=1, max_size=3),
    null=st.sampled_from(["", "NA"]),
    header=st.booleans(),
    rate=st.sampled_from([None, 1]),
    codec=st.sampled_from(["none", "none", "gzip"]),
)
@example(([*("int", "string")], [[1, "\ufeff"], [2, None]]), 1, 1, 32, False, ["\n"], "", False, None, "none")
@example(([*("int", "string")], [[1, 'a"\n"b'], [2, "\n" * 40]]), 3, 2, 32, True, ["\r\n"], "NA", True, 1, "none")
@example(
    ([*("int", "string")], [[1, "a" * (n % 9) + "\r\n"] for n in range(99)]),
    9999,
    1,
    32,
    False,
    ["\r\n"],
    "",
    False,
    None,
    "none",
)
@example(([*("int", "string")], [[1, "a" + "\r" * 80 + "\n"]]), 9999, 1, 32, False, ["\n"], "", False, None, "gzip")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_split_of_a_csv_file_gives_what_was_written(
    monkeypatch: pytest.MonkeyPatch,
    table: tuple[list[str], list[list[Any]]],
    split_size: int,
    chunk: int,
    block: int,
    quote_all: bool,
    line_ends: list[str],
    null: str,
    header: bool,
    rate: int | None,
    codec: str,
) -> None:
    types, rows = table
    names = [f"c{number}" for number in range(len(types))]
    text = as_csv(rows, quote_all, line_ends, null)
    if header:
        text = ",".join(names) + "\n" + text
        chunk = max(chunk, len(names) * 4)
    read_in_pieces(monkeypatch, chunk, block)
    found, splits = read_text(
        text,
        {
            "file_format_type": "csv",
            "schema": {"fields": dict(zip(names, types, strict=True))},
            "split_size": split_size,
            "null_format": "NA",
            "csv_use_header_line": header,
            "compress_codec": codec,
        },
        rate,
    )
    assert [list(row.values()) for row in found] == rows
    if (
        chunk >= len(text) > 2 * split_size
        and len(rows) > split_size
        and set(line_ends) == {"\n"}
        and not (header or rate or codec != "none")
    ):
        assert splits >= 2, "what can be cut is cut"


@settings(max_examples=int(os.environ.get("SEATUNNEL_EXAMPLES", "40")))  # each opens a file for each row or so
@given(table=tables(), split_size=st.integers(1, 100), block=st.sampled_from([16, 1 << 20]))
def test_any_split_of_json_lines_gives_what_was_written(
    table: tuple[list[str], list[list[Any]]], split_size: int, block: int
) -> None:
    types, rows = table
    names = [f"c{number}" for number in range(len(types))]

    def plain(value: Any) -> Any:
        return value if value is None or isinstance(value, (bool, int, float, str)) else as_text(value)

    text = "".join(
        json.dumps({name: plain(value) for name, value in zip(names, row, strict=True)}, ensure_ascii=False) + "\n"
        for row in rows
    )
    schema = {"fields": dict(zip(names, types, strict=True))}
    found, _ = read_text(text, {"file_format_type": "json", "schema": schema, "split_size": split_size}, None)
    assert [list(row.values()) for row in found] == rows
    assert block


@given(text=st.text(st.sampled_from('"",\n\rab'), max_size=60), split_size=st.integers(1, 20), chunk=st.integers(1, 20))
@example(text='""\n"",', split_size=1, chunk=1)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_text_that_is_quoted_anyhow_gives_the_same_rows_and_errors_however_it_is_cut(
    monkeypatch: pytest.MonkeyPatch, text: str, split_size: int, chunk: int
) -> None:
    monkeypatch.setattr(cutting, "CHUNK_BYTES", chunk)
    options = {
        "file_format_type": "csv",
        "schema": {"fields": {"a": "string", "b": "string"}},
        "row_error_handle_way": "SKIP",
    }
    cut, _ = read_text(text, {**options, "split_size": split_size}, None, fail=False)
    whole, _ = read_text(text, {**options, "enable_file_split": False}, None, fail=False)
    assert cut == whole


def read_text(
    text: str, options: dict[str, Any], rate: int | None, *, fail: bool = True
) -> tuple[list[dict[str, Any]], int]:
    with tempfile.TemporaryDirectory() as folder:
        body = text.encode()
        codec = options.get("compress_codec", "none")
        (Path(folder) / "file").write_bytes(body if codec == "none" else pa.compress(body, codec, asbytes=True))
        source = LocalFileSource(options_of(LocalFileSource, {"path": folder, **options}))
        found = plan(source, PlanningContext(parallelism=2, rows_per_second=rate))
        return read(source, found, context=Skipped(fail=fail)), len(found.splits)


def test_a_byte_order_mark_is_dropped_at_the_beginning_and_kept_in_a_value_at_the_beginning_of_a_split() -> None:
    text = "\ufeffa,1\n\ufeffb,2\n\ufeffc,3\n"
    schema = {"fields": {"text": "string", "number": "int"}}
    found, splits = read_text(text, {"file_format_type": "csv", "schema": schema, "split_size": 1}, None)
    assert ([row["text"] for row in found], splits) == (["a", "\ufeffb", "\ufeffc"], 3)


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("columns", [["a", "b"], ["a"], ["b"]])
def test_a_quote_that_is_never_closed_is_a_bad_row(codec: str, columns: list[str]) -> None:
    """Arrow takes such a value for complete, and with it all that follows in the file."""
    options = {
        "file_format_type": "csv",
        "schema": {"fields": {"a": "string", "b": "string"}},
        "read_columns": columns,
        "compress_codec": codec,
    }
    found, _ = read_text('1,"x"\n,"open\n3,y\n', options, None, fail=False)
    assert [list(row.values()) for row in found] == [[{"a": "1", "b": "x"}[column] for column in columns]]
    with pytest.raises(RowError, match="file, line 2: this quote is not closed"):
        read_text('1,"x"\n,"open\n3,y\n', options, None)


def test_decimals_keep_every_digit() -> None:
    found, _ = read_text(
        "12345678901234567890123456789.012345678\n",
        {"file_format_type": "csv", "schema": {"fields": {"a": "decimal(38, 9)"}}},
        None,
    )
    assert found == [{"a": decimal.Decimal("12345678901234567890123456789.012345678")}]
