"""``Sql``: what it selects, and what becomes of kinds, keys and nested columns."""

import datetime as dt
import decimal
import sys
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.transforms.sql.transform import Sql
from tests.transforms.tables import PEOPLE, batch_of, changed, made

NESTED = TableSchema(
    table="default",
    columns=pa.schema(
        [
            ("c_row", pa.struct([("c_int", pa.int32()), ("next row", pa.struct([("Text", pa.string())]))])),
            ("c_map", pa.map_(pa.string(), pa.int32())),
            ("c_ids", pa.map_(pa.int32(), pa.string())),
            ("c_array", pa.list_(pa.string())),
            ("c_at", pa.int32()),
        ]
    ),
)
NESTED_ROWS = [
    ({"c_int": 1, "next row": {"Text": "x"}}, [("k", 7)], [(1, "one")], ["p", "q"], 1),
    ({"c_int": None, "next row": None}, [], [(2, "two")], [], 0),
    (None, None, None, None, None),
]


def selected(query: str, **more: Any) -> list[tuple[Any, ...]]:
    return [row for _, row in changed(made(Sql, query=query), **more)]


def test_the_example_of_seatunnels_page() -> None:
    sql = made(Sql, query="select id, concat(name, '_') as name, age+1 as age from fake where id>1")
    assert sql.output_schema(PEOPLE) == PEOPLE.__class__(
        table=PEOPLE.table, columns=PEOPLE.columns, primary_key=("id",)
    )
    assert changed(sql) == [("DELETE", (2, "_", None))]


def test_a_row_keeps_its_kind() -> None:
    assert changed(made(Sql, query="SELECT age FROM t WHERE age > 20 OR age IS NULL")) == [
        ("UPDATE_AFTER", (21,)),
        ("DELETE", (None,)),
    ]


@pytest.mark.parametrize(
    ("query", "names", "key"),
    [
        ("SELECT * FROM t", ["id", "name", "age"], ("id",)),
        ("SELECT t.*, id + 1 AS next FROM t", ["id", "name", "age", "next"], ("id",)),
        ("SELECT name, people.id AS `the key` FROM shop.people", ["name", "the key"], ("the key",)),
        ('SELECT p.`id` AS "K" FROM people p', ["K"], ("K",)),
        ("SELECT name FROM t", ["name"], ()),
        ("SELECT id + 0 AS id FROM t", ["id"], ()),
        ("SELECT Upper( name ), 1 FROM dual", ["Upper(name)", "1"], ()),
    ],
)
def test_names_and_primary_key(query: str, names: list[str], key: tuple[str, ...]) -> None:
    schema = made(Sql, query=query).output_schema(PEOPLE)
    assert (schema.columns.names, schema.primary_key, schema.table) == (names, key, PEOPLE.table)
    changed(made(Sql, query=query))


def test_the_tables_name_before_a_column_beside_a_column_of_that_name() -> None:
    """``t.id`` was the part id of the column t, which has none; SeaTunnel takes the column id."""
    columns = pa.schema([("id", pa.int64()), ("t", pa.string()), ("r", pa.struct([("id", pa.int32())]))])
    table = TableSchema(table="t", columns=columns, primary_key=("id",))
    sql = made(Sql, query="SELECT t.id, t.t AS t, t.r.id AS part FROM t")
    assert sql.output_schema(table).primary_key == ("id",)
    assert changed(sql, [(1, "x", {"id": 2})], table, None) == [("INSERT", (1, "x", 2))]
    sql = made(Sql, query="SELECT r.id AS a, r.r.id AS b, r.t AS c FROM r WHERE r.id = 1")
    assert changed(sql, [(1, "x", {"id": 2})], table, None) == [("INSERT", (1, 2, "x"))]


def test_a_unit_of_time_is_first_or_last_and_a_column_of_its_name_stays_a_column() -> None:
    table = TableSchema(table="t", columns=pa.schema([("DAY", pa.date32()), ("at", pa.timestamp("us"))]))
    sql = made(
        Sql,
        query="SELECT DATE_TRUNC('MONTH', at) AS a, TIMESTAMPADD('day', 1, at) AS b, DATEADD(MONTH, 1, DAY) AS c, "
        "DATEDIFF(DAY, at, 'DAY') AS d FROM t",
    )
    at = dt.datetime(2024, 2, 29, 10)
    expected = dt.datetime(2024, 2, 1), dt.datetime(2024, 3, 1, 10), dt.date(2024, 3, 28), 1
    assert changed(sql, [(dt.date(2024, 2, 28), at)], table, None) == [("INSERT", expected)]


