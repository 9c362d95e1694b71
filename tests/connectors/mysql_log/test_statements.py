"""Statements in the log: their kinds, changes of rows that are not logged, and definitions."""

import struct

import pytest

from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import Reason
from seatunnel_core.connectors.mysql_log.errors import (
    MalformedLogError,
    StatementLoggedError,
)
from seatunnel_core.connectors.mysql_log.events import QueryEvent, query_of
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.statements import (
    StatementKind,
    kind_of_statement,
    without_strings,
    without_values,
)
from tests.connectors.mysql_log.encoder import LogWriter
from tests.connectors.mysql_log.small_log import INT, START, decode, insert, rows, started


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("insert into t values (1)", StatementKind.ROWS),
        ("/* a comment */ -- another\n # one\n UPDATE t SET a = 1", StatementKind.ROWS),
        ("/*!50001 DELETE FROM t */", StatementKind.ROWS),
        ("/*M!100100 REPLACE t SELECT 1 */", StatementKind.ROWS),
        ("((SELECT f()))", StatementKind.ROWS),
        ("WITH x AS (SELECT 1) DELETE FROM t", StatementKind.ROWS),
        ("LOAD DATA INFILE 'x' INTO TABLE t", StatementKind.ROWS),
        ("CALL p()", StatementKind.ROWS),
        ("truncate t", StatementKind.DEFINITION),
        ("ALTER TABLE t ADD a int", StatementKind.DEFINITION),
        ("GRANT ALL ON *.* TO x", StatementKind.DEFINITION),
        ("XA RECOVER", StatementKind.DEFINITION),
        ("", StatementKind.DEFINITION),
        ("BEGIN", StatementKind.BEGIN),
        ("START TRANSACTION", StatementKind.BEGIN),
        ("START SLAVE", StatementKind.DEFINITION),
        ("commit", StatementKind.COMMIT),
        ("ROLLBACK", StatementKind.ROLLBACK),
        ("ROLLBACK TO a", StatementKind.ROLLBACK_TO),
        ("RELEASE SAVEPOINT a", StatementKind.SAVEPOINT),
    ],
)
def test_kinds_of_statements(text: str, kind: StatementKind) -> None:
    assert kind_of_statement(text) is kind


def test_a_statement_in_place_of_rows_is_an_error_unless_it_is_elsewhere() -> None:
    captured = CapturedTables({("shop", "t"): [INT.declared]})
    for database, databases, text, may in (
        ("shop", None, "INSERT INTO x", True),
        ("other", None, "INSERT INTO x", False),
        ("other", None, "INSERT INTO `T` SELECT 1", True),
        ("other", None, "INSERT INTO SHOP.x SELECT 1", True),
        ("shop", ("other",), "INSERT INTO other.x SELECT * FROM t", False),
        ("other", ("a", "Shop"), "CALL p()", True),
    ):
        statement = QueryEvent(database=database, text=text, databases=databases)
        assert captured.may_change_rows(statement) is may, statement
    log = started()
    log.query("BEGIN")
    log.query("UPDATE t SET id = 2")
    with pytest.raises(StatementLoggedError, match=r"\('UPDATE t SET id …'\).*SET GLOBAL binlog_format = 'ROW'"):
        decode(log)
    log = started()
    log.query("UPDATE x SET id = 2", database="other")
    log.query("BEGIN", database="other")
    log.query("UPDATE x SET id = 2", database="other")
    insert(log)
    log.query("COMMIT")
    batches = decode(log)
    assert rows(batches) == 1
    assert [len(each.transactions) for each in batches] == [2]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("UPDATE people SET password='hunter2' WHERE id=1", "UPDATE people SET password …"),
        ("INSERT INTO people VALUES (TRUE, 0xabc)", "INSERT INTO people VALUES …"),
        ("DELETE FROM p1.people_2 WHERE a > 17", "DELETE FROM p1.people_2 WHERE a > …"),
        ('DELETE FROM people WHERE a LIKE "x"', "DELETE FROM people WHERE a LIKE …"),
        ("REPLACE people\nSELECT  true", "REPLACE people SELECT …"),
        ("INSERT INTO people SELECT .5", "INSERT INTO people SELECT …"),
        ("INSERT INTO people SELECT x'61'", "INSERT INTO people SELECT x …"),
        ("/* 'a' */ ((SELECT f()))", "SELECT f …"),
        ("INSERT INTO people /* 17 */ SELECT * FROM a", "INSERT INTO people …"),
        ("INSERT INTO t SELECT * FROM `1 a`", "INSERT INTO t SELECT * FROM `1 a`"),
        ("DELETE FROM " + "a" * 200, "DELETE FROM " + "a" * 108 + " …"),
    ],
)
def test_values_of_a_statement_are_not_shown(text: str, shown: str) -> None:
    assert without_values(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ALTER TABLE t\n MODIFY a ENUM('x','y''z')", "ALTER TABLE t MODIFY a ENUM('…','…')"),
        ('ALTER TABLE t ADD a text DEFAULT "x"', "ALTER TABLE t ADD a text DEFAULT '…'"),
        ("ALTER TABLE `t'1` ADD a int DEFAULT 5", "ALTER TABLE `t'1` ADD a int DEFAULT 5"),
        ("ALTER TABLE t ADD a text DEFAULT x'61', ADD b int", "ALTER TABLE t ADD a text DEFAULT x'…', ADD b int"),
        ("ALTER TABLE t ADD b blob DEFAULT 0x6162", "ALTER TABLE t ADD b blob DEFAULT '…'"),
        (r"ALTER TABLE t ADD a text DEFAULT 'x\', ADD b text DEFAULT 'secret'", "ALTER TABLE t ADD a text DEFAULT …"),
        ("ALTER TABLE t ADD a text DEFAULT 'x", "ALTER TABLE t ADD a text DEFAULT …"),
        ("ALTER TABLE t /* it's */ ADD a int -- 'x'\n, ADD b int # y", "ALTER TABLE t ADD a int , ADD b int"),
        ("ALTER TABLE t /*!50100 COMMENT='x' */", "ALTER TABLE t /*!50100 COMMENT='…' */"),
        ("ALTER TABLE t ADD " + "a" * 300, "ALTER TABLE t ADD " + "a" * 182 + " …"),
    ],
)
def test_strings_of_a_definition_are_not_shown(text: str, shown: str) -> None:
    assert without_strings(text) == shown


