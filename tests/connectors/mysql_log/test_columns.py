"""Columns of tables: what describes them, what is refused, and values that do not fit."""

import datetime
import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.mysql_log import column_types as ct
from seatunnel_core.connectors.mysql_log.columns import LogColumn, ValueRules, columns_of
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn, kind_of, members_of
from seatunnel_core.connectors.mysql_log.errors import MalformedLogError, TableShapeError, UnsupportedLogError
from seatunnel_core.connectors.mysql_log.table_map import RawColumn, TableMap, table_map_of
from tests.connectors.mysql_log import encoder as write
from tests.connectors.mysql_log.encoder import LogWriter, WrittenColumn, packed_bytes
from tests.connectors.mysql_log.generated import KINDS, column


def declared(text: str, charset: str = "", name: str = "c", **options: Any) -> DeclaredColumn:
    return DeclaredColumn(name=name, declared=text, charset=charset, **options)


def resolved(raw: Sequence[RawColumn], known: Sequence[DeclaredColumn] = (), **rules: Any) -> tuple[LogColumn, ...]:
    return columns_of(TableMap(database="shop", table="t", columns=tuple(raw)), known, ValueRules(**rules))


def converted(text: str, kind: int, meta: tuple[int, ...], values: list[Any], **options: Any) -> tuple[list[Any], Any]:
    rules = {name: options.pop(name) for name in ("zone", "zero_is_null", "json_of_5_7") if name in options}
    (found,) = resolved([RawColumn(type=kind, meta=meta)], [declared(text, **options)], **rules)
    array, misfits = found.convert(values)
    assert array.type == found.arrow
    return array.to_pylist(), misfits


def optional(kind: int, value: bytes) -> bytes:
    return bytes([kind]) + packed_bytes(value)


def parsed(columns: Sequence[tuple[int, bytes]], metadata: bytes = b"") -> TableMap:
    written = [WrittenColumn(declared("int"), kind, meta) for kind, meta in columns]
    return table_map_of(LogWriter(checksums=False).table_map(written, optional=metadata)[27:])


# -- table maps ---------------------------------------------------------------------------------------------------


def test_complete_metadata() -> None:
    columns = [(ct.LONG, b""), (ct.STRING, b"\xfe\x28"), (ct.TINY, b""), (ct.STRING, b"\xf7\1"), (ct.BLOB, b"\2")]
    columns += [(ct.STRING, b"\xf8\1"), (ct.NEWDECIMAL, b"\x0a\2")]
    names = b"".join(packed_bytes(name.encode()) for name in ("id", "ä", "n", "e", "b", "s", "d"))
    metadata = optional(1, bytes([0b10100000])) + optional(2, b"\x2d\1\x3f") + optional(4, names)
    metadata += optional(6, b"\2\1x\2yz") + optional(5, b"\1\1k") + optional(10, b"\x08")
    metadata += optional(8, b"\0\2") + optional(12, bytes([0b11011111])) + optional(7, b"\1") + optional(99, b"future")
    found = parsed(columns, metadata)
    assert [each.name for each in found.columns] == ["id", "ä", "n", "e", "b", "s", "d"]
    assert [each.unsigned for each in found.columns] == [True, None, False, None, None, None, True]
    assert [each.collation for each in found.columns] == [None, 45, None, 8, 63, 8, None]
    assert [each.members for each in found.columns][3:6] == [(b"x", b"yz"), None, (b"k",)]
    assert [each.visible for each in found.columns] == [True, True, False, True, True, True, True]
    assert found.key == (0, 2)
    assert found.columns[1].meta == (40,)
    assert found.columns[3].type == ct.ENUM


def test_mariadb_logs_the_sign_of_years() -> None:
    columns = [(ct.YEAR, b""), (ct.LONG, b""), (ct.LONG, b"")]
    metadata = optional(1, bytes([0b11000000]))
    assert [each.unsigned for each in parsed(columns, metadata).columns] == [None, True, True]
    body = LogWriter(checksums=False).table_map(
        [WrittenColumn(declared("x"), *each) for each in columns], optional=metadata
    )
    assert [each.unsigned for each in table_map_of(body[27:], of_maria=True).columns] == [None, True, False]


def test_collations_of_each_column_and_keys_of_prefixes() -> None:
    columns = [(ct.VARCHAR, b"\x50\0"), (ct.BLOB, b"\1"), (ct.STRING, b"\xf7\1"), (ct.STRING, b"\xce\xfc")]
    found = parsed(columns, optional(3, b"\x08\x3f\xfc\xff\0") + optional(11, b"\x1c") + optional(9, b"\0\5\1\0"))
    assert [each.collation for each in found.columns] == [8, 63, 28, 255]
    assert found.key == (0, 1)
    assert found.columns[3].meta == (1020,)