def test_rows_maps_and_arrays() -> None:
    query = (
        "SELECT c_row.c_int AS a, default.c_row.`next row`.Text AS b, c_map['k'] AS c, c_map.k AS d, c_ids[2] AS e, "
        "c_array[0] AS f, c_array[1] AS g, c_array[c_at] AS h, c_row FROM default"
    )
    assert selected(query, rows=NESTED_ROWS, schema=NESTED, kinds=None) == [
        (1, "x", 7, 7, None, "p", "q", "q", NESTED_ROWS[0][0]),
        (None, None, None, None, "two", None, None, None, NESTED_ROWS[1][0]),
        (None, None, None, None, None, None, None, None, None),
    ]


def test_choices_between_nested_values() -> None:
    query = (
        "SELECT CASE WHEN c_at = 1 THEN c_array END AS a, CASE WHEN c_at = 1 THEN NULL ELSE c_row END AS b, "
        "COALESCE(c_array, ARRAY('x')) AS c, IFNULL(c_map, NULL) AS d, CAST(NULL AS INT) AS e, NULL AS f FROM default"
    )
    assert selected(query, rows=NESTED_ROWS, schema=NESTED, kinds=None) == [
        (["p", "q"], None, ["p", "q"], [("k", 7)], None, None),
        (None, NESTED_ROWS[1][0], [], [], None, None),
        (None, None, ["x"], None, None, None),
    ]


def test_types_that_only_pass() -> None:
    columns = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("wide", pa.decimal256(60, 2)),
            ("vector", pa.list_(pa.float16(), 2)),
            ("zoned", pa.timestamp("us", tz="UTC")),
            ("nothing", pa.null()),
        ]
    )
    row = (1, decimal.Decimal("1.25"), [1.0, 2.0], dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None)
    schema = TableSchema(table="t", columns=columns)
    assert made(Sql, query="SELECT * FROM t").output_schema(schema) == schema
    assert selected("SELECT * FROM t WHERE id = 1", rows=[row], schema=schema, kinds=None) == [row]


def test_types_that_files_have_besides() -> None:
    """They pass as they are; an expression computes with the one that SeaTunnel has."""
    columns = pa.schema(
        [("s", pa.large_string()), ("ns", pa.timestamp("ns")), ("ms", pa.time32("ms")), ("u", pa.uint8())]
    )
    row = ("x", dt.datetime(2020, 1, 1), dt.time(1, 2, 3), 200)
    query = "SELECT s, UPPER(s) AS a, YEAR(ns) AS b, HOUR(ms) AS c, u + u AS d, ns FROM t WHERE ns > '2019-12-31'"
    schema = TableSchema(table="t", columns=columns)
    assert selected(query, rows=[row], schema=schema, kinds=None) == [("x", "X", 2020, 1, 400, row[1])]
    assert made(Sql, query="SELECT t.s, ns FROM t").output_schema(schema).columns == columns.remove(3).remove(2)


def test_nested_columns_that_begin_inside_their_buffers() -> None:
    """As slices, and made of slices: DataFusion's import of them ended the whole process."""
    inner = pa.array(["a", "b", "c", None]).slice(1)
    rows = pa.StructArray.from_arrays([inner, pa.array([[1], None, [2, 3], []]).slice(1)], names=["s", "l"])
    columns = pa.schema([("r", rows.type), ("m", pa.map_(pa.string(), rows.type))])
    maps = pa.array([[("x", None)], [("k", {"s": "b", "l": [1]})], None, []], columns.field("m").type).slice(1)
    sql = made(Sql, query="SELECT r, m, r.s AS s, m['k'].s AS k, r.l[0] AS l FROM t")
    sql.output_schema(TableSchema(table="t", columns=columns))
    batch = Batch(table="t", rows=pa.RecordBatch.from_arrays([rows, maps], schema=columns))
    for cut in (batch, evolve(batch, rows=batch.rows.slice(0, 3)), evolve(batch, rows=batch.rows.slice(1, 2))):
        (after,) = sql.apply(cut)
        expected = cut.rows.to_pylist()
        assert after.rows.select(["r", "m"]).to_pylist() == expected
        assert after.rows.column("s").to_pylist() == [each["r"]["s"] for each in expected]
        first = [(each["r"]["l"] or [None])[0] for each in expected]
        assert after.rows.column("l").to_pylist() == first


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_numbers_and_times_become_timestamps_of_the_machine(berlin: None) -> None:
    """A bigint counts milliseconds since 1970, and a time is one of today, as in SeaTunnel's CAST."""
    columns = pa.schema([("at", pa.int64()), ("time", pa.time64("us"))])
    query = "SELECT CAST(at AS TIMESTAMP) AS a, CAST(time AS TIMESTAMP) AS b FROM t"
    rows = [(1_700_000_000_123, dt.time(7, 15)), (-1, None), (None, dt.time(0))]
    found = selected(query, rows=rows, schema=TableSchema(table="t", columns=columns), kinds=None)
    assert [row[0] for row in found] == [
        dt.datetime(2023, 11, 14, 23, 13, 20, 123_000),
        dt.datetime(1970, 1, 1, 0, 59, 59, 999_000),
        None,
    ]
    assert [row[1] and row[1].time() for row in found] == [dt.time(7, 15), None, dt.time(0)]
    assert abs(found[0][1].date() - dt.date.today()) <= dt.timedelta(days=1)


