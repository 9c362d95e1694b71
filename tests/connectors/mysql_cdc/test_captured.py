"""Captured tables: their record in the cursor, and properties that are refused or reported."""

import json
from collections.abc import Sequence

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.change_data.captured_table import later_tables
from seatunnel_core.connectors.change_data.column_rules import ColumnRules
from seatunnel_core.connectors.jdbc import options as jdbc
from seatunnel_core.connectors.jdbc.column import Column, DatabaseTable
from seatunnel_core.connectors.jdbc.databases.mysql import MySQL
from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.jdbc.order import OWN
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc.chunk_places import places_of
from seatunnel_core.connectors.mysql_cdc.recorded_tables import known_tables, recorded, same_tables, with_options
from seatunnel_core.connectors.mysql_cdc.server import ServerState
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.connectors.mysql_cdc.table_checks import cascades, require_transactions
from tests.connectors.mysql_cdc.server_stub import AnsweringServer
from tests.connectors.mysql_cdc.tables import DIALECT, table

CHILD = """CREATE TABLE `lines` (
  `id` int NOT NULL COMMENT 'CONSTRAINT a FOREIGN KEY b ON DELETE CASCADE',
  PRIMARY KEY (`id`),
  CONSTRAINT `f` FOREIGN KEY (`id`) REFERENCES `orders` (`id`){rule}
) ENGINE=InnoDB"""


def test_tables_are_the_same() -> None:
    record = recorded([table("a"), table("b")])
    found = same_tables(record, [table("a"), table("aa"), table("b")])
    assert [each.reading.name for each in found] == ["shop.a", "shop.b"]
    assert later_tables(found, found) is None
    assert "does not capture shop.aa, because these tables were not selected" in str(
        later_tables(found, [*found, table("aa")])
    )


MASKS = ColumnRules.of(options_of(MySQLCdcSource, {
    "url": "jdbc:mysql://h/shop", "username": "u", "password": "p", "table-names": ["shop.a"],
    "debezium": {"column.mask.with.3.chars": ".*a, .*more"},
}))  # fmt: skip


def with_masks(masks: dict[str, str]) -> bytes:
    """Return a record of the table ``a`` as earlier versions wrote it."""
    record = json.loads(recorded([table("a")]))
    return json.dumps({name: {**each, "masks": masks} for name, each in record.items()}).encode()


def test_the_same_masks_are_accepted_with_other_columns() -> None:
    more = evolve(table("a"), columns=(*table("a").columns, column_of("more", "varchar(9)")))
    assert known_tables(recorded([table("a")], MASKS), [more], MASKS) == [more]
    assert known_tables(recorded([more], MASKS), [table("a")], MASKS) == [table("a")]
    with pytest.raises(SourceChangedError, match=r"the masks or the filter of shop\.a have changed"):
        known_tables(recorded([table("a")], MASKS), [table("a")])
    with pytest.raises(SourceChangedError, match="the masks"):
        known_tables(recorded([table("a")]), [table("a")], MASKS)


def test_records_of_earlier_versions_are_accepted() -> None:
    more = evolve(table("a"), columns=(*table("a").columns, column_of("more", "varchar(9)")))
    same = with_masks({"a": "column.mask.with.3.chars"})
    assert same_tables(same, [table("a")], MASKS) == [table("a")]
    assert known_tables(same, [more], MASKS) == [more]
    with pytest.raises(SourceChangedError, match="the masks"):
        same_tables(with_masks({"a": "column.mask.with.4.chars"}), [table("a")], MASKS)
    with pytest.raises(SourceChangedError, match="the masks"):
        same_tables(same, [table("a")])


def zoned(zone: str, *more: Column) -> Found:
    """Return the table ``a`` with more columns, read in a session with a time zone."""
    found = table("a")
    dialect = MySQL(evolve(DIALECT.address, properties=(("serverTimezone", zone),)), 2)
    return evolve(found, columns=(*found.columns, *more), reading=evolve(found.reading, dialect=dialect))


def test_another_time_zone_is_refused_for_timestamps() -> None:
    """Values and bounds of chunks are local times."""
    moment, date = column_of("t", "timestamp(6)"), column_of("t", "datetime(6)")
    record = recorded([zoned("Europe/Berlin", moment)])
    assert same_tables(record, [zoned("Europe/Berlin", moment)])
    for read in (same_tables, known_tables):
        with pytest.raises(SourceChangedError, match=r"'server-time-zone' .* from Europe/Berlin to UTC: .* of shop\.a"):
            read(record, [zoned("UTC", moment)])
    assert same_tables(recorded([zoned("UTC", date)]), [zoned("Europe/Berlin", date)])
    assert same_tables(without(record, "zone"), [zoned("UTC", moment)])


def narrowed(*more: Column, narrows: bool = True) -> Found:
    """Return the table ``a`` with more columns, read with a value of ``int_type_narrowing``."""
    found = table("a")
    own = {jdbc.TABLE_PATH.key: "a", jdbc.INT_NARROWING.key: narrows}
    reading = evolve(found.reading, options=Options(own, jdbc.SOURCE_OPTIONS))
    return evolve(found, columns=(*found.columns, *more), reading=reading)