def test_a_table_map_that_ends_early_is_an_error() -> None:
    body = LogWriter(checksums=False).table_map([WrittenColumn(declared("int"), ct.LONG)] * 9)[27:]
    for size in range(len(body)):
        with pytest.raises(MalformedLogError):
            table_map_of(body[:size])
    with pytest.raises(UnsupportedLogError, match=r"shop\.t: column 2 has the type 242"):
        parsed([(ct.LONG, b""), (242, b"\4")])


# -- shapes -------------------------------------------------------------------------------------------------------


def test_types_without_a_declaration_are_those_of_jdbc() -> None:
    for number, kind in enumerate(KINDS):
        raw = table_map_of(LogWriter(checksums=False).table_map([column(kind, number)])[27:]).columns[0]
        (known,) = resolved([raw], [column(kind, number).declared])
        assert known.arrow == column_of("c", kind.declared).arrow
        collation = {"utf8mb4": 45, "utf8mb3": 33, "latin1": 8, "utf16": 54, "utf32": 60}.get(kind.charset, 63)
        described = RawColumn(
            type=raw.type,
            meta=raw.meta,
            name="c",
            unsigned=known.unsigned if raw.type in ct.SIGNED else None,
            collation=collation if raw.type in (*ct.TEXTS, ct.ENUM, ct.SET) else None,
            members=tuple(each.encode() for each in members_of(kind.declared)) or None,
        )
        (found,) = resolved([described])
        assert found.arrow == known.arrow, kind.declared


@pytest.mark.parametrize(
    ("raw", "text", "said"),
    [
        (
            RawColumn(type=ct.LONG),
            "bigint",
            r"shop\.t: column 1, c, has the type int in the log, but bigint is declared",
        ),
        (RawColumn(type=ct.LONG, unsigned=True), "int", "has the type int unsigned in the log, but int is declared"),
        (RawColumn(type=ct.LONG, name="d"), "int", "column 1 is named d in the log, but c is declared"),
        (RawColumn(type=ct.NEWDECIMAL, meta=(10, 2)), "decimal(10,3)", r"has the type decimal\(10,2\) in the log"),
        (RawColumn(type=ct.NEWDECIMAL, meta=(10, 2)), "decimal", r"has the type decimal\(10,2\) in the log"),
        (RawColumn(type=ct.BIT, meta=(1, 0)), "bit(9)", r"has the type bit\(1\) in the log"),
        (RawColumn(type=ct.DATETIME2, meta=(3,)), "datetime", "has the type datetime in the log"),
        (RawColumn(type=ct.DATETIME), "datetime(3) /* mariadb-5.3 */", "has the type datetime in the log"),
        (
            RawColumn(type=ct.VARCHAR, meta=(20,)),
            "vector(3)",
            (r"has the type vector\(3\), which this version does not support"),
        ),
        (RawColumn(type=ct.VARCHAR, meta=(20,), collation=63), "varchar(20)", r"has the type varbinary in the log"),
        (
            RawColumn(type=ct.BLOB, meta=(2,), collation=45),
            "blob",
            "has the type text in the log, but blob is declared",
        ),
        (RawColumn(type=ct.VARCHAR, meta=(20,)), "varchar(20)", r"varchar\(20\) is declared without its character set"),
    ],
)
def test_a_declaration_that_differs_from_the_log_is_an_error(raw: RawColumn, text: str, said: str) -> None:
    with pytest.raises(TableShapeError, match=said):
        resolved([raw], [declared(text)])


def test_another_number_of_columns_is_an_error() -> None:
    raw = [RawColumn(type=ct.LONG, name="c"), RawColumn(type=ct.LONG, name="d")]
    with pytest.raises(TableShapeError, match=r"shop\.t has 2 columns in the log \(c, d\), but 1 are declared: c$"):
        resolved(raw, [declared("int")])
    versioned = [*raw[:1], RawColumn(type=ct.TIMESTAMP2, name="row_start"), RawColumn(type=ct.LONG, name="row_end")]
    with pytest.raises(TableShapeError, match="a system-versioned table cannot be captured"):
        resolved(versioned, [declared("int")])


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (RawColumn(type=ct.LONG), "does not name the columns"),
        (RawColumn(type=ct.LONG, name="c"), "does not state whether the column is unsigned"),
        (RawColumn(type=ct.VARCHAR, meta=(9,), name="c"), "does not contain the character set of the column"),
        (RawColumn(type=ct.ENUM, meta=(1,), name="c", collation=45), "does not name the members of the column"),
    ],
)
def test_a_log_that_does_not_describe_its_columns_is_an_error(raw: RawColumn, said: str) -> None:
    with pytest.raises(TableShapeError, match=f"{said}.*SET GLOBAL binlog_row_metadata = 'FULL'"):
        resolved([raw])


