"""Every type at its extremes: the log gives what SELECT gives through the source ``Jdbc``."""

from collections.abc import Mapping
from typing import Any
from unittest import mock

import pytest

from seatunnel_core.connectors.mysql_log import row_collector
from seatunnel_core.connectors.mysql_log.change_batch import TableChanges
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from seatunnel_core.connectors.mysql_log.errors import TableShapeError
from seatunnel_core.rows.kind import RowKind
from tests.connectors.mysql_log.every_type import NUMBERS, TEXTS, TIMES
from tests.connectors.mysql_log.log_servers import LogShop, images, rules_of

pytestmark = pytest.mark.servers

DESCRIBED = ["maria", pytest.param("my8", marks=pytest.mark.twin)]
"""Servers whose log describes the columns completely."""

LENIENT = "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'"


def fill(shop: LogShop, table: str, types: Mapping[str, tuple[str, ...]], *, before: str = LENIENT) -> None:
    """Create a table with a column of each type; row after row has the next value of each, and then a null."""
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(types))
    rows = max(map(len, types.values())) + 1
    texts = [
        f"({row}, " + ", ".join(each[row] if row < len(each) else "NULL" for each in types.values()) + ")"
        for row in range(rows)
    ]
    shop.run(
        before,
        f"CREATE TABLE {table} (id int PRIMARY KEY, {columns}) CHARSET utf8mb4",
        *(f"INSERT INTO {table} VALUES {text}" for text in texts),
    )


def assert_same(shop: LogShop, table: str, start: Any, *, declared: bool = True) -> None:
    rules = rules_of(shop.properties)
    known = shop.declared(table) if declared else ()
    for few in (0, 1 << 30):  # events that are decoded together, and one by one
        with mock.patch.object(row_collector, "_FEW_IMAGES", few):
            (found,) = shop.changes(start, table, known, rules=rules)
        _assert_selected(shop, table, found)


def _assert_selected(shop: LogShop, table: str, found: TableChanges) -> None:
    inserted = images(found, RowKind.INSERT)
    selected, misfits = shop.selected(table)
    for number, column in enumerate(selected.schema):
        logged = inserted.column(number)
        assert logged.type == column.type, column
        assert logged.to_pylist() == selected.column(number).to_pylist(), (column, shop.declared(table)[number])
    assert inserted.equals(selected)
    assert sorted(found.misfits) == sorted(misfits)


TYPES = pytest.mark.parametrize("types", [NUMBERS, TIMES, TEXTS], ids=["numbers", "times", "texts"])


@TYPES
def test_values_of_declared_columns_are_those_of_a_select(shop: LogShop, types: Mapping[str, tuple[str, ...]]) -> None:
    start = shop.position()
    fill(shop, "t", types)
    assert_same(shop, "t", start)


@TYPES
@pytest.mark.parametrize("shop", DESCRIBED, indirect=True)
def test_values_of_columns_that_the_log_describes_are_those_of_a_select(
    shop: LogShop, types: Mapping[str, tuple[str, ...]]
) -> None:
    start = shop.position()
    fill(shop, "t", {kind: values for kind, values in types.items() if kind != "tinyint(1)"})
    assert_same(shop, "t", start, declared=False)


@pytest.mark.parametrize("metadata", ["MINIMAL", "NO_LOG"])
@pytest.mark.parametrize("shop", DESCRIBED, indirect=True)
def test_less_metadata_in_the_log_gives_the_same_values(shop: LogShop, metadata: str) -> None:
    if metadata == "NO_LOG" and shop.kind != "maria":
        metadata = "MINIMAL"  # MySQL always logs this much.
    shop.run(f"SET GLOBAL binlog_row_metadata = {metadata}")
    try:
        start = shop.position()
        fill(shop, "t", {**NUMBERS, **TEXTS})
    finally:
        shop.run("SET GLOBAL binlog_row_metadata = FULL")
    assert_same(shop, "t", start)
    with pytest.raises(TableShapeError, match=r"does not name the columns of shop\.t; run SET GLOBAL"):
        shop.changes(start, "t", ())


@pytest.mark.parametrize("zone", ["UTC", "+05:30", "-09:00"])
def test_timestamps_and_zero_dates_follow_the_properties_of_the_source(shop: LogShop, zone: str) -> None:
    shop = LogShop(shop.server, shop.kind, {"serverTimezone": zone, "zeroDateTimeBehavior": "CONVERT_TO_NULL"})
    start = shop.position()
    fill(shop, "t", TIMES)
    assert_same(shop, "t", start)


def test_the_kinds_of_update_and_delete_are_known(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY, a varchar(10))")
    start = shop.position()
    shop.run("INSERT INTO t VALUES (1, 'a'), (2, NULL)", "UPDATE t SET a = 'b'", "DELETE FROM t WHERE id = 1")
    (found,) = shop.changes(start, "t", shop.declared("t"))
    assert list(zip(found.kinds.tolist(), found.rows.to_pydict()["a"], strict=True)) == [
        (RowKind.INSERT, "a"),
        (RowKind.INSERT, None),
        (RowKind.UPDATE_BEFORE, "a"),
        (RowKind.UPDATE_AFTER, "b"),
        (RowKind.UPDATE_BEFORE, None),
        (RowKind.UPDATE_AFTER, "b"),
        (RowKind.DELETE, "b"),
    ]


