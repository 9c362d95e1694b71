"""Functions that H2 has nothing like: texts cut by expressions, maps, vectors, a hash, and zones."""

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.transforms.sql.functions.murmur import first_half
from seatunnel_core.transforms.sql.transform import Sql
from seatunnel_core.transforms.sql.value import RowError, SqlError
from tests.transforms.tables import changed, made


def selected(query: str, **more: Any) -> list[tuple[Any, ...]]:
    return [row for _, row in changed(made(Sql, query=query), **more)]


@pytest.mark.parametrize(
    ("separator", "parts"),
    [
        (r"'\.'", [["a", "b|c"], [], ["", "d"]]),
        (r"'\|'", [["a.b", "c.."], ["..."], [".d"]]),
        ("'.'", [[], [], []]),
        ("'|'", [["a", ".", "b", "|", "c", ".", "."], [".", ".", "."], [".", "d"]]),
        ("''", [["a", ".", "b", "|", "c", ".", "."], [".", ".", "."], [".", "d"]]),
        (r"'(?=\|)'", [["a.b", "|c.."], ["..."], [".d"]]),
        ("p", [["a.b", "c.."], [], [".", "d"]]),
    ],
)
def test_split_cuts_where_an_expression_matches(separator: str, parts: list[list[str]]) -> None:
    """The separator was taken as it is, and empty parts at the end stayed: SeaTunnel splits as Java does, so a job with
    ``\\|`` got the whole text in one part."""
    columns = pa.schema([("s", pa.string()), ("p", pa.string())])
    rows = [("a.b|c..", r"\|"), ("...", "[.]"), (".d", ""), ("", "x"), (None, "x")]
    found = selected(f"SELECT SPLIT(s, {separator}) AS a FROM t", rows=rows,
                     schema=TableSchema(table="t", columns=columns), kinds=None)  # fmt: skip
    assert [row[0] for row in found] == [*parts, None, None]


def test_split_at_what_is_no_expression() -> None:
    with pytest.raises(SqlError, match="SPLIT at line 1, column 8: '\\(' is not a regular expression"):
        selected("SELECT SPLIT(name, '(') AS a FROM t")


def test_maps() -> None:
    columns = pa.schema([("k", pa.string()), ("n", pa.int32())])
    schema = TableSchema(table="t", columns=columns)
    query = "SELECT MAP(k, n, 'b', 2) AS a, MAP(1, NULL)[1] AS b, MAP('x', n)['x'] AS c FROM t"
    assert selected(query, rows=[("a", 1), ("b", None)], schema=schema, kinds=None) == [
        ([("a", 1), ("b", 2)], None, 1),
        ([("b", 2)], None, None),
    ]
    with pytest.raises(RowError, match="MAP at line 1, column 8 has no result for null, 'b', 1, 2: a key is null"):
        selected(query, rows=[(None, 1)], schema=schema, kinds=None)


def test_arrays_of_nothing_are_arrays_of_texts() -> None:
    query = "SELECT ARRAY() AS a, ARRAY(NULL) AS b FROM t"
    assert selected(query, rows=[(1, "x", 7)], kinds=None) == [([], [None])]
    output = made(Sql, query=query).output_schema(TableSchema(table="t", columns=pa.schema([("n", pa.int32())])))
    assert output.columns.types == [pa.list_(pa.string())] * 2


def test_the_largest_of_floats_is_that_of_java() -> None:
    """NaN is above all other numbers, and -0.0 below 0.0, wherever they stand."""
    nan = float("nan")
    schema = TableSchema(table="t", columns=pa.schema([("f", pa.list_(pa.float64()))]))
    rows = [([1.0, nan, 2.0],), ([nan, 1.0, None],), ([0.0, -0.0],), ([-0.0, 0.0],)]
    query = "SELECT CAST(ARRAY_MAX(f) AS STRING) AS a, CAST(ARRAY_MIN(f) AS STRING) AS b FROM t"
    assert selected(query, rows=rows, schema=schema, kinds=None) == [
        ("NaN", "1.0"),
        ("NaN", "1.0"),
        ("0.0", "-0.0"),
        ("0.0", "-0.0"),
    ]