def test_columns_of_functional_indexes_are_hidden() -> None:
    number = RawColumn(type=ct.LONG, name="c", unsigned=False)
    for name in ("a9e26254e651465c89ff715d5733e97c", "!hidden!i!0!0"):
        hidden = RawColumn(type=ct.LONGLONG, name=name, unsigned=False)
        assert [each.hidden for each in resolved([hidden, number])] == [name.startswith("!"), False]
        assert [each.hidden for each in resolved([number, hidden], [declared("int")])] == [False, True]
    plain = RawColumn(type=ct.LONG)
    found = resolved([plain, plain], [declared("bigint", name="", hidden=True), declared("int")])
    assert [(each.name, each.hidden) for each in found] == [("", True), ("c", False)]


def test_a_wanted_arrow_type_is_used() -> None:
    (found,) = resolved([RawColumn(type=ct.TINY)], [declared("tinyint(1)", arrow=pa.bool_())])
    array, misfits = found.convert([0, 1, 2, None])
    assert array.to_pylist() == [False, True, None, None]
    assert misfits == {2: "2 is neither 0 nor 1; or set int_type_narrowing = false to read tinyint(1) as a number"}
    (wide,) = resolved([RawColumn(type=ct.INT24)], [declared("mediumint", arrow=pa.int64())])
    assert wide.convert([b"\xff\xff\xff"])[0].to_pylist() == [-1]


def test_parts_of_declared_types() -> None:
    assert kind_of("int(10) unsigned zerofill") == "int"
    assert kind_of("inet6") == "inet6"
    assert members_of("enum('a','b''c','d\\\\e','f\\ng','','(x,y)')") == ("a", "b'c", "d\\e", "f\ng", "", "(x,y)")


# -- values -------------------------------------------------------------------------------------------------------


def date(year: int, month: int, day: int) -> bytes:
    return (year << 9 | month << 5 | day).to_bytes(3, "little")


def test_dates_that_are_none() -> None:
    values = [date(2024, 2, 29), date(0, 0, 0), None, date(2024, 0, 10), date(2023, 2, 29), date(0, 1, 1)]
    found, misfits = converted("date", ct.DATE, (), values)
    assert found == [datetime.date(2024, 2, 29), None, None, None, None, None]
    assert list(misfits) == [1, 3, 4, 5]
    assert misfits[1].startswith(
        "'0000-00-00' is not a valid date; set properties { zeroDateTimeBehavior = CONVERT_TO_NULL }"
    )
    assert misfits[3].startswith("'2024-00-10' is not a valid date")
    found, misfits = converted("date", ct.DATE, (), values, zero_is_null=True)
    assert list(misfits) == [3, 4, 5]


def test_times_that_are_not_of_one_day() -> None:
    micros = [0, 86_399_999_999, 86_400_000_000, -1, None, -3_020_399_000_000]
    values = [None if each is None else write.time2(each, 6) for each in micros]
    found, misfits = converted("time(6)", ct.TIME2, (6,), values)
    assert found == [datetime.time(), datetime.time(23, 59, 59, 999_999), None, None, None, None]
    assert [misfits[number].split(" is ")[0] for number in (2, 3, 5)] == [
        "'24:00:00'",
        "'-00:00:00.000001'",
        "'-838:59:59'",
    ]
    old = [None if each is None else each.to_bytes(3, "little", signed=True) for each in (235_959, -1, None, 240_000)]
    found, misfits = converted("time", ct.TIME, (), old)
    assert found == [datetime.time(23, 59, 59), None, None, None]
    assert {number: text.split(" is ")[0] for number, text in misfits.items()} == {1: "'-00:00:01'", 3: "'24:00:00'"}


def test_datetimes_that_are_none() -> None:
    right = write.datetime2(datetime.datetime(2024, 2, 29, 1, 2, 3), 0)
    found, misfits = converted("datetime", ct.DATETIME2, (0,), [right, b"\x80\0\0\0\0", None])
    assert found == [datetime.datetime(2024, 2, 29, 1, 2, 3), None, None]
    assert misfits[1].startswith("'0000-00-00 00:00:00' is not a valid date")
    old = [int(each).to_bytes(8, "little") for each in (99991231235959, 0, 20240010000000)]
    found, misfits = converted("datetime", ct.DATETIME, (), old, zero_is_null=True)
    assert found == [datetime.datetime(9999, 12, 31, 23, 59, 59), None, None]
    assert list(misfits) == [2]


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", datetime.datetime(2024, 7, 1, 12)),
        ("+05:30", datetime.datetime(2024, 7, 1, 17, 30)),
        ("-09:00", datetime.datetime(2024, 7, 1, 3)),
        ("Europe/Berlin", datetime.datetime(2024, 7, 1, 14)),
    ],
)
def test_timestamps_are_shown_in_the_zone_of_the_session(zone: str, expected: datetime.datetime) -> None:
    seconds = int(datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.UTC).timestamp())
    found, misfits = converted(
        "timestamp", ct.TIMESTAMP2, (0,), [seconds.to_bytes(4, "big"), bytes(4), None], zone=zone
    )
    assert found == [expected, None, None]
    assert list(misfits) == [1]
    found, _ = converted("timestamp", ct.TIMESTAMP, (), [seconds.to_bytes(4, "little")], zone=zone)
    assert found == [expected]


