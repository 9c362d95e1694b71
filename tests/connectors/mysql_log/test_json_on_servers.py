"""JSON documents of MySQL: the log gives the text that SELECT gives, also for changes of documents."""

import random

import pytest

from seatunnel_core.connectors.mysql_log.columns import ValueRules
from seatunnel_core.connectors.mysql_log.errors import UnsupportedLogError
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_log.log_servers import LogShop, images

pytestmark = [pytest.mark.servers, pytest.mark.twin]

BOTH = pytest.mark.parametrize("shop", ["my8", "my57"], indirect=True)
ONLY_8 = pytest.mark.parametrize("shop", ["my8"], indirect=True)

JSON_RULES = {"my8": ValueRules(), "my57": ValueRules(json_of_5_7=True)}

DOCUMENTS = (
    "'{}'", "'[]'", "'null'", "'true'", "'\"ä🚲\"'", "'0'", "'-1'", "'32767'", "'-32769'", "'65536'", "'2147483648'",
    "'-9223372036854775808'", "'18446744073709551615'", "'1.0'", "'-0.0'", "'1e100'", "'1e15'", "'123456789012345'",
    "'1e-7'", "'0.1'", "'1.5e-300'", "'3.141592653589793'", "'\"\\\\u0001\\\\n\\\\\"\\\\\\\\/\\\\u007f\"'",
    "'{\"b\": 1, \"aa\": [1, 2.5, null, false, {\"x\": \"y\"}], \"ä\": {}, \"\": []}'",
    "'[[[[[[1]]]]], {\"a\": {\"b\": {\"c\": [70000, -70000]}}}]'",
    "JSON_OBJECT('d', CAST('12.50' AS DECIMAL(10,2)), 'n', CAST('-0.001' AS DECIMAL(65,30)))",
    "JSON_ARRAY(CAST('2024-02-29' AS DATE), CAST('-12:13:14.5' AS TIME(3)), TIMESTAMP('2024-02-29 12:13:14.123456'))",
    "JSON_ARRAY(CAST('838:59:59' AS TIME), TIMESTAMP('2024-01-01 00:00:00'), CAST('a' AS BINARY), b'101', x'ff00')",
    "JSON_ARRAY(CAST(123456789012345678901234567890 AS DECIMAL(65,0)), CAST(0 AS DECIMAL(5,2)))",
    "JSON_OBJECT('g', ST_GeomFromText('POINT(1 2)'))",
    "JSON_ARRAY(repeat('ä', 40), repeat('x', 20000), repeat('y', 70000))",
    "JSON_OBJECT(repeat('k', 300), 1)",
)  # fmt: skip


@BOTH
def test_documents_are_those_of_a_select(shop: LogShop) -> None:
    start = shop.position()
    shop.run("CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, j json)")
    for each in DOCUMENTS:
        shop.run(f"INSERT INTO t (j) VALUES ({each})")
    large = ",".join(f'"k{number}": [{number}, "v{number}"]' for number in range(5_000))
    shop.run(f"INSERT INTO t (j) VALUES ('{{{large}}}'), (NULL)")
    (found,) = shop.changes(start, "t", shop.declared("t"), rules=JSON_RULES[shop.kind])
    selected, _ = shop.selected("t")
    assert found.rows.to_pydict()["j"] == selected.to_pydict()["j"]


@BOTH
def test_doubles_are_written_as_mysql_writes_them(shop: LogShop) -> None:
    start = shop.position()
    draw = random.Random(7)
    doubles = [draw.uniform(-10, 10) * 10.0 ** draw.randrange(-25, 25) for _ in range(400)]
    doubles += [10.0**power for power in range(-20, 22)] + [float(draw.randrange(1 << 60)) for _ in range(50)]
    shop.run("CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, j json)")
    for number in range(0, len(doubles), 50):
        part = ", ".join(repr(each) for each in doubles[number : number + 50])
        shop.run(f"INSERT INTO t (j) VALUES ('[{part}]')")
    (found,) = shop.changes(start, "t", shop.declared("t"), rules=JSON_RULES[shop.kind])
    selected, _ = shop.selected("t")
    for mine, its in zip(found.rows.to_pydict()["j"], selected.to_pydict()["j"], strict=True):
        assert mine[1:-1].split(", ") == its[1:-1].split(", ")


CHANGES = (
    "JSON_SET(j, '$.a', 9)",
    "JSON_SET(j, '$.\"b c\"[1]', 'new')",
    "JSON_REPLACE(j, '$.d.e', JSON_ARRAY(1, 2))",
    "JSON_SET(j, '$.zz', TRUE, '$.d.y', 2.5)",
    "JSON_REMOVE(j, '$.a')",
    "JSON_REMOVE(j, '$.\"b c\"[0]', '$.d.e')",
    "JSON_SET(j, '$.\"b c\"[9]', 'end')",
    'JSON_SET(j, \'$."q\\\\"ä"\', 1)',
)


@ONLY_8
def test_changes_of_documents_are_applied(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY, x json, j json, k json, n int)")
    document = '{"a": 1, "b c": ["x", "y"], "d": {"e": "text", "f": null}, "long": "%s"}' % ("x" * 300)
    shop.run(f"INSERT INTO t VALUES (1, '[]', '{document}', '{document}', 0)")
    for number, change in enumerate(CHANGES):
        start = shop.position()
        shop.run(
            "SET SESSION binlog_row_value_options = 'PARTIAL_JSON'",
            f"UPDATE t SET j = {change}, k = JSON_SET(k, '$.a', {number}), n = n + 1",
        )
        (found,) = shop.changes(start, "t", shop.declared("t"))
        selected, _ = shop.selected("t")
        assert images(found, RowKind.UPDATE_AFTER).to_pylist() == selected.to_pylist(), change
        assert found.complete


@ONLY_8
def test_changes_without_the_document_before_are_refused(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY, j json)", 'INSERT INTO t VALUES (1, \'{"a": 1, "b": "some text"}\')')
    start = shop.position()
    shop.run(
        "SET SESSION binlog_row_value_options = 'PARTIAL_JSON', binlog_row_image = 'MINIMAL'",
        "UPDATE t SET j = JSON_SET(j, '$.a', 2)",
    )
    with pytest.raises(UnsupportedLogError, match="without the previous document; run SET GLOBAL binlog_row_image"):
        shop.changes(start, "t", shop.declared("t"))