def test_a_number_of_the_statement_is_exact_beside_decimals() -> None:
    columns = pa.schema([("price", pa.decimal128(38, 2)), ("rate", pa.float64())])
    schema = TableSchema(table="t", columns=columns)
    row = (decimal.Decimal("123456789012345678901234567890.10"), 2.0)
    query = "SELECT price * 0.5 AS a, price > 123456789012345678901234567890.09 AS b, -0.5 + price - price AS c, "
    query += (
        "COALESCE(NULL, price, 0.0) AS d, CASE WHEN rate < 1.5 THEN 0.25 ELSE price END AS e, rate * 0.1 AS f FROM t"
    )
    (found,) = selected(query, rows=[row], schema=schema, kinds=None)
    assert found[:3] == (decimal.Decimal("61728394506172839450617283945.05"), True, decimal.Decimal("-0.5"))
    assert found[3:] == (row[0], row[0], 0.2)


def test_where_not_equal_keeps_null() -> None:
    """As SeaTunnel's engine: null is another value than any."""
    rows = [(1, "a", 1), (2, "b", 1), (3, None, 1)]
    assert selected("SELECT id FROM t WHERE name <> 'a'", rows=rows, kinds=None) == [(2,), (3,)]
    assert selected("SELECT id FROM t WHERE name != 'a' AND name = 'b'", rows=rows, kinds=None) == [(2,)]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("COALESCE(age, 2.5)", "2.5: it would lose digits as int; use CAST"),
        ("IFNULL(age, 3e9)", "3000000000.0: "),
        ("CASE WHEN id > 0 THEN 16777217 ELSE CAST(1.5 AS FLOAT) END", "16777217: it would lose digits as float"),
    ],
)
def test_where_values_of_several_types_meet_no_digit_is_lost(expression: str, message: str) -> None:
    with pytest.raises(TransformError, match=message):
        selected(f"SELECT {expression} AS x FROM t", rows=[(1, "a", None)], kinds=None)
    fitting = "COALESCE(age, 2.0), CASE WHEN id > 0 THEN 7 ELSE CAST(1.5 AS FLOAT) END"
    assert selected(f"SELECT {fitting} FROM t", rows=[(1, "a", None)], kinds=None) == [(2, 7.0)]


def test_ciphers_keep_their_values_to_themselves() -> None:
    with pytest.raises(TransformError, match="DES_DECRYPT at line 1, column 8 has no result for a row") as raised:
        selected("SELECT DES_DECRYPT('a-long-key', name) AS x FROM t", rows=[(1, "secret!", 1)], kinds=None)
    assert "secret!" not in str(raised.value)
    assert "a-long-key" not in str(raised.value)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datafusion", None)
    with pytest.raises(UsageError, match=r"needs datafusion, which is not installed: .* run pip install '\.\[sql\]'"):
        made(Sql, query="SELECT id FROM t")