def test_numbers_that_no_server_writes_are_an_error() -> None:
    with pytest.raises(MalformedLogError, match="not a valid decimal"):
        converted("decimal(9,0)", ct.NEWDECIMAL, (9, 0), [b"\xff\xff\xff\xff"])
    for kind, text in ((ct.ENUM, "enum('a','b')"), (ct.SET, "set('a','b')")):
        with pytest.raises(MalformedLogError, match="the column has 2 members"):
            converted(text, kind, (1,), [7], charset="latin1")


def test_members_that_may_have_lost_a_character_do_not_fit() -> None:
    """The catalogue of MySQL 5.7 shows characters outside of the basic plane as ?."""
    values = [0, 1, 2, None]
    found, misfits = converted("enum('a','b?')", ct.ENUM, (1,), values, charset="utf8mb4")
    assert found == ["", "a", None, None]
    assert list(misfits) == [2]
    found, misfits = converted("set('a','b?')", ct.SET, (1,), [3, 1], charset="utf32")
    assert (found, list(misfits)) == ([None, "a"], [0])
    assert converted("enum('a','b?')", ct.ENUM, (1,), values, charset="latin1") == (["", "a", "b?", None], {})
    large = converted("set('a','b')", ct.SET, (3,), [b"\3\0\0", None], charset="latin1")
    assert large == (["a,b", None], {})


def test_texts_that_are_not_in_their_character_set_do_not_fit() -> None:
    found, misfits = converted("varchar(9)", ct.VARCHAR, (36,), [b"a", b"\xff", None], charset="utf8mb4")
    assert found == ["a", None, None]
    assert misfits[1].startswith("the bytes b'\\xff' are not valid in the character set of the column")


def test_addresses_of_mariadb() -> None:
    six = [
        ("::1", "00000000000000000000000000000001"),
        ("::ffff:1.2.3.4", "00000000000000000000ffff01020304"),
        ("::1.2.3.4", "00000000000000000000000001020304"),
        ("::0.10.0.11", "000000000000000000000000000a000b"),
        ("::", "00000000000000000000000000000000"),
        ("1:2::4:5:0:7:8", "00010002000000040005000000070008"),
        ("0:1:0:0:2::", "00000001000000000002000000000000"),
        ("1::", "00010000000000000000000000000000"),
        ("1:2:3:4:5:6:7:8", "00010002000300040005000600070008"),
    ]
    values = [bytes.fromhex(raw).rstrip(b"\0") for _, raw in six]
    assert converted("inet6", ct.STRING, (16,), values)[0] == [text for text, _ in six]
    assert converted("inet4", ct.STRING, (4,), [b"\x0a\0\0\1", b"", None])[0] == ["10.0.0.1", "0.0.0.0", None]
    uuid = "123e4567-e89b-12d3-a456-426655440000"
    raw = bytes.fromhex(uuid.replace("-", "")).rstrip(b"\0")
    assert converted("uuid", ct.STRING, (16,), [raw])[0] == [uuid]


def test_floats_keep_their_bits() -> None:
    found, _ = converted("float", ct.FLOAT, (4,), [struct.unpack("<f", struct.pack("<f", 0.1))[0]])
    assert struct.pack("<f", found[0]) == struct.pack("<f", 0.1)


def test_bytes_keep_their_nuls_and_binary_columns_get_them_back() -> None:
    values = [b"", b"a", b"\0a", b"abcd", None]
    assert converted("binary(4)", ct.STRING, (4,), values)[0] == [bytes(4), b"a\0\0\0", b"\0a\0\0", b"abcd", None]
    values = [b"", b"\0", b"a\0\0", None]
    for text, kind, meta in (("varbinary(9)", ct.VARCHAR, (9,)), ("blob", ct.BLOB, (2,)), ("point", ct.GEOMETRY, (4,))):
        assert converted(text, kind, meta, values)[0] == values