def test_another_type_of_short_integers_is_refused() -> None:
    """Later rows had numbers, and the earlier ones booleans."""
    flag, number = column_of("f", "tinyint(1)"), column_of("f", "tinyint(4)")
    record = recorded([narrowed(flag)])
    assert same_tables(record, [narrowed(flag)])
    with pytest.raises(SourceChangedError, match=r"'int_type_narrowing' has changed .* to false: .* of shop\.a would"):
        known_tables(record, [narrowed(flag, narrows=False)])
    assert same_tables(recorded([narrowed(number)]), [narrowed(number, narrows=False)])
    earlier = without(record, "narrowing")
    assert same_tables(earlier, [narrowed(flag, narrows=False)])
    with pytest.raises(SourceChangedError, match=r"'int_type_narrowing' has changed .* to true"):
        known_tables(with_options(earlier, [narrowed(flag, narrows=False)]), [narrowed(flag)])


def zeroed(behaviour: str, *more: Column) -> Found:
    """Return the table ``a`` with more columns, read with a value of ``zeroDateTimeBehavior``."""
    found = table("a")
    dialect = MySQL(evolve(DIALECT.address, properties=(("zeroDateTimeBehavior", behaviour),)), 2)
    return evolve(found, columns=(*found.columns, *more), reading=evolve(found.reading, dialect=dialect))


@pytest.mark.parametrize("declared", ["date", "datetime(3)", "timestamp"])
def test_nulls_in_place_of_dates_remain_nulls(declared: str) -> None:
    """The opposite change is what the error of such a date suggests: earlier rows have none."""
    day = column_of("d", declared)
    converted, strict = zeroed("convertToNull", day), zeroed("EXCEPTION", day)
    with pytest.raises(SourceChangedError, match=r"zeroDateTimeBehavior has changed .* CONVERT_TO_NULL to EXCEPTION"):
        known_tables(recorded([converted]), [strict])
    assert same_tables(recorded([strict]), [converted])
    for record in (recorded([strict]), without(recorded([converted]), "zero_is_null")):
        assert same_tables(record, [strict])
        with pytest.raises(SourceChangedError, match="zeroDateTimeBehavior has changed"):
            known_tables(with_options(record, [converted]), [strict])
    assert same_tables(recorded([zeroed("CONVERT_TO_NULL")]), [table("a")])


def without(record: bytes, part: str) -> bytes:
    """Return a record as earlier versions wrote it."""
    found = json.loads(record)
    del found["shop.a"][part]
    return json.dumps(found).encode()


def test_a_range_has_only_the_tables_for_which_it_was_planned() -> None:
    source = MySQLCdcSource(
        options_of(MySQLCdcSource, {"url": "jdbc:mysql://h/shop", "username": "u", "table-pattern": ".*"})
    )
    source._tables, source._state = (table("a"), table("later")), ServerState(version="8.0.15", settings={})
    body = {"from": "bin.000001:4", "to": "bin.000001:9", "prepared": [], "tables": ["shop.a"]}
    reader = source._range_reader(body)
    assert list(reader.tables) == ["shop.a"]
    assert reader.log.tables.columns("shop", "later") is None
    with pytest.raises(SourceError, match=r"'shop\.b' is no longer captured"):
        source._range_reader({**body, "tables": ["shop.b"]})


def changed_key(found: Found) -> Found:
    assert found.table is not None
    return evolve(found, table=evolve(found.table, primary_key=("a",)))


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ([], "is no longer captured"),
        ([table("a", "bigint")], "columns of shop.a have changed since the job started: id"),
        ([changed_key(table("a"))], "the key of shop.a has changed since the job started, from id to a"),
        (
            [evolve(table("a"), split_column=None)],
            r"the split column \(or its sort order\) of shop.a has changed .* from id number to none",
        ),
    ],
)
def test_changed_tables_are_refused(now: Sequence[Found], message: str) -> None:
    with pytest.raises(SourceChangedError, match=message):
        same_tables(recorded([table("a")]), now)


def test_tables_without_transactions_are_refused() -> None:
    found = DatabaseTable(columns=(), transactional=False)
    with pytest.raises(SourceError, match=r"shop\.t uses a storage engine .* run ALTER TABLE `shop`\.`t` ENGINE"):
        require_transactions(DIALECT, ("shop", "t"), found)
    require_transactions(DIALECT, ("shop", "t"), evolve(found, transactional=True))
    require_transactions(DIALECT, ("shop", "t"), None)


@pytest.mark.parametrize("rule", [" ON DELETE CASCADE", " ON DELETE RESTRICT ON UPDATE SET NULL"])
def test_foreign_keys_that_change_rows_are_reported(rule: str) -> None:
    server = AnsweringServer({"SHOW CREATE TABLE `shop`.`lines`": [("lines", CHILD.format(rule=rule))]})
    assert str(cascades(server, [("shop", "lines")])).startswith("shop.lines: the server does not log changes made")


def test_other_foreign_keys_are_not_reported() -> None:
    server = AnsweringServer({"SHOW CREATE TABLE": [("lines", CHILD.format(rule=" ON DELETE RESTRICT").encode())]})
    assert cascades(server, [("shop", "lines")]) is None


def test_keys_of_bytes_are_compared_as_bytes() -> None:
    server = AnsweringServer({"SELECT": [(0, 0), (1, 1)]})
    found = places_of(server, table("m", "blob"), "bytes", ["61"], pa.array([b"\x01", b"ab", None], pa.binary()))
    assert found.tolist() == [0, 1, 0]
    (statement,) = server.asked  # type: ignore[attr-defined]
    assert "SELECT 0, x'01' UNION ALL SELECT 1, x'6162')" in statement


def test_keys_of_text_are_literals_of_the_server() -> None:
    server = AnsweringServer({"SELECT": [(0, 1)]})
    places_of(server, table("m", "varchar(9)", "utf8mb4_bin"), OWN, ["a"], pa.array(["it's \\"]))
    assert r"SELECT 0, 'it''s \\'" in server.asked[0]  # type: ignore[attr-defined]