def test_the_distance_from_a_vector_of_zeros_is_1() -> None:
    query = "SELECT COSINE_DISTANCE(ARRAY(0e0, 0e0), ARRAY(1e0, 2e0)) AS a FROM t"
    assert selected(query, rows=[(1, "x", 7)], kinds=None) == [(1.0,)]


def test_a_json_text_that_nests_too_deep_is_none() -> None:
    schema = TableSchema(table="t", columns=pa.schema([("s", pa.string())]))
    rows = [("[" * 200_000,), ('{"a": 1}',)]
    assert selected("SELECT GET_JSON_OBJECT(s, '$.a') AS a FROM t", rows=rows, schema=schema, kinds=None) == [
        (None,),
        ("1",),
    ]


@pytest.mark.parametrize(
    "call", ["AES_ENCRYPT('a', s)", "AES_ENCRYPT('a', 'k', s)", "AES_DECRYPT('YQ==', s)", "DES_ENCRYPT(s, 'a')"]
)
def test_a_key_that_is_null_loses_no_text(call: str) -> None:
    schema = TableSchema(table="t", columns=pa.schema([("s", pa.string())]))
    with pytest.raises(RowError, match="the key or the initialization vector is null"):
        selected(f"SELECT {call} AS a FROM t", rows=[(None,)], schema=schema, kinds=None)


def test_vectors_of_length_1_and_of_fewer_numbers() -> None:
    columns = pa.schema(
        [("v", pa.list_(pa.float32(), 2)), ("w", pa.list_(pa.float64())), ("h", pa.list_(pa.float16(), 2))]
    )
    query = (
        "SELECT VECTOR_NORMALIZE(v) AS a, VECTOR_NORMALIZE(w) AS b, VECTOR_NORMALIZE(h) AS c, "
        "VECTOR_REDUCE(v, 1, 'TRUNCATE') AS d, VECTOR_REDUCE(w, 2, 'truncate') AS e, VECTOR_REDUCE(v, 9, 'TRUNCATE') "
        "AS f FROM t"
    )
    rows = [([4.0, 0.0], [3.0, 0.0, 4.0], np.float16([0, 2])), ([0.0, 0.0], [], None), (None, None, None)]  # type: ignore[arg-type]
    schema = TableSchema(table="t", columns=columns)
    assert selected(query, rows=rows, schema=schema, kinds=None) == [
        ([1.0, 0.0], [0.6, 0.0, 0.8], [0.0, 1.0], [4.0], [3.0, 0.0], [4.0, 0.0]),
        ([0.0, 0.0], [], None, [0.0], [], [0.0, 0.0]),
        (None,) * 6,
    ]
    output = made(Sql, query=query).output_schema(schema).columns
    assert output.field("a").type == pa.list_(pa.float32(), 2)
    assert output.field("d").type == pa.list_(pa.float32(), 1)


def test_the_hash_of_texts_is_that_of_googles_library() -> None:
    """Guava's ``murmur3_128``; the values are of an implementation in C."""
    known = {
        "": 0,
        "hello": -3758069500696749310,
        "hello world": 5998619086395760910,
        "Jürgen € 😀 and some more text than thirty two bytes": -528064098921277894,
        None: None,
    }
    schema = TableSchema(table="t", columns=pa.schema([("s", pa.string())]))
    rows = [(text,) for text in known]
    found = selected("SELECT MURMUR64(s) AS a FROM t", rows=rows, schema=schema, kinds=None)
    assert [row[0] for row in found] == list(known.values())


def test_the_hash_of_every_length() -> None:
    mmh3 = pytest.importorskip("mmh3")
    data = bytes(range(255, 205, -1))
    for size in range(50):
        assert first_half(data[:size]) == mmh3.hash64(data[:size])[0]


