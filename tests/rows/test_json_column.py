"""The texts that Arrow's kernels make of a column are those that ``json_text`` makes of each value."""

import datetime as dt
import json
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seatunnel_core.errors import RowError
from seatunnel_core.rows.json_column import json_lines
from seatunnel_core.rows.native_json import NativeJson, parsed
from seatunnel_core.rows.schema_block import table_schema
from seatunnel_core.rows.types import arrow_type
from seatunnel_core.rows.value_text import json_text
from seatunnel_core.rows.values import converter, row_converter

SIGNS = st.text(st.one_of(st.sampled_from('"\\\n\x00\x1f\x7f,{é漢😀'), st.characters(codec="utf-8")), max_size=5)
NAIVE = st.one_of(st.datetimes(), st.datetimes().map(lambda each: each.replace(microsecond=0)))
TIMES = st.one_of(st.times(), st.times().map(lambda each: each.replace(microsecond=0)))
DECIMALS = st.decimals(-(10**6), 10**6, places=8)
SINGLES = st.floats(width=32)
DOUBLES = st.one_of(st.floats(), st.sampled_from([0.0, -0.0, 1e15, 1e16, 123456789012345.6, 1e-4, 9e-5, 100.0, 1.0]))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": SIGNS,
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "float": SINGLES,
    "double": DOUBLES,
    "decimal(20, 8)": DECIMALS,
    "decimal(60, 8)": DECIMALS,
    "null": st.none(),
    "bytes": st.binary(max_size=4),
    "date": st.dates(),
    "time": TIMES,
    "timestamp": NAIVE,
    "timestamp_tz": NAIVE.map(lambda each: each.replace(tzinfo=dt.UTC)),
    "array<double>": st.lists(st.none() | DOUBLES, max_size=3),
    "array<array<string>>": st.lists(st.none() | st.lists(st.none() | SIGNS, max_size=3), max_size=3),
    "array<decimal(20, 8)>": st.lists(st.none() | DECIMALS, max_size=3),
    "map<string, int>": st.lists(st.tuples(SIGNS, st.none() | st.integers(0, 9)), max_size=3),
    "map<bigint, time>": st.lists(st.tuples(st.integers(0, 3), TIMES), max_size=3),
    "map<double, string>": st.lists(st.tuples(DOUBLES, SIGNS), max_size=3),
    '{"a \\"b" = timestamp, c = {d = string}}': st.fixed_dictionaries(
        {'a "b': st.none() | NAIVE, "c": st.none() | st.fixed_dictionaries({"d": st.none() | SIGNS})}
    ),
    "array<{a = bytes, b = map<string, double>}>": st.lists(
        st.none()
        | st.fixed_dictionaries({"a": st.binary(max_size=3), "b": st.lists(st.tuples(SIGNS, DOUBLES), max_size=2)}),
        max_size=3,
    ),
    "float_vector(2)": st.lists(SINGLES, min_size=2, max_size=2),
}


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, list[Any]]:
    kind = draw(st.sampled_from(list(VALUES)))
    return kind, draw(st.lists(st.none() | VALUES[kind], max_size=8))


@given(column=columns(), skipped=st.integers(0, 3))
@example(("array<array<string>>", [[["a"], None, []], None, [], [["b", None]]]), 1)
@example(("map<string, int>", [[("a", 1), ("a", 2)], [("b", 1)]]), 0)
@example(("float", [1.0, -1.0, 100.0, 16777216.0, 123456792.0, 1e14]), 0)
@example(("double", [1.0, -1.0, 0.0, 123456789012345.0, 1e14, 1e15]), 0)
@example(("double", [9999999999.5, 10000000000.5, 123456789012.25]), 0)
@example(("double", [float("nan"), float("inf"), -0.0, 1e22, 5e-324]), 1)
def test_the_text_of_each_value_is_the_same(column: tuple[str, list[Any]], skipped: int) -> None:
    """Also in the middle of a larger array, as a batch that was cut has it. Both refuse a map that has a key twice."""
    kind = arrow_type(column[0])
    array = pa.array(column[1], kind)[skipped:]
    batch = pa.RecordBatch.from_arrays([array], names=["c"])
    try:
        for value in array.to_pylist():
            json_text(value, kind)
    except ValueError:
        with pytest.raises(RowError, match="column 'c': a map contains the key"):
            json_lines(batch, "\n")
        return
    lines = json_lines(batch, "\n").to_pylist()
    if not pa.types.is_decimal(kind):  # those are numbers of as many digits as they have
        assert lines == [f'{{"c":{json_text(value, kind)}}}\n' for value in array.to_pylist()]
    for line in lines:
        json.loads(line)


