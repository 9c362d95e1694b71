"""Values of every type at their extremes arrive unchanged in new tables, or are refused where they stand."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.testing import commit, stage
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.errors import RowError, SinkError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.duckdb.duckdb_file import asked, changed, duckdb_sink

_EXTREMES: list[tuple[pa.DataType, list[Any], str]] = [
    (pa.bool_(), [True, False], "BOOLEAN"),
    (pa.int8(), [-128, 127], "TINYINT"),
    (pa.int16(), [-(2**15), 2**15 - 1], "SMALLINT"),
    (pa.int32(), [-(2**31), 2**31 - 1], "INTEGER"),
    (pa.int64(), [-(2**63), 2**63 - 1], "BIGINT"),
    (pa.uint8(), [0, 255], "UTINYINT"),
    (pa.uint16(), [0, 2**16 - 1], "USMALLINT"),
    (pa.uint32(), [0, 2**32 - 1], "UINTEGER"),
    (pa.uint64(), [0, 2**64 - 1], "UBIGINT"),
    (pa.float16(), [-65504.0, 6e-08], "FLOAT"),
    (pa.float32(), [-3.4028234663852886e38, 1.401298464324817e-45], "FLOAT"),
    (pa.float64(), [1.7976931348623157e308, 5e-324, float("inf")], "DOUBLE"),
    (pa.decimal128(38, 0), [Decimal("9" * 38), Decimal("-" + "9" * 38)], "DECIMAL(38,0)"),
    (pa.decimal128(38, 38), [Decimal("0." + "9" * 38)], "DECIMAL(38,38)"),
    (pa.decimal128(4, 2), [Decimal("99.99"), Decimal("-0.01")], "DECIMAL(4,2)"),
    (pa.string(), ["", "a\0b", "𝕊 ä\n'\"", "x" * 100_000], "VARCHAR"),
    (pa.binary(), [b"", b"\0\xff"], "BLOB"),
    (pa.date32(), [date.min, date.max], "DATE"),
    (pa.time64("us"), [time.min, time.max], "TIME"),
    (pa.timestamp("us"), [datetime.min, datetime.max], "TIMESTAMP"),
    (
        pa.timestamp("us", "UTC"),
        [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)],
        "TIMESTAMP WITH TIME ZONE",
    ),
    (pa.timestamp("s"), [datetime(1, 1, 1)], "TIMESTAMP"),
    (pa.timestamp("ms"), [datetime(2024, 1, 1, 0, 0, 0, 999000)], "TIMESTAMP"),
    (pa.timestamp("ns"), [datetime(2024, 1, 1, 0, 0, 0, 999999)], "TIMESTAMP"),
    (pa.timestamp("ms", "Asia/Tokyo"), [datetime(2024, 1, 1, tzinfo=UTC)], "TIMESTAMP WITH TIME ZONE"),
    (pa.time32("ms"), [time(1, 2, 3, 4000)], "TIME"),
    (pa.list_(pa.timestamp("ns")), [[datetime(2024, 1, 1), None]], "TIMESTAMP[]"),
    (pa.list_(pa.int32()), [[], [1, None, 2**31 - 1]], "INTEGER[]"),
    (pa.list_(pa.float32(), 2), [[1.0, 2.0]], "FLOAT[]"),
    (pa.map_(pa.string(), pa.int64()), [{"k": 2**63 - 1}, {}], "MAP(VARCHAR, BIGINT)"),
    (pa.struct([("a", pa.int8()), ('b "c"', pa.list_(pa.string()))]), [{"a": 1, 'b "c"': ["x", None]}], ""),
]


@pytest.mark.parametrize(("mode", "key"), [("append", ""), ("merge", "id")])
def test_every_type_at_its_extremes(mode: str, key: str, tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int32()), *((f"c{number}", kind) for number, (kind, _, _) in enumerate(_EXTREMES))])
    most = max(len(values) for _, values, _ in _EXTREMES) + 1
    arrays = [pa.array(range(most), pa.int32())]
    for kind, values, _ in _EXTREMES:
        padded = values + [None] * (most - len(values))
        if pa.types.is_map(kind):
            padded = [None if each is None else list(each.items()) for each in padded]
        arrays.append(pa.array(padded, kind))
    rows = pa.RecordBatch.from_arrays(arrays, schema=columns)
    schema = TableSchema(table="t", columns=columns)
    sink = duckdb_sink(tmp_path, write_mode=mode, **({"merge_key": key} if key else {}))
    sink.prepare(sink_place(place()))
    commit(sink, [stage(sink, schema, [rows], place())], place())
    types = "SELECT data_type FROM duckdb_columns() WHERE table_name = 'orders' ORDER BY column_index"
    declared = [kind for (kind,) in asked(tmp_path, types)][1:]
    for number, (kind, values, wanted) in enumerate(_EXTREMES):
        found = [value for (value,) in asked(tmp_path, f"SELECT c{number} FROM orders ORDER BY id")]
        if kind == pa.float16():
            values = [pa.scalar(value, kind).as_py() for value in values]
        assert found == values + [None] * (most - len(values)), kind
        assert not wanted or declared[number] == wanted


@pytest.mark.parametrize("kind", [pa.decimal256(50, 0), pa.duration("s"), pa.struct([])])
def test_types_that_duckdb_lacks_are_refused_by_column(kind: pa.DataType, tmp_path: Path) -> None:
    sink = duckdb_sink(tmp_path)
    sink.prepare(sink_place(place()))
    with pytest.raises(SinkError, match=r"column 'v' of the table t has the type .*DuckDB has no type"):
        sink.create_tables((TableSchema(table="t", columns=pa.schema([("v", kind)])),), sink_place(place()))


@pytest.mark.parametrize(
    ("declared", "kind", "good", "bad"),
    [
        ("SMALLINT", pa.int64(), 2**15 - 1, 2**15),
        ("UBIGINT", pa.int64(), 2**63 - 1, -1),
        ("DECIMAL(5,2)", pa.int64(), 999, 1000),
        ("DECIMAL(5,2)", pa.decimal128(38, 4), Decimal("999.9900"), Decimal("0.0010")),
        ("DECIMAL(5,2)", pa.decimal128(38, 2), Decimal("-999.99"), Decimal("1000.00")),
        ("INTEGER", pa.decimal128(10, 1), Decimal("7.0"), Decimal("7.1")),
        ("DOUBLE", pa.int64(), 2**53, 2**53 + 1),
        ("FLOAT", pa.int32(), 2**24, 2**24 + 1),
    ],
)
def test_a_value_that_another_type_cannot_hold_is_refused_in_its_row(
    declared: str, kind: pa.DataType, good: Any, bad: Any, tmp_path: Path
) -> None:
    changed(tmp_path, f"CREATE TABLE orders (v {declared})")
    sink, schema = duckdb_sink(tmp_path), TableSchema(table="t", columns=pa.schema([("V", kind)]))
    sink.prepare(sink_place(place()))
    rows = [
        pa.RecordBatch.from_arrays([pa.array(values, kind)], schema=schema.columns) for values in ([good], [good, bad])
    ]
    commit(sink, [stage(sink, schema, rows[:1], place())], place())
    assert asked(tmp_path, "SELECT v FROM orders") == [(good,)]
    with pytest.raises(RowError, match=r"column 'V', row 2 of a batch of t"):
        stage(sink, schema, rows[1:], place(unit=2))


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("UUID", pa.string()),
        ("FLOAT", pa.float64()),
        ("VARCHAR", pa.int64()),
        ("TIMESTAMP", pa.timestamp("us", "UTC")),
        ("INTEGER[]", pa.list_(pa.int64())),
        ("STRUCT(b INTEGER)", pa.struct([("a", pa.int32())])),
    ],
)
def test_types_whose_values_would_change_are_refused_before_rows_move(
    declared: str, kind: pa.DataType, tmp_path: Path
) -> None:
    changed(tmp_path, f"CREATE TABLE orders (v {declared})")
    sink = duckdb_sink(tmp_path)
    sink.prepare(sink_place(place()))
    with pytest.raises(SinkError, match=r"column 'v'.*does not fit into"):
        sink.create_tables((TableSchema(table="t", columns=pa.schema([("v", kind)])),), sink_place(place()))


def test_columns_that_are_missing_required_or_twice_are_refused(tmp_path: Path) -> None:
    changed(tmp_path, "CREATE TABLE orders (id BIGINT NOT NULL, name VARCHAR)", "CREATE VIEW seen AS FROM orders")
    sink = duckdb_sink(tmp_path)
    sink.prepare(sink_place(place()))
    for names, said in (
        (["id", "nme"], "has no column 'nme'.*did you mean name"),
        (["name"], "requires a column 'id'"),
        (["id", "ID"], "two columns of the rows of t would be written to 'id'"),
    ):
        schema = TableSchema(table="t", columns=pa.schema([(name, pa.int64()) for name in names]))
        with pytest.raises(SinkError, match=said if "name" not in names else "does not fit|requires"):
            sink.create_tables((schema,), sink_place(place()))
    seen = duckdb_sink(tmp_path, table="seen")
    with pytest.raises(SinkError, match=r"main.seen is a view"):
        seen.create_tables((TableSchema(table="t", columns=pa.schema([("id", pa.int64())])),), sink_place(place()))


def test_null_in_a_required_column_is_refused_in_its_row(tmp_path: Path) -> None:
    changed(tmp_path, "CREATE TABLE orders (id BIGINT NOT NULL)")
    sink, schema = duckdb_sink(tmp_path), TableSchema(table="t", columns=pa.schema([("id", pa.int64())]))
    sink.prepare(sink_place(place()))
    rows = pa.RecordBatch.from_arrays([pa.array([1, None])], schema=schema.columns)
    with pytest.raises(RowError, match=r"column 'id', row 2 .* may not be null"):
        stage(sink, schema, [rows], place())
