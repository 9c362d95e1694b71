"""Statements on a captured table: the source continues, stops until it is resumed, or stops for good."""

from contextlib import closing
from typing import Any

import pymysql
import pytest

from seatunnel_core.capture_errors import ColumnsChangedError
from seatunnel_core.connector_api.errors import SourceChangedError
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.driven import DrivenSource, StrictTarget

pytestmark = pytest.mark.servers

CONTINUES, RESUMED, ENDS = "continues", "can be resumed", "stops for good"
TABLES = (
    "CREATE TABLE r (id int PRIMARY KEY)",
    """CREATE TABLE t (
        id int PRIMARY KEY, a int, b varchar(20) CHARACTER SET latin1, c enum('k', 'l') CHARACTER SET latin1, u int,
        INDEX ia (a), UNIQUE KEY uu (u), CONSTRAINT fk FOREIGN KEY (u) REFERENCES r (id)
    )""",
    """CREATE TABLE p (id int PRIMARY KEY, a int) PARTITION BY RANGE (id)
        (PARTITION p0 VALUES LESS THAN (9), PARTITION p9 VALUES LESS THAN (200))""",
    """CREATE TABLE l (id int PRIMARY KEY, a int) PARTITION BY LIST (id)
        (PARTITION p0 VALUES IN (1, 3), PARTITION p9 VALUES IN (2))""",
)
STATEMENTS = {
    "ALTER TABLE t ALTER a SET DEFAULT 5": CONTINUES,
    "ALTER TABLE t ALTER COLUMN a SET DEFAULT 5, ALTER COLUMN b SET DEFAULT 'x, y'": CONTINUES,
    "ALTER TABLE t ALTER COLUMN u SET DEFAULT NULL, ALTER c SET DEFAULT 'l'": CONTINUES,
    "ALTER TABLE t ADD INDEX ib (b)": CONTINUES,
    "CREATE INDEX ib ON t (b)": CONTINUES,
    "ALTER TABLE t DROP INDEX ia": CONTINUES,
    "DROP INDEX ia ON t": CONTINUES,
    "ALTER TABLE t ADD CONSTRAINT un UNIQUE (a)": CONTINUES,
    "ALTER TABLE t ADD CONSTRAINT ck CHECK (a < 1000)": CONTINUES,
    "ALTER TABLE t ADD CONSTRAINT f2 FOREIGN KEY (a) REFERENCES r (id)": CONTINUES,
    "ALTER TABLE t DROP FOREIGN KEY fk": CONTINUES,
    "ALTER TABLE t DROP FOREIGN KEY fk, DROP KEY uu": CONTINUES,
    "ALTER TABLE t COMMENT = 'a, b'": CONTINUES,
    "ALTER TABLE t ENGINE = InnoDB": CONTINUES,
    "ALTER TABLE t FORCE": CONTINUES,
    "ALTER TABLE t AUTO_INCREMENT = 500 ROW_FORMAT = DYNAMIC": CONTINUES,
    "OPTIMIZE TABLE t": CONTINUES,
    "ANALYZE TABLE t": CONTINUES,
    "CREATE VIEW v AS SELECT * FROM t": CONTINUES,
    "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.a = 7": CONTINUES,
    "CREATE PROCEDURE q() DELETE FROM t": CONTINUES,
    "CREATE TABLE t2 LIKE t": CONTINUES,
    "ALTER DATABASE shop CHARACTER SET latin1": CONTINUES,
    "ALTER DATABASE CHARACTER SET latin1": CONTINUES,
    "ALTER TABLE t DEFAULT CHARACTER SET latin1": CONTINUES,
    "ALTER TABLE t CONVERT TO CHARACTER SET utf8mb4": RESUMED,
    "ALTER TABLE t CONVERT TO CHARACTER SET latin1": RESUMED,
    "ALTER TABLE t MODIFY b varchar(20) CHARACTER SET utf8mb4": RESUMED,
    "ALTER TABLE t MODIFY a int COMMENT 'a'": RESUMED,
    "ALTER TABLE t MODIFY a bigint": RESUMED,
    "ALTER TABLE t MODIFY c enum('k', 'l', 'm') CHARACTER SET latin1": RESUMED,
    "ALTER TABLE t ADD COLUMN d int": RESUMED,
    "ALTER TABLE t ADD d int FIRST": RESUMED,
    "ALTER TABLE t ADD (d int, e int)": RESUMED,
    "ALTER TABLE t DROP COLUMN a": RESUMED,
    "ALTER TABLE t CHANGE a d int": RESUMED,
    "ALTER TABLE t ADD COLUMN d int, ADD INDEX (d)": RESUMED,
    "ALTER TABLE t ADD COLUMN d int GENERATED ALWAYS AS (a + 1) STORED": RESUMED,
    "ALTER TABLE t ADD COLUMN d int UNIQUE": RESUMED,
    "TRUNCATE t": ENDS,
    "RENAME TABLE t TO t3, t3 TO t": ENDS,
    "ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (id)": ENDS,
    "ALTER TABLE t DROP INDEX `PRIMARY`": ENDS,
    "DROP INDEX `PRIMARY` ON t": ENDS,
    "ALTER TABLE p ADD PARTITION (PARTITION p1 VALUES LESS THAN (1000))": CONTINUES,
    "ALTER TABLE p REORGANIZE PARTITION p0 INTO (PARTITION a VALUES LESS THAN (1), PARTITION b VALUES LESS THAN (9))": (
        CONTINUES
    ),
    "ALTER TABLE p REMOVE PARTITIONING": CONTINUES,
    "ALTER TABLE p PARTITION BY HASH (id) PARTITIONS 2": CONTINUES,
    "ALTER TABLE p REORGANIZE PARTITION p0, p9 INTO (PARTITION a VALUES LESS THAN (200))": CONTINUES,
    "ALTER TABLE p DROP PARTITION p9": ENDS,
    "ALTER TABLE p ANALYZE PARTITION p0": CONTINUES,
    "ALTER TABLE p OPTIMIZE PARTITION ALL": CONTINUES,
    "ALTER TABLE p TRUNCATE PARTITION p0": ENDS,
    "ALTER TABLE l ADD PARTITION (PARTITION p1 VALUES IN (4))": CONTINUES,
    "ALTER TABLE l REORGANIZE PARTITION p0 INTO (PARTITION a VALUES IN (3))": ENDS,
}
OF_MARIADB = {
    "ALTER TABLE t RENAME INDEX ia TO ib": CONTINUES,
    "ALTER TABLE t DROP FOREIGN KEY fk, DROP CONSTRAINT uu": CONTINUES,
    "ALTER TABLE t DROP CONSTRAINT IF EXISTS fk": CONTINUES,
    "ALTER TABLE t RENAME COLUMN a TO d": RESUMED,
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS d uuid": RESUMED,
    "CREATE OR REPLACE TABLE p (id int PRIMARY KEY, a int)": ENDS,
}
OF_MYSQL_8 = {
    "ALTER TABLE t RENAME INDEX ia TO ib": CONTINUES,
    "ALTER TABLE t ALTER INDEX ia INVISIBLE": CONTINUES,
    "ALTER TABLE t RENAME COLUMN a TO d": RESUMED,
}