@pytest.mark.parametrize(
    "condition",
    [
        "age <> 0 AND 100 / age >= 5",
        "NOT (age = 0 OR 100 / age < 5)",
        "CASE WHEN age <> 0 THEN 100 / age >= 5 ELSE FALSE END",
        "COALESCE(CASE WHEN age = 0 THEN FALSE END, 100 / age >= 5)",
        "CASE WHEN age = 0 THEN 0 ELSE 100 / age END >= 5",
        "COALESCE(CASE WHEN age = 0 THEN 0 END, 100 / age) >= 5",
        "age > 0 AND (age < 0 OR 100 / age >= 5) AND 100 / age < 1000",
    ],
)
def test_a_condition_guards_what_stands_behind_it(condition: str) -> None:
    """However few rows of a batch it is true for: DataFusion looks at both sides of AND when many are."""
    rows = [(at, "x", at % 30) for at in range(60)]
    expected = [(at,) for at in range(60) if at % 30 and 100 // (at % 30) >= 5]
    assert selected(f"SELECT id FROM t WHERE {condition}", rows=rows, kinds=None) == expected
    shown = selected(f"SELECT {condition} AS x FROM t", rows=rows, kinds=None)
    assert sum(bool(value) for (value,) in shown) == len(expected)


@pytest.mark.parametrize(("word", "expected"), [("AND", [None, True, False]), ("OR", [True, True, None])])
def test_conditions_that_can_fail_know_null(word: str, expected: list[bool | None]) -> None:
    rows = [(1, "1", None), (2, "1", 10), (3, "0", None)]
    query = f"SELECT CAST(name AS INT) = 1 {word} 100 / age = 10 AS x FROM t"
    assert selected(query, rows=rows, kinds=None) == [(each,) for each in expected]


def test_a_long_statement_stays_short_for_the_engine() -> None:
    """Each of these was once written twice for the next one, and thirty of them never came to an end."""
    conditions = " AND ".join(f"CAST(name AS INT) > {at}" for at in range(30))
    nested = "name"
    for at in range(30):
        nested = f"COALESCE({nested}, '{at}')"
    query = f"SELECT {nested} AS x FROM t WHERE {conditions}"
    assert selected(query, rows=[(1, "50", 0), (2, "20", 0)], kinds=None) == [("50",)]


def test_try_cast_gives_null_for_single_rows() -> None:
    rows = [(1, "12", 0), (2, "x", 0), (3, None, 0), (4, "13", 0)]
    assert selected("SELECT TRY_CAST(name AS INT) AS n FROM t", rows=rows, kinds=None) == [
        (12,),
        (None,),
        (None,),
        (13,),
    ]


def test_the_current_moment_is_one_in_a_batch() -> None:
    query = (
        "SELECT NOW() AS a, CURRENT_TIMESTAMP AS b, CURRENT_TIMESTAMP() AS c, CURRENT_DATE AS d, CURRENT_DATE() AS e, "
        "CURRENT_TIME AS f, CURRENT_TIME() AS g FROM t WHERE NOW() > '2020-01-01' AND CURRENT_DATE > '2020-01-01'"
    )
    sql = made(Sql, query=query)
    announced = sql.output_schema(PEOPLE)
    before = dt.datetime.now()
    (after,) = sql.apply(batch_of([(1, "a", 1), (2, "b", 2)]))
    one, other = after.rows.to_pylist()
    assert after.rows.schema == announced.columns
    assert one == other
    assert before <= one["a"] <= dt.datetime.now()
    assert one["a"] == one["b"] == one["c"] == dt.datetime.combine(one["d"], one["f"])
    assert (one["d"], one["f"]) == (one["e"], one["g"])


def test_a_timestamp_with_a_zone_is_looked_at_in_utc() -> None:
    zoned = TableSchema(table="t", columns=pa.schema([("at", pa.timestamp("us", tz="UTC"))]))
    moment = dt.datetime(2020, 2, 29, 23, 30, tzinfo=dt.UTC)
    query = (
        "SELECT HOUR(at) AS h, DATEADD(at, 1, 'HOUR') AS a, DATE_TRUNC(at, 'MONTH') AS m, CAST(at AS STRING) AS s, "
        "FORMATDATETIME(at, 'HH:mm') AS f, CAST(at AS DATE) AS d, at > TIMESTAMP '2020-01-01 00:00:00' AS c FROM t"
    )
    assert selected(query, rows=[(moment,), (None,)], schema=zoned, kinds=None) == [
        (
            23,
            dt.datetime(2020, 3, 1, 0, 30, tzinfo=dt.UTC),
            dt.datetime(2020, 2, 1, tzinfo=dt.UTC),
            "2020-02-29T23:30Z",
            "23:30",
            dt.date(2020, 2, 29),
            True,
        ),
        (None,) * 7,
    ]


def test_uuid_and_random_differ_from_row_to_row() -> None:
    sql = made(Sql, query="SELECT UUID() AS u, RAND() AS r, AES_ENCRYPT(name, 'key') AS a FROM t")
    sql.output_schema(PEOPLE)
    (after,) = sql.apply(batch_of([(1, "a", 1), (2, "a", 2)]))
    for column in after.rows.to_pydict().values():
        assert len(set(column)) == 2


def test_rows_without_a_result_can_be_left_out() -> None:
    rows = [(1, "12", 0), (2, "x", 0), (3, None, 0), (4, "y", 0), (5, "13", 0)]
    sql = made(Sql, query="SELECT id, CAST(name AS INT) AS n FROM t", row_error_handle_way="SKIP")
    sql.output_schema(PEOPLE)
    kinds = [RowKind.INSERT, RowKind.INSERT, RowKind.DELETE, RowKind.INSERT, RowKind.UPDATE_AFTER]
    expected = [("INSERT", (1, 12)), ("DELETE", (3, None)), ("UPDATE_AFTER", (5, 13))]
    assert changed(sql, rows, kinds=kinds) == expected


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        ("EXPLODE(SPLIT(name, ' ')) AS word", [(1, "Joy"), (1, "Ding")]),
        ("OUTER EXPLODE(SPLIT(name, ' ')) AS word", [(1, "Joy"), (1, "Ding"), (2, None)]),
        ("EXPLODE(ARRAY(name)) AS word", [(1, "Joy Ding"), (2, None)]),
        (
            "EXPLODE(SPLIT(name, ' ')) x AS w LATERAL VIEW EXPLODE(ARRAY(w, '!')) AS word WHERE w = 'Joy'",
            [(1, "Joy"), (1, "!")],
        ),
    ],
)
def test_lateral_views_make_rows_of_arrays(view: str, expected: list[tuple[Any, ...]]) -> None:
    sql = made(Sql, query=f"SELECT id, word FROM t LATERAL VIEW {view}")
    assert sql.output_schema(PEOPLE).primary_key == ()
    rows = [(1, "Joy Ding", 1), (2, None, 1)]
    found = changed(sql, rows, kinds=[RowKind.UPDATE_AFTER, RowKind.DELETE])
    assert [row for _, row in found] == expected
    assert {kind for kind, row in found if row[0] == 1} == {"UPDATE_AFTER"}