def test_a_timestamp_is_a_moment_in_a_zone() -> None:
    """What a clock skips is an hour later, and of two hours that it shows twice the first is meant, as in Java."""
    columns = pa.schema([("a", pa.timestamp("us")), ("b", pa.timestamp("us", tz="UTC"))])
    shown = [dt.datetime(2025, 5, 21, 17, 57), dt.datetime(2025, 3, 30, 2, 30), dt.datetime(2025, 10, 26, 2, 30), None]
    rows = [(each, each and each.replace(tzinfo=dt.UTC)) for each in shown]
    query = (
        "SELECT a AT TIME ZONE 'Europe/Berlin' AS c, a AT TIME ZONE '+09:00' AS d, b AT TIME ZONE 'UTC+8' AS e FROM t"
    )
    schema = TableSchema(table="t", columns=columns)
    assert [
        [each and f"{each:%d %H:%M}" for each in row] for row in selected(query, rows=rows, schema=schema, kinds=None)
    ] == [
        ["21 15:57", "21 08:57", "21 17:57"],
        ["30 01:30", "29 17:30", "30 02:30"],
        ["26 00:30", "25 17:30", "26 02:30"],
        [None, None, None],
    ]
    assert len(selected(f"{query} WHERE a AT TIME ZONE 'Europe/Berlin' < b", rows=rows, schema=schema, kinds=None)) == 3


def test_a_moment_that_the_statement_writes_shows_the_clock_of_its_zone() -> None:
    """``EXTRACT(HOUR …)`` of it was the hour in UTC; the example is one of SeaTunnel's pages."""
    query = (
        "SELECT EXTRACT(HOUR FROM TIMESTAMPTZ '2025-05-21T17:57:40+08:00') AS a, "
        "EXTRACT(DAY FROM TIMESTAMPTZ '2025-05-21T01:00:00-03:30') AS b, "
        "EXTRACT(EPOCH FROM TIMESTAMPTZ '1970-01-01T08:00:01+08:00') AS c, "
        "EXTRACT(HOUR FROM CAST('2025-05-21T17:57:40Z' AS TIMESTAMP_TZ)) AS d, "
        "TIMESTAMPTZ '2025-05-21T17:57:40+08:00' AS e FROM t"
    )
    moment = dt.datetime(2025, 5, 21, 9, 57, 40, tzinfo=dt.UTC)
    assert selected(query)[0] == (17, 21, 1, 17, moment)


def test_a_moment_with_a_zone_is_a_type_of_cast() -> None:
    """``TIMESTAMP_TZ``, as SeaTunnel's page writes it, was unknown."""
    schema = TableSchema(table="t", columns=pa.schema([("s", pa.string())]))
    rows = [("2025-05-21T17:57:40+08:00",), ("x",), (None,)]
    found = selected("SELECT TRY_CAST(s AS TIMESTAMP_TZ) AS a FROM t", rows=rows, schema=schema, kinds=None)
    assert found == [(dt.datetime(2025, 5, 21, 9, 57, 40, tzinfo=dt.UTC),), (None,), (None,)]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("HOUR(TIMESTAMPTZ '2025-05-21T17:57:40+08:00')", "would be evaluated in UTC; TIMESTAMPTZ is allowed only"),
        ("CAST(TIMESTAMPTZ '2025-05-21T17:57:40+08:00' AS STRING)", "would be evaluated in UTC"),
        ("MAP('a')", "expected at least 2"),
        ("TRIM()", "has 0 arguments, expected 1 to 2"),
        ("MAP('a', 1, 'b')", "argument 3 is a key without a value"),
        ("MAP(NULL, 1)", "a key of a map must not be NULL"),
        ("VECTOR_NORMALIZE(name)", "must be a vector of numbers"),
        ("VECTOR_REDUCE(ARRAY(1e0), 1, 'RANDOM_PROJECTION')", "RANDOM_PROJECTION is not supported; use TRUNCATE"),
        ("VECTOR_REDUCE(ARRAY(1e0), 0, 'TRUNCATE')", "a literal whole number above 0"),
        ("VECTOR_REDUCE(ARRAY(1e0), id, 'TRUNCATE')", "a literal whole number above 0"),
        ("MURMUR64(X'00')", "must be a string"),
        ("NOW() AT TIME ZONE 'Mars'", "Mars is not a time zone"),
        ("NOW() AT TIME ZONE name", "must be a time zone in quotes"),
        ("id AT TIME ZONE 'UTC'", "must be a date, a time or a timestamp"),
        ("CURRENT_TIME AT TIME ZONE 'UTC'", "must be a date or a timestamp"),
        ("HOUR((NOW() AT TIME ZONE 'UTC+8'))", "would be evaluated in UTC"),
        ("CAST(NOW() AT TIME ZONE 'UTC+8' AS STRING)", "would be evaluated in UTC"),
    ],
)
def test_what_these_functions_do_not_take(expression: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        selected(f"SELECT {expression} AS a FROM t")