def rows_of(server: Any, table: str) -> dict[int, dict[str, Any]]:
    """Return the rows of a table by their keys."""
    with closing(server.connect()) as connection, connection.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute(f"SELECT * FROM {table}")
        return {row["id"]: row for row in cursor.fetchall()}


def started(server: Any, table: str) -> DrivenSource:
    """Start a source at the end of the log."""
    source = DrivenSource({**cdc_options(server, table), "startup.mode": "latest"})
    source.turn()
    return source


def resumed(stopped: DrivenSource) -> DrivenSource:
    """Continue in another process."""
    found = DrivenSource(stopped.options, cursor=stopped.cursor)
    found.source.restored_schemas(found.cursor, found.source.planned_schemas())
    return found


def read(source: DrivenSource, target: StrictTarget) -> str:
    """Read the log to its current end; return what the source does at a change of a table."""
    before, after = None, source.cursor
    try:
        while after != before:
            before = after
            for batch in source.turn()[0]:
                target.add(batch)
            after = source.cursor
    except ColumnsChangedError:
        return RESUMED
    except SourceChangedError:
        return ENDS
    return CONTINUES


def outcome(server: Any, *statements: str, table: str = "t") -> str:
    """Run statements between two rows; return what the source does."""
    source = started(server, table)
    target = StrictTarget({f"shop.{table}": ("id",)})
    columns, values = ("id, a", ", 1") if table != "t" else ("id, b, c", ", 'ä', 'k'")
    server.run(f"INSERT INTO {table} ({columns}) VALUES (1{values})", *statements)
    server.run(f"INSERT INTO {table} ({columns}) VALUES (2{values})")
    found = read(source, target)
    if found == RESUMED:
        rest = read(resumed(source), target)
        assert rest == CONTINUES, f"{rest} after it was resumed"
    if found != ENDS:
        require_equal(target.rows[f"shop.{table}"], rows_of(server, table))
    return found