def test_a_view_may_take_the_name_of_a_column() -> None:
    query = "SELECT * FROM t LATERAL VIEW EXPLODE(SPLIT(name, ' ')) AS name"
    assert selected(query, rows=[(1, "Joy Ding", 7)], kinds=None) == [(1, "Joy", 7), (1, "Ding", 7)]


def test_arrays_and_vectors() -> None:
    columns = pa.schema([("a", pa.list_(pa.int32())), ("v", pa.list_(pa.float32(), 2)), ("s", pa.string())])
    rows = [([3, None, 1], [3.0, 4.0], "x"), ([], [0.0, 1.0], "yz"), (None, None, None)]
    query = (
        "SELECT ARRAY_MAX(a) AS a, ARRAY_MIN(a) AS b, (ARRAY(s, 1))[0] AS c, SPLIT('a.b', '\\.')[1] AS d, "
        "SPLIT(s, s) AS e, VECTOR_NORM(v) AS f, VECTOR_DIMS(v) AS g, L1_DISTANCE(v, v) AS h, "
        "L2_DISTANCE(v, ARRAY(0e0, 0e0)) AS i, INNER_PRODUCT(v, v) AS j, COSINE_DISTANCE(v, v) AS k FROM t"
    )
    assert selected(query, rows=rows, schema=TableSchema(table="t", columns=columns), kinds=None) == [
        (3, 1, "x", "b", [], 5.0, 2, 0.0, 5.0, 25.0, 0.0),
        (None, None, "yz", "b", [], 1.0, 2, 0.0, 1.0, 1.0, 0.0),
        (None, None, None, "b", None, None, None, None, None, None, None),
    ]


@pytest.mark.parametrize("text", ["0x10", "0XFF", " 0x1"])
def test_a_text_of_hexadecimal_digits_is_no_whole_number(text: str) -> None:
    """Arrow made 16 of ``0x10``."""
    with pytest.raises(TransformError, match="has no result for"):
        selected(f"SELECT CAST('{text}' AS INT) FROM t")
    assert selected(f"SELECT TRY_CAST('{text}' AS BIGINT) FROM t")[0] == (None,)
