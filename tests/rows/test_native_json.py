"""Arrow's JSON parser gives what the reference reader gives, or leaves the text to it.

The reference reader, which reads a line at a time with Python's ``json``, is the oracle.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seatunnel_core.connector_api.testing import Skipped, read
from seatunnel_core.rows.native_json import NativeJson
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.rows.values import Converter, converter
from tests.connectors.file import local_files

TYPES = """string; boolean; tinyint; int; bigint; float; double; decimal(10, 2); decimal(38, 2); decimal(38, 18)
    decimal(50, 2); decimal(76, 38); null; bytes; date; time; timestamp; timestamp_tz; array<int>; array<string>
    array<double>; array<array<date>>; map<string, int>; map<int, double>; {a = int, b = string}
    {a = {a = decimal(10, 2)}}; array<{a = timestamp, b = bytes}>; {a = map<string, int>}; float_vector(2)
    float16_vector(2); bfloat16_vector(2); binary_vector(16); sparse_float_vector"""
NUMBERS = """0 -0 1 -1 1.0 1.5 -0.0 0.1 1e2 1e-2 1.50 1.005 127 128 300 16777217 9007199254740993 12345678901234567890
    9223372036854775808 1e18 1E400 1e-400 1e36 1e37 -1e37 1e40 3.4e38 3.5e38 99999999999999999999999999999999999999
    -12345678901234567890123456789012345678 0.1000000014901161193847656250001 1.00000005960464477539062500000001
    NaN Infinity -Infinity Inf -Inf -NaN nan 01 1. .5 +1 0x1 - 1e"""
TEXTS = r"""1 1e3 1.5 NaN true 2024-02-29 2024-02-30 0000-01-01 0001-01-01 9999-12-31 20240101 2024-01 2024-W01-1
    2024-01-01T00:00:00Z 2024-01-01T00:00:00+02:00 0001-01-01T00:00:00+02:00 9999-12-31T23:59:59-02:00
    2024-01-01T10:20:30.5 2024-01-01T10:20:30.123456 2024-01-01T10:20:30.1234567 2024-01-01T10 2024-01-01T24:00:00
    2024-01-01T10:20:60 2024-01-01T10:20:30+0200 2024-01-01T10:20:30+02 10:20 10:20:30 10:20:30.5 24:00 10:20:30Z
    aGk= a \ud83d\ude00 \ud800 \u0000 \n \/ \x é漢 }{ Inf null [1] {\"a\":1} {a=1}"""
OTHERS = r"""
"2024-01-01 10:20:30" | " 2024-01-01 " | "" | " 1 " | true | false | null | {} | [] | [1] | [1,null] | [1.5,2] | [[]]
[["2024-01-01"],null] | {"a":1,"b":"x"} | {"b":null} | {"a":1,"a":2} | {"a":{"a":1.5}} | [0,-0.0] | [255,1] | \u00a0
[{"a":"2024-01-01T00:00:00","b":"aGk="},null,{}] | {"1":-0,"2":1} | {"é":300}"""
LIKELY = '1 0 null 1.5 "x" "1" "2024-01-01" "10:20:30" {"a":1,"b":"x"} [1,null] [1.5,2]'
LINES = """{"c":%s} | {"c":%s} | {"c":%s} | {"c":%s} | {"c":%s,"x":%s} | {"x":[%s],"c":%s,"d":%s} | {"d":%s} | {}
{ "c" : %s , "d" : %s }"""
ODD_LINES = """{"c":%s,"c":%s} | {"c":%s}{"c":%s} | {"c":%s}null{"c":1} | {"c": | %s} | %s | {"c":{"x":%s} | null | [] |
{"c":[{} | {}]} | \ufeff{"c":%s} |  {"c":%s}\t | {"c":%s,} | {"c":%s | {"\\u0063":%s} | {}}{ | """


def parts(text: str, between: str) -> list[str]:
    return [part.strip(" \n") for part in re.split(between, text)]


KINDS = st.sampled_from(parts(TYPES, "[;\n]"))
VALUES = st.sampled_from([*NUMBERS.split(), *(f'"{text}"' for text in TEXTS.split()), *parts(OTHERS, "[|\n]")])
SURE, ODD = parts(LINES, "[|\n]"), parts(ODD_LINES, "[|\n]")


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Lines that Arrow's parser can read most of the time, with an odd one among them every other time."""
    values = draw(st.sampled_from([VALUES, st.sampled_from(LIKELY.split())]))
    lines = draw(st.lists(st.sampled_from(draw(st.sampled_from([SURE, SURE + ODD]))), min_size=1, max_size=6))
    ends = draw(st.sampled_from([["\n"], ["\n"], ["\r\n"], ["\n", "\r\n", "\r", "\n\n"]]))
    found = []
    for line in lines:
        found += [line % tuple(draw(values) for _ in range(line.count("%s"))), draw(st.sampled_from(ends))]
    text = "".join(found[:-1] if draw(st.booleans()) else found).encode()
    return text if draw(st.integers(0, 19)) else text + b'{"x":"\xff"}\n'


def both(text: bytes, fields: dict[str, str]) -> tuple[Any, Any]:
    """What ``LocalFile`` finds, and what it finds without Arrow's parser: rows and errors."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder, "a.json").write_bytes(text)
        found = []
        for _ in range(2):
            made = local_files.source(folder, schema={"fields": fields}, file_format_type="json")
            skipped = Skipped(fail=False)
            rows = read(made, context=skipped)
            found.append((list(map(repr, rows)), skipped.errors))
            patch.setattr(NativeJson, "rows", lambda *_: None)
    return found[0], found[1]


@given(text=texts(), kind=KINDS, other=KINDS)
@example(b'{"c":1}{"c":2}\n{"c":3}\n', "int", "int")
@example(b'{"c":\n1}\n{"c":3}{"c":4}\n', "int", "int")
@example(b'{"c":[{}\n{}]}\n', "int", "int")
@example(b"null\n", "int", "int")
@example(b'{"c":"2024-01-01T00:00:00Z"}\n', "timestamp", "int")
@example(b'{"c":-0}\n{"c":-0.0}\n', "double", "int")
@example(b'{"c":Inf}\n', "double", "int")
@example(b'{"c":1,"x":-NaN}\n', "int", "int")
@example(b'{"c":1,"x":"\xff"}\n', "int", "int")
@example(b'{"c":"\xed\xa0\x80"}\n', "string", "int")
@example(b'{"c":1e36}\n', "decimal(38, 2)", "int")
@example(b'{"c":99999999999999999999999999999999999999}\n', "decimal(38, 18)", "int")
@example(b'{"c":"0000-01-01"}\n', "timestamp", "int")
@example(b'{"c":0.1000000014901161193847656250001}\n', "float", "int")
@example(b'{"c":{"a":-0}}\n', "{a = double}", "int")
def test_rows_and_errors_are_those_of_the_careful_reader(text: bytes, kind: str, other: str) -> None:
    """``Inf`` and bytes that are no UTF-8 were taken, ``Z`` behind a local time was left out, two objects on a line
    were two rows, and a line ``null`` ended the process."""
    found, expected = both(text, {"c": kind, "d": other})
    assert found == expected


COMMON: dict[str, tuple[str, str]] = {
    "string": ('"x"', '"\\u00e9\\n\\""'),
    "boolean": ("true", "false"),
    "bigint": ("1", "-9223372036854775808"),
    "float": ("0.1", "1e10"),
    "double": ("0.1", "1e300"),
    "decimal(10, 2)": ("0.1", '"12.50"'),
    "decimal(38, 18)": ("0.1", "-12345678901234567890.000000000000000001"),
    "bytes": ('"aGk="', '""'),
    "date": ('"2024-02-29"', '"0001-01-01"'),
    "time": ('"10:20:30"', '"10:20:30.5"'),
    "timestamp": ('"2024-02-29T10:20:30"', '"2024-02-29 10:20:30.123456"'),
    "timestamp_tz": ('"2024-02-29T10:20:30Z"', '"2024-02-29 10:20:30+02:00"'),
    "array<{a = date, b = array<double>}>": ('[{"a": "2024-02-29", "b": [0, null]}, null]', "[]"),
    "{a = {b = decimal(38, 18)}}": ('{"a": {"b": 1}, "x": [{"a": 1}]}', '{"a": null}'),
    "float_vector(2)": ("[1, 2.5]", "[0.1, 0]"),
}


@pytest.mark.parametrize("kind", COMMON)
def test_common_values_are_left_to_the_parser(kind: str) -> None:
    """The whole of what it gives as the reference reader does is fast, not integers and texts alone."""
    text = "".join(f'{{"c": {value}}}\n' for value in COMMON[kind]).encode()
    columns = pa.schema([("c", arrow_type(kind))])

    def never(kind: pa.DataType) -> Converter:
        raise AssertionError(f"{kind} was read with care")

    found = NativeJson(columns, never).rows(text)
    assert found is not None
    assert found.num_rows == 2
    found.validate(full=True)
    missing = NativeJson(columns, never).rows(b'{"c": null}\r\n{}\r\n')
    assert "vector" in kind or missing.to_pylist() == [{"c": None}] * 2  # type: ignore[union-attr]


def test_a_column_that_the_parser_does_not_read_is_made_beside_the_others_that_it_reads() -> None:
    """A text that holds objects, and a map, left all columns of their blocks to the reference reader."""
    columns = pa.schema([("id", pa.int64()), ("text", pa.string()), ("map", pa.map_(pa.string(), pa.int64()))])
    asked = set()

    def converters(kind: pa.DataType) -> Converter:
        asked.add(str(kind))
        return converter(kind)

    native = NativeJson(columns, converters)
    for _ in range(2):
        found = native.rows(b'{"id": 1, "text": {"a": 1.50}, "map": {"b": 2}}\n{"id": 2, "text": "x"}\n')
        assert found is not None
        assert found.to_pylist() == [
            {"id": 1, "text": '{"a":1.50}', "map": [("b", 2)]},
            {"id": 2, "text": "x", "map": None},
        ]
    assert asked == {"string", "map<string, int64>"}


def test_a_null_in_a_column_that_has_none_is_left_to_the_careful_reader() -> None:
    columns = pa.schema([pa.field("c", pa.int64(), nullable=False)])
    assert NativeJson(columns, converter).rows(b'{"c": 1}\n') is not None
    assert NativeJson(columns, converter).rows(b'{"c": 1}\n{}\n') is None