def require_equal(rows: dict[tuple[Any, ...], dict[str, Any]], expected: dict[int, dict[str, Any]]) -> None:
    """Compare rows in the columns that they have: a row from before a change has others."""
    assert {key for (key,) in rows} == {*expected}
    for (key,), row in rows.items():
        for name in row.keys() & expected[key].keys():
            assert row[name] == expected[key][name], (key, name)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(server: Any, statement: str) -> None:
    require(server, statement, STATEMENTS[statement])


@pytest.mark.parametrize("server", ["maria"], indirect=True)
@pytest.mark.parametrize("statement", OF_MARIADB)
def test_statements_of_mariadb(server: Any, statement: str) -> None:
    require(server, statement, OF_MARIADB[statement])


@pytest.mark.twin
@pytest.mark.parametrize("server", ["locks"], indirect=True)
@pytest.mark.parametrize("statement", OF_MYSQL_8)
def test_statements_of_mysql(server: Any, statement: str) -> None:
    require(server, statement, OF_MYSQL_8[statement])


def require(server: Any, statement: str, expected: str) -> None:
    server.run(*TABLES)
    table = next((each for each in ("p", "l") if f"TABLE {each} " in statement), "t")
    assert outcome(server, statement, table=table) == expected


def test_another_character_set_of_a_key(server: Any) -> None:
    server.run(
        "CREATE TABLE w (id varchar(9) PRIMARY KEY, a int) CHARACTER SET latin1", "INSERT INTO w VALUES ('ß', 1)"
    )
    source, target = DrivenSource(cdc_options(server, "w")), StrictTarget({"shop.w": ("id",)})
    assert read(source, target) == CONTINUES
    server.run("INSERT INTO w VALUES ('ä', 2)", "ALTER TABLE w CONVERT TO CHARACTER SET utf8mb4")
    server.run("INSERT INTO w VALUES ('ö', 3)")
    assert read(source, target) == RESUMED
    assert read(resumed(source), target) == CONTINUES
    require_equal(target.rows["shop.w"], rows_of(server, "w"))