CHARSETS = {
    "latin1": "€äÿ", "latin2": "łő", "latin5": "ğı", "latin7": "ąž", "greek": "αω", "hebrew": "אב", "tis620": "กข",
    "koi8r": "яж", "koi8u": "їє", "cp1250": "łő", "cp1251": "яж", "cp1256": "عب", "cp1257": "ąž", "cp850": "äö",
    "cp852": "łő", "cp866": "яж", "macroman": "äπ", "macce": "łő", "ascii": "ab", "hp8": "äö", "dec8": "äŒ",
    "swe7": "åÉ", "armscii8": "ԱԲ", "geostd8": "აბ", "keybcs2": "čž", "sjis": "日本ｱ\\\\", "cp932": "日本①",
    "ujis": "日本", "eucjpms": "日本①", "euckr": "한국", "gb2312": "中国", "gbk": "中國", "big5": "中國",
    "ucs2": "äж中",
    "utf16": "ä🚲", "utf16le": "ä🚲", "utf32": "ä🚲", "utf8mb3": "äж中", "utf8mb4": "ä🚲",
}  # fmt: skip


def test_texts_of_every_character_set_are_those_of_a_select(shop: LogShop) -> None:
    charsets = dict(CHARSETS)
    if shop.run("SELECT 1 FROM information_schema.CHARACTER_SETS WHERE CHARACTER_SET_NAME = 'gb18030'"):
        charsets["gb18030"] = "中国ä"
    if shop.kind != "maria":
        charsets["utf8"] = charsets.pop("utf8mb3")
    if shop.kind == "my57":  # Its catalogue has members in utf8mb3 only.
        charsets |= {"utf16": "äж", "utf16le": "жä", "utf32": "中ж", "utf8mb4": "ж中"}  # one text has one charset
    columns = ", ".join(
        f"v{number} varchar(20) CHARACTER SET {each}, c{number} char(9) CHARACTER SET {each}, t{number} text "
        f"CHARACTER SET {each}, e{number} enum('x','{text}') CHARACTER SET {each}"
        for number, (each, text) in enumerate(charsets.items())
    )
    start = shop.position()
    values = ", ".join(f"'{text} ', '{text}', '{text}', '{text}'" for text in charsets.values())
    shop.run(f"CREATE TABLE t (id int PRIMARY KEY, {columns})", f"INSERT INTO t VALUES (1, {values})")
    assert_same(shop, "t", start)
    for number, text in enumerate(charsets.values()):
        assert shop.selected("t")[0].to_pylist()[0][f"c{number}"] == text.replace("\\\\", "\\")


def test_virtual_and_stored_columns_are_in_the_log(shop: LogShop) -> None:
    start = shop.position()
    shop.run(
        "CREATE TABLE t (id int PRIMARY KEY, a int, v int AS (a + 1) VIRTUAL, s int AS (a * 2) STORED)",
        "INSERT INTO t (id, a) VALUES (1, 10), (2, NULL)",
    )
    assert_same(shop, "t", start)


def test_large_values_and_many_columns(shop: LogShop) -> None:
    """An event of more than 16 MiB takes several packets; more than 250 columns change the form of their number."""
    start = shop.position()
    columns = ", ".join(f"c{number} tinyint" for number in range(300))
    shop.run(
        f"CREATE TABLE t (id int PRIMARY KEY, b longblob, {columns})",
        f"INSERT INTO t (id, b) VALUES (1, repeat('x', {(16 << 20) + 5})), (2, repeat('y', 700000)), (3, 'z')",
        f"INSERT INTO t (id, b, c299) VALUES (4, repeat('x', {(32 << 20) - 3}), 9)",
    )
    assert_same(shop, "t", start)


ONLY_8 = pytest.mark.parametrize("shop", [pytest.param("my8", marks=pytest.mark.twin)], indirect=True)
ONLY_MARIA = pytest.mark.parametrize("shop", ["maria"], indirect=True)


@ONLY_8
@pytest.mark.parametrize("metadata", ["FULL", "MINIMAL"])
def test_columns_of_functional_indexes_are_hidden(shop: LogShop, metadata: str) -> None:
    shop.run(
        "CREATE TABLE t (id int PRIMARY KEY, a int)",
        "CREATE INDEX i ON t ((a + 1))",
        "ALTER TABLE t ADD COLUMN b varchar(10)",
        f"SET GLOBAL binlog_row_metadata = {metadata}",
    )
    try:
        start = shop.position()
        shop.run("INSERT INTO t VALUES (1, 2, 'x'), (2, NULL, NULL)")
    finally:
        shop.run("SET GLOBAL binlog_row_metadata = FULL")
    declared = shop.declared("t")
    if metadata == "MINIMAL":
        declared.insert(2, DeclaredColumn(name="", declared="bigint", hidden=True))
    (found,) = shop.changes(start, "t", declared)
    assert found.rows.to_pylist() == shop.selected("t")[0].to_pylist()


@ONLY_MARIA
def test_addresses_and_uuids_are_those_of_a_select(shop: LogShop) -> None:
    six = ("::1", "::ffff:1.2.3.4", "2001:db8::8:800:200c:417a", "1:0:0:2::", "::", "1:2:0:4:5:0:7:8", "::a:b", "1::")
    start = shop.position()
    shop.run("CREATE TABLE t (id int PRIMARY KEY, a inet6, b uuid, c inet4)")
    for number, each in enumerate(six):
        uuid = f"'{number:08x}-e89b-12d3-a456-42665544{number:02x}00'"
        shop.run(f"INSERT INTO t VALUES ({number}, '{each}', {uuid}, '10.0.{number}.0')")
    shop.run("INSERT INTO t VALUES (99, NULL, NULL, NULL)")
    assert_same(shop, "t", start)


@ONLY_MARIA
def test_a_system_versioned_table_is_refused(shop: LogShop) -> None:
    start = shop.position()
    shop.run("CREATE TABLE t (id int PRIMARY KEY) WITH SYSTEM VERSIONING", "INSERT INTO t VALUES (1)")
    with pytest.raises(TableShapeError, match="a system-versioned table cannot be captured"):
        shop.changes(start, "t", shop.declared("t"))