def test_a_text_that_ends_with_begin_is_no_begin() -> None:
    log = started()
    log.query("TRUNCATE t -- \0BEGIN")
    assert decode(log)[0].statement is not None


def test_definitions_inside_of_a_transaction() -> None:
    """A table that is made by CREATE TABLE … SELECT is followed by its rows in the same transaction."""
    log = started()
    log.gtid(1)
    log.query("BEGIN")
    log.query("CREATE TABLE t (id int) START TRANSACTION")
    insert(log)
    log.xid()
    first, last = decode(log)
    assert first.statement is not None
    assert first.statement.transaction is last.transactions[0]
    assert last.rows == 1
    assert first.position.offset < last.position.offset


def test_definitions_that_concern_nobody_do_not_end_a_batch() -> None:
    class Some(CapturedTables):
        def concerned_by(self, statement: QueryEvent) -> bool:
            return "t" in statement.text.split()

    log = started()
    for text in ("ALTER USER x", "ALTER TABLE t ADD a int", "ANALYZE TABLE u"):
        log.query(text)
    found = list(LogDecoder(Some({("shop", "t"): [INT.declared]}), START).batches(log.events()))
    assert [each.reason for each in found] == [Reason.STATEMENT, Reason.END]


def test_an_alter_table_in_two_phases_takes_effect_when_it_is_committed() -> None:
    log = LogWriter(server="10.11.19-MariaDB")
    log.format()
    for number, flags in ((1, b"\x29\x02"), (2, b"\x29\x08"), (3, b"\x04\0"), (4, b"\x29\x04")):
        log.event(162, number.to_bytes(8, "little") + bytes(4) + flags + bytes(9))
        if number == 3:
            insert(log)
            log.xid()
        else:
            log.query("ALTER TABLE t ADD a int")
    first, last = decode(log)
    assert first.statement is not None
    assert (first.rows, len(first.transactions), last.rows) == (1, 4, 0)


def test_status_variables_of_statements() -> None:
    status = b"\0" + bytes(4) + b"\1" + bytes(8) + b"\6\3std" + b"\3" + bytes(4) + b"\5\3CET" + b"\x0b\1u\1h"
    status += b"\4" + struct.pack("<HHH", 8, 8, 8) + b"\x0c\2a\0b\0" + b"\x0d" + bytes(3) + b"\xf0??"
    head = struct.pack("<IIBHH", 1, 0, 4, 1053, len(status))
    found = query_of(head + status + b"shop\0INSERT '\xe4\x80'")
    assert found == QueryEvent(database="shop", text="INSERT 'ä€'", databases=("a", "b"), error_code=1053)
    phases = b"\x82\2\x82\4" + bytes(8) + b"\x82\x08" + bytes(8)
    status = phases + b"\x0c\xfe\2\3std\0\4" + struct.pack("<HHH", 28, 8, 8)
    head = struct.pack("<IIBHH", 1, 0, 0, 0, len(status))
    assert query_of(head + status + b"\0SELECT x'\xff").text == "SELECT x'\\xff"
    with pytest.raises(MalformedLogError):
        query_of(head + status[:-1])