@pytest.mark.parametrize("server", ["maria"], indirect=True)
def test_a_change_in_two_phases(server: Any) -> None:
    """With binlog_alter_two_phase, ALTER TABLE is logged when it starts, and again when it ends."""
    server.run(*TABLES)
    source, target, two = (
        started(server, "t"),
        StrictTarget({"shop.t": ("id",)}),
        "SET SESSION binlog_alter_two_phase = ON",
    )
    file, offset, *_ = server.run("SHOW MASTER STATUS")[0]
    with pytest.raises(pymysql.err.IntegrityError):
        server.run("INSERT INTO t (id, a) VALUES (1, 1), (2, 1)", two, "ALTER TABLE t ADD UNIQUE (a), DROP c")
    server.run("INSERT INTO t (id, a) VALUES (3, 3)")
    assert read(source, target) == CONTINUES
    server.run(two, "ALTER TABLE t ADD d int FIRST", "INSERT INTO t (id, d) VALUES (4, 4)")
    events = [row[5] for row in server.run(f"SHOW BINLOG EVENTS IN '{file}' FROM {offset}") if row[2] == "Gtid"]
    assert {"START", "ROLLBACK", "COMMIT"} <= {each.split()[2] for each in events if " ALTER" in each}
    assert read(source, target) == RESUMED
    assert read(resumed(source), target) == CONTINUES
    require_equal(target.rows["shop.t"], rows_of(server, "t"))


@pytest.mark.parametrize(
    ("first", "between", "last", "expected"),
    [
        ("ADD d int", "", "MODIFY d int NOT NULL", CONTINUES),
        ("ADD d varchar(9) DEFAULT 'x' AFTER id", "", "CHANGE COLUMN d d varchar(20) NOT NULL COMMENT 'd'", CONTINUES),
        ("ADD d decimal(9, 2)", "ALTER TABLE t ALTER d SET DEFAULT 1", "MODIFY d decimal(9,2) NOT NULL", CONTINUES),
        ("ADD d int, MODIFY a bigint", "", "MODIFY a bigint NULL DEFAULT 3, ADD INDEX (a)", CONTINUES),
        ("ADD d int", "", "MODIFY d int unsigned", ENDS),
        ("ADD d int", "", "MODIFY d int NOT NULL FIRST", ENDS),
        ("ADD d varchar(9)", "ALTER TABLE t CHARACTER SET latin1", "MODIFY d varchar(9) NOT NULL", ENDS),
        ("ADD d varchar(9)", "", "MODIFY d varchar(9) CHARACTER SET latin1 NOT NULL", ENDS),
        ("ADD d enum('x', 'y')", "", "MODIFY d enum('y', 'x') NOT NULL", ENDS),
    ],
)
def test_a_change_behind_rows_of_another_one(server: Any, first: str, between: str, last: str, expected: str) -> None:
    """A source that is resumed reads them, unless they may have other columns than the table has now."""
    server.run(*TABLES)
    source, target = started(server, "t"), StrictTarget({"shop.t": ("id",)})
    server.run("INSERT INTO t (id, b) VALUES (1, 'ä')", f"ALTER TABLE t {first}")
    assert read(source, target) == RESUMED
    after = [between] if between else []
    server.run("UPDATE t SET a = 5, b = 'ü'", "UPDATE t SET d = 1 WHERE a = 5", *after, f"ALTER TABLE t {last}")
    target.strict = False
    if expected == ENDS:
        with pytest.raises(SourceChangedError, match="the table no longer has"):
            resumed(source)
        return
    server.run("INSERT INTO t (id, b, d) VALUES (2, 'ö', 1)")
    assert read(resumed(source), target) == CONTINUES
    require_equal(target.rows["shop.t"], rows_of(server, "t"))


def test_a_restart_does_not_report_a_resumed_change_again(server: Any) -> None:
    """The process restarts the job before there is a checkpoint after the change."""
    server.run(*TABLES)
    source, target = started(server, "t"), StrictTarget({"shop.t": ("id",)})
    server.run("INSERT INTO t (id, a) VALUES (1, 1)", "ALTER TABLE t MODIFY a int NOT NULL")
    assert read(source, target) == RESUMED
    again = resumed(source)
    again.turn()
    again.cursor = source.cursor
    server.run("INSERT INTO t (id, a) VALUES (2, 2)")
    again.source.restored_schemas(again.cursor, again.source.planned_schemas())
    assert read(again, target) == CONTINUES
    require_equal(target.rows["shop.t"], rows_of(server, "t"))
