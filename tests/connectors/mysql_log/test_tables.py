"""Descriptions of tables that change, hidden columns, and changes of JSON documents in events."""

import pytest
from attrs import evolve

from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import ChangeBatch, TableChanges
from seatunnel_core.connectors.mysql_log.declared import DeclaredColumn
from seatunnel_core.connectors.mysql_log.errors import UnsupportedLogError
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_log import binary_json
from tests.connectors.mysql_log.encoder import LogWriter, WrittenColumn, bitmap, packed_bytes, row_image

START = LogPosition("binlog.000001", 4)
INSERT, UPDATE, DELETE = 30, 31, 32

INT = WrittenColumn(DeclaredColumn(name="c0", declared="int"), 3)


def four(number: int) -> bytes:
    return number.to_bytes(4, "little")


def decode(log: LogWriter, columns: list[WrittenColumn]) -> list[ChangeBatch]:
    captured = CapturedTables({("shop", "t"): [each.declared for each in columns]})
    return list(LogDecoder(captured, START).batches(log.events()))


def only(batches: list[ChangeBatch]) -> TableChanges:
    (found,) = [each for batch in batches for each in batch.changes]
    return found


class Changing(CapturedTables):
    """A table whose ENUM gets other members with each definition; its table map stays the same."""

    def __init__(self) -> None:
        super().__init__({})
        self.members = ["'a','b'", "'b','a'"]

    def columns(self, database: str, table: str) -> list[DeclaredColumn]:
        return [DeclaredColumn(name="e", declared=f"enum({self.members.pop(0)})", charset="latin1")]


def test_declarations_are_asked_for_again_after_a_definition() -> None:
    log, enum = LogWriter(), WrittenColumn(INT.declared, 254, b"\xf7\1")
    log.format()
    for _ in range(2):
        log.query("BEGIN")
        log.table_map([enum])
        log.rows(INSERT, 1, [[b"\1"]])
        log.table_map([enum])
        log.rows(INSERT, 1, [[b"\2"]])
        log.xid()
        log.query("ALTER TABLE t MODIFY e enum('b','a')")
    batches = list(LogDecoder(Changing(), START).batches(log.events()))
    assert [each.changes[0].rows.to_pydict()["e"] for each in batches[:2]] == [["a", "b"], ["b", "a"]]


def test_hidden_columns_are_read_and_not_returned() -> None:
    hidden = DeclaredColumn(name="", declared="bigint", hidden=True)
    columns = [WrittenColumn(hidden, 8), INT, WrittenColumn(evolve(INT.declared, name="c1"), 3)]
    log = LogWriter()
    log.format()
    log.query("BEGIN")
    log.table_map(columns)
    log.rows(INSERT, 3, [[bytes(8), four(1), four(2)], [None, four(3), None]])
    log.rows(DELETE, 3, [[four(4)]], present=[[False, True, False]])
    log.xid()
    found = only(decode(log, columns))
    assert found.rows.to_pydict() == {"c0": [1, 3, 4], "c1": [2, None, None]}
    assert found.arrived(0).tolist() == [True, True, True]
    assert found.arrived(1).tolist() == [True, True, False]
    assert [each.name for each in found.table.columns] == ["c0", "c1"]


def sized(value: bytes) -> bytes:
    return len(value).to_bytes(4, "little") + value


def partial_update(before: list[bool]) -> tuple[LogWriter, list[WrittenColumn]]:
    """Write an update of two JSON columns, of which the second one is logged as a change."""
    document = DeclaredColumn(name="j", declared="json")
    columns = [INT, WrittenColumn(document, 245, b"\4"), WrittenColumn(evolve(document, name="k"), 245, b"\4")]
    first, second = binary_json.document({"a": 1}), binary_json.document([1])
    change = b"\0" + packed_bytes(b"$.a") + packed_bytes(binary_json.document("x"))
    old = [value for value, here in zip([four(1), sized(second), sized(first)], before, strict=True) if here]
    rows = (
        row_image(old) + b"\1\2" + row_image([four(1), None, None])[:1].replace(b"\6", b"\2") + four(1) + sized(change)
    )
    rows += row_image(old) + b"\0" + row_image([four(2), sized(first), sized(second)])
    log = LogWriter()
    log.format()
    log.query("BEGIN")
    log.table_map(columns)
    head = (9).to_bytes(6, "little") + b"\1\0\2\0\3" + bitmap(before) + bitmap([True] * 3)
    log.event(39, head + rows)
    log.xid()
    return log, columns


def test_changes_of_documents_are_applied_to_the_row_before() -> None:
    log, columns = partial_update([True, True, True])
    rows = only(decode(log, columns)).rows.to_pylist()
    assert rows[1] == {"c0": 1, "j": None, "k": '{"a": "x"}'}
    assert rows[3] == {"c0": 2, "j": '{"a": 1}', "k": "[1]"}


def test_changes_of_documents_without_the_row_before_are_refused() -> None:
    log, columns = partial_update([True, True, False])
    with pytest.raises(UnsupportedLogError, match="without the previous document; run SET GLOBAL binlog_row_image"):
        decode(log, columns)