@pytest.mark.parametrize("kind", ["timestamp[ns]", "timestamp[ms]", "date64", "time32[s]", "large_string", "halffloat"])
def test_types_that_other_programs_write_are_texts_as_they_were(kind: str) -> None:
    array = pa.array([None, 0], pa.int64()).cast(pa.timestamp("us")).cast(pa.string()) if "string" in kind else None
    if array is None:
        number = pa.array([None, 86_400_000], pa.int64())
        array = pa.array([None, 1.5], pa.float16()) if kind == "halffloat" else None
        array = array or (number.cast(pa.int32()) if "32" in kind else number).cast(pa.type_for_alias(kind))
    lines = json_lines(pa.RecordBatch.from_arrays([array], names=["c"]), "\n").to_pylist()
    assert lines == [f'{{"c":{json_text(value, array.type)}}}\n' for value in array.to_pylist()]


def test_rows_without_columns_are_objects_without_fields() -> None:
    rows = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert json_lines(rows, "\r\n").to_pylist() == ["{}\r\n"] * 2


def test_a_process_that_reads_and_writes_json_does_not_import_pandas() -> None:
    """``pa.array`` of a list does, which took two seconds of the processor."""
    program = """
import sys
import pyarrow as pa
from seatunnel_core.rows.json_column import json_lines
from seatunnel_core.rows.native_json import NativeJson
columns = pa.schema([("a", pa.list_(pa.float32())), ("b", pa.date32()), ("c", pa.decimal128(5, 2)), ("d", pa.string())])
rows = NativeJson(columns, None).rows(b'{"a": [1.5], "b": "2024-02-29", "c": 1.5, "d": "x\\\\\\\\n"}\\n')
print(json_lines(rows, "\\n")[0].as_py(), "pandas" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[-2].strip() == "False"


def test_common_values_are_not_written_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_core.rows.json_column.json_text", lambda value, _: pytest.fail(f"{value} alone"))
    values: dict[str, list[Any]] = {
        "string": ["a", 'a "b"\n', None],
        "double": [1.5, 0.0, None],
        "array<float>": [[0.1, None], [], None],
        "map<string, decimal(9, 2)>": [[("a", None)], [], None],
        "{a = date, b = timestamp}": [{"a": dt.date(2024, 1, 1), "b": dt.datetime(2024, 1, 1)}, None],
        "time": [dt.time(1, 2, 3), dt.time(1, 2, 3, 4), None],
        "timestamp_tz": [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None],
    }
    for kind, column in values.items():
        rows = pa.RecordBatch.from_arrays([pa.array(column, arrow_type(kind))], names=["c"])
        assert json.loads(json_lines(rows, "\n")[-1].as_py()) == {"c": None}


@pytest.mark.parametrize(
    "kind", ["array<float>", "array<double>", "array<string>", "map<string, double>", "{a = float}"]
)
def test_a_column_that_is_null_everywhere_is_written(kind: str) -> None:
    """Arrow's buffers of such a column have odd sizes, which ended in an exception of numpy."""
    nulls = pa.nulls(5, arrow_type(kind))
    assert json_lines(pa.RecordBatch.from_arrays([nulls], names=["c"]), ";").to_pylist() == ['{"c":null};'] * 5


def test_decimals_are_numbers_with_all_digits_at_any_depth() -> None:
    """They were texts inside rows, arrays and maps, and ``0E-10`` for a zero with many digits."""
    fields = {"a": "decimal(38, 10)", "b": "array<decimal(5, 2)>", "c": {"d": "decimal(38, 2)", "e": "string"}}
    fields |= {"m": "map<string, decimal(3, 1)>"}
    schema = table_schema({"fields": fields, "table": "t"})
    assert schema is not None
    zero, large = Decimal("0E-10"), Decimal("9" * 36 + ".99")
    rows = [
        {"a": zero, "b": [Decimal("1.50"), None], "c": {"d": large, "e": '"'}, "m": [("k", Decimal("-0.5"))]},
        {"a": Decimal("1E-10"), "b": [], "c": {"d": None, "e": None}, "m": None},
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema=schema.columns)
    written = json_lines(batch, "\n").to_pylist()
    assert written == [
        '{"a":0.0000000000,"b":[1.50,null],"c":{"d":' + "9" * 36 + '.99,"e":"\\""},"m":{"k":-0.5}}\n',
        '{"a":0.0000000001,"b":[],"c":{"d":null,"e":null},"m":null}\n',
    ]
    texts = [
        ",".join(f'"{name}":{json_text(row[name], batch.schema.field(name).type)}' for name in row) for row in rows
    ]
    assert written == [f"{{{text}}}\n" for text in texts]
    both = "".join(written) + written[0].replace("1.50", '"1.50"').replace(".99,", '.99",').replace('"d":9', '"d":"9')
    found = NativeJson(batch.schema, converter).rows(both.encode())
    read = [row_converter(batch.schema)(parsed(line.encode())) for line in both.splitlines()]
    assert read == [*rows, rows[0]]
    assert found is None or found.to_pylist() == [*rows, rows[0]]
