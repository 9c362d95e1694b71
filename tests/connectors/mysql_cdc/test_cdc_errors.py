"""What the source refuses, and where it starts and ends, with servers."""

import time
from contextlib import closing
from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.mysql_cdc import job_start, times
from seatunnel_core.connectors.mysql_cdc.job_start import first_since
from seatunnel_core.connectors.mysql_log.position import LogPosition
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.driven import DrivenSource, StrictTarget

pytestmark = pytest.mark.servers

TABLE = "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(20))"


def position(server: Any) -> tuple[str, int]:
    file, offset, *_ = server.run("SHOW MASTER STATUS")[0]
    return file, offset


def to_end(source: DrivenSource, target: StrictTarget) -> StrictTarget:
    """Read until a poll finds nothing new."""
    while True:
        before = {**source.cursor}
        for batch in source.turn()[0]:
            target.add(batch)
        if before == source.cursor:
            return target


def ids(target: StrictTarget) -> list[int]:
    return sorted(key for (key,) in target.rows.get("shop.t", {}))


@pytest.mark.parametrize(
    "statement", ["TRUNCATE t", "ALTER TABLE t ADD COLUMN c int", "ALTER TABLE t CHANGE a z int", "RENAME TABLE t TO x"]
)
def test_a_definition_stops_the_job_behind_the_rows_before_it(server: Any, statement: str) -> None:
    server.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(cdc_options(server, "t"))
    target = to_end(source, StrictTarget(source.keys))
    server.run("INSERT INTO t VALUES (2, 2, 'y')", "CREATE INDEX i ON t (a)", "INSERT INTO t VALUES (3, 3, 'z')")
    server.run(statement, "CREATE TABLE other (id int PRIMARY KEY)")
    with pytest.raises(
        SourceChangedError, match=rf"the statement at bin\.\d+:\d+ changes (columns of )?shop\.t\b.*{statement}"
    ):
        to_end(source, target)
    assert ids(target) == [1, 2, 3]
    with pytest.raises(SourceError, match=rf"{statement}|no longer captured|have changed|there is no table"):
        DrivenSource(cdc_options(server, "t"), cursor=source.cursor).turn()


@pytest.mark.parametrize("mode", ["initial", "latest", "earliest"])
def test_a_change_of_columns_before_the_first_poll_is_refused(server: Any, mode: str) -> None:
    """The log does not contain names, so it would swap the values of later rows."""
    server.run("RESET MASTER", "CREATE TABLE t (id int PRIMARY KEY, a int, b int)", "INSERT INTO t VALUES (1, 10, 20)")
    source = DrivenSource({**cdc_options(server, "t"), "startup.mode": mode})
    server.run("ALTER TABLE t MODIFY a int AFTER b", "INSERT INTO t (id, a, b) VALUES (2, 10, 20)")
    with pytest.raises(SourceChangedError, match=r"columns of shop\.t have changed since the job started: their order"):
        source.turn()


def test_rows_in_the_log_before_a_change_of_columns_are_refused(server: Any) -> None:
    server.run("RESET MASTER", "CREATE TABLE t (id int PRIMARY KEY, a int, b int)", "INSERT INTO t VALUES (1, 10, 20)")
    server.run("ALTER TABLE t MODIFY a int AFTER b")
    file, offset = position(server)
    server.run("INSERT INTO t (id, a, b) VALUES (2, 10, 20)")
    options = cdc_options(server, "t")
    with pytest.raises(SourceChangedError, match=rf"may change columns of shop\.t.* Start the job at {file}:{offset}"):
        DrivenSource({**options, "startup.mode": "earliest"}).turn()
    start = {"startup.specific-offset.file": file, "startup.specific-offset.pos": offset}
    source = DrivenSource({**options, "startup.mode": "specific", **start})
    assert to_end(source, StrictTarget(source.keys)).rows["shop.t"] == {(2,): {"id": 2, "b": 20, "a": 10}}


def test_a_restart_in_the_process_stops_at_a_change_of_columns(server: Any) -> None:
    server.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(cdc_options(server, "t"))
    target = to_end(source, StrictTarget(source.keys))
    server.run(
        "INSERT INTO t VALUES (2, 2, 'y')", "ALTER TABLE t ADD COLUMN c int", "INSERT INTO t VALUES (3, 3, 'z', 3)"
    )
    schemas = source.source.restored_schemas(source.cursor, source.source.planned_schemas())
    assert [schema.columns.names for schema in schemas] == [["id", "a", "b"]]
    with pytest.raises(SourceChangedError, match=r"changes columns of shop\.t: .*ALTER TABLE t ADD COLUMN c int"):
        to_end(source, target)
    assert ids(target) == [1, 2]
    assert source.source.restored_schemas(source.cursor, schemas) == schemas
    with pytest.raises(SourceChangedError, match=r"changes columns of shop\.t: .*ALTER TABLE t ADD COLUMN c int"):
        source.turn()


@pytest.mark.parametrize("condition", ["a = 7", "b IS NULL"])
def test_a_filter_needs_its_columns_in_the_log(server: Any, condition: str) -> None:
    """A session that began before the server logged whole rows leaves out columns that it does not change."""
    server.run(TABLE, "INSERT INTO t VALUES (1, 7, NULL)")
    filtered = {"table-names-config": [{"table": "t", "filter": condition}]}
    source = DrivenSource({**cdc_options(server, "t"), **filtered})
    target = to_end(source, StrictTarget(source.keys))
    assert ids(target) == [1]
    column = {"a = 7": "b = 'x'", "b IS NULL": "a = 8"}[condition]
    server.run("SET SESSION binlog_row_image = 'MINIMAL'", f"UPDATE t SET {column}")
    name = condition[0]
    with pytest.raises(
        SourceError, match=f"the filter needs the column '{name}', but the log does not contain its value"
    ):
        to_end(source, target)


def test_distributed_transactions_are_refused_if_they_change_captured_tables(server: Any) -> None:
    server.run(TABLE, "CREATE TABLE other (id int PRIMARY KEY)")
    source = DrivenSource(cdc_options(server, "t"))
    target = to_end(source, StrictTarget(source.keys))
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        for statement in ("XA START 'o'", "INSERT INTO other VALUES (1)", "XA END 'o'", "XA PREPARE 'o'"):
            cursor.execute(statement)
        to_end(source, target)
        cursor.execute("XA COMMIT 'o'")
    to_end(source, target)
    assert source.cursor["prepared"] == []
    server.run("XA START 'a'", "INSERT INTO t VALUES (1, 1, 'x')", "XA END 'a'", "XA PREPARE 'a'", "XA COMMIT 'a'")
    with pytest.raises(SourceError, match="is distributed"):
        to_end(source, target)


def test_a_removed_log_is_an_error(server: Any) -> None:
    server.run(TABLE)
    source = DrivenSource(cdc_options(server, "t"))
    to_end(source, StrictTarget(source.keys))
    source.source.require_readable(source.cursor, ())
    server.run("INSERT INTO t VALUES (1, 1, 'x')", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (2, 1, 'x')")
    server.run(f"PURGE BINARY LOGS TO '{position(server)[0]}'")
    with pytest.raises(SourceChangedError, match=r"no longer has the log file bin\.\d+"):
        source.source.require_readable(source.cursor, ())
    with pytest.raises(SourceChangedError, match=r"no longer has the log file bin\.\d+, from which the job continues"):
        source.turn()


def test_missing_privileges_are_named_with_their_statement(server: Any) -> None:
    server.run(TABLE, "DROP USER IF EXISTS reader@'%'", "CREATE USER reader@'%' IDENTIFIED BY 'pw'")
    server.run("GRANT SELECT ON shop.* TO reader@'%'")
    options = {**cdc_options(server, "t"), "username": "reader", "password": "pw"}
    with pytest.raises(SourceError, match=r"GRANT REPLICATION SLAVE, REPLICATION CLIENT ON \*\.\* TO 'reader'@'%'"):
        DrivenSource(options)
    server.run("GRANT REPLICATION SLAVE, REPLICATION CLIENT, UPDATE ON *.* TO reader@'%'")
    server.run("INSERT INTO t VALUES (1, 1, 'x')")
    forget()  # Global privileges count from the next connection on.
    source = DrivenSource(options)
    assert ids(to_end(source, StrictTarget(source.keys))) == [1]


def test_a_table_without_a_key_is_refused(server: Any) -> None:
    server.run("CREATE TABLE t (id int, a int)")
    with pytest.raises(SourceError, match=r"shop\.t has no primary key"):
        DrivenSource(cdc_options(server, "t"))


def test_a_table_without_transactions_is_refused(server: Any) -> None:
    server.run("CREATE TABLE t (id int PRIMARY KEY) ENGINE = MyISAM")
    with pytest.raises(SourceError, match=r"shop\.t uses a storage engine without transactions.*ENGINE = InnoDB"):
        DrivenSource(cdc_options(server, "t"))


def test_rows_that_a_foreign_key_deletes_are_not_logged(server: Any) -> None:
    rule = "FOREIGN KEY (a) REFERENCES t (id) ON DELETE CASCADE"
    server.run(TABLE, f"CREATE TABLE u (id int PRIMARY KEY, a int, {rule})")
    server.run("INSERT INTO t VALUES (1, 1, 'x')", "INSERT INTO u VALUES (2, 1)")
    source = DrivenSource(cdc_options(server, "t", "u"))
    (warning,) = [each for each in source.source.planned_reading() if "foreign key" in each]
    assert warning.startswith("shop.u: the server does not log changes made by foreign keys")
    target = to_end(source, StrictTarget(source.keys))
    server.run("DELETE FROM t")
    to_end(source, target)
    assert ids(target) == []
    assert len(target.rows["shop.u"]) == 1  # If a server logs the deletion, the warning is wrong.
    assert server.run("SELECT * FROM u") == []


def test_a_table_that_is_created_later_is_not_captured(server: Any) -> None:
    server.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    options = {**cdc_options(server), "table-pattern": "shop\\..*"}
    del options["table-names"]
    source = DrivenSource(options)
    target = to_end(source, StrictTarget(source.keys))
    server.run("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)", "INSERT INTO t VALUES (2, 1, 'x')")
    again = DrivenSource(options, cursor=source.cursor)
    target.keys = again.keys
    to_end(again, target)
    assert list(target.rows) == ["shop.t"]
    assert ids(target) == [1, 2]


def test_keys_of_bytes_lie_in_their_chunks(server: Any) -> None:
    server.run("CREATE TABLE t (id varbinary(500) PRIMARY KEY, a int)")
    server.run("INSERT INTO t VALUES " + ", ".join(f"(x'{n:02x}00ff', {n})" for n in range(100)))
    source = DrivenSource({**cdc_options(server, "t"), "snapshot.split.size": 5})
    target = StrictTarget(source.keys)
    source.on_split = lambda split: server.run(
        f"UPDATE t SET a = a + 1 WHERE id < x'{split.index * 7 % 100:02x}'", "DELETE FROM t ORDER BY id DESC LIMIT 1"
    )
    for _ in range(6):
        for batch in source.turn()[0]:
            target.add(batch)
    source.on_split = lambda split: None
    to_end(source, target)
    assert {key: row["a"] for (key,), row in target.rows["shop.t"].items()} == dict(server.run("SELECT id, a FROM t"))


def test_the_job_starts_and_ends_where_it_is_told(server: Any) -> None:
    server.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    begin = position(server)
    server.run("INSERT INTO t VALUES (2, 1, 'x')", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (3, 1, 'x')")
    end = position(server)
    server.run("INSERT INTO t VALUES (4, 1, 'x')")
    specific = {
        "startup.mode": "specific",
        "startup.specific-offset.file": begin[0],
        "startup.specific-offset.pos": begin[1],
        "stop.mode": "specific",
        "stop.specific-offset.file": end[0],
        "stop.specific-offset.pos": end[1],
    }
    for more, expected in (
        (specific, [2, 3]),
        ({"startup.mode": "latest", "stop.mode": "latest"}, []),
        ({"stop.mode": "latest"}, [1, 2, 3, 4]),
    ):
        source = DrivenSource({**cdc_options(server, "t"), **more})
        target = StrictTarget(source.keys)
        for batch in source.batches():
            target.add(batch)
        assert ids(target) == expected


def test_a_time_excludes_earlier_transactions(server: Any) -> None:
    """They may have other columns than the later ones."""
    server.run("RESET MASTER", TABLE, "INSERT INTO t VALUES (1, 1, 'x')", "ALTER TABLE t MODIFY b varchar(9) FIRST")
    server.run("ALTER TABLE t ADD COLUMN c int")
    since = int(time.time() * 1000) + 1_000
    while time.time() * 1000 < since + 1_000:
        time.sleep(0.1)
    server.run("INSERT INTO t (id, a, b) VALUES (2, 1, 'x')")
    options = {**cdc_options(server, "t"), "startup.mode": "timestamp", "startup.timestamp": since}
    source = DrivenSource(options)
    assert ids(to_end(source, StrictTarget(source.keys))) == [2]


def test_a_job_ends_at_a_time_and_another_one_begins_there(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Test 23 of the design: together they have every change once, and the second one reads no earlier file."""
    monkeypatch.setattr(times, "MARGIN_MS", 0)
    server.run("RESET MASTER", TABLE, "INSERT INTO t VALUES (1, 1, 'x')", "FLUSH BINARY LOGS", "FLUSH BINARY LOGS")
    moment = int(time.time() + 1) * 1000 + 1_000
    while time.time() * 1000 < moment:
        time.sleep(0.05)
    server.run("FLUSH BINARY LOGS", "INSERT INTO t VALUES (2, 1, 'x')", "UPDATE t SET a = 2 WHERE id = 1")
    first = DrivenSource(
        {**cdc_options(server, "t"), "startup.mode": "earliest", "stop.mode": "timestamp", "stop.timestamp": moment}
    )
    second = DrivenSource(
        {**cdc_options(server, "t"), "startup.mode": "timestamp", "startup.timestamp": moment, "stop.mode": "latest"}
    )
    target = StrictTarget(first.keys)
    for batch in first.batches():
        target.add(batch)
    assert ids(target) == [1]
    begins: list[str] = []

    def searched(*given: Any) -> LogPosition:
        found = first_since(*given)
        begins.extend((str(given[2]), found.file))
        return found

    monkeypatch.setattr(job_start, "first_since", searched)
    for batch in second.batches():
        target.add(batch)
    assert ids(target) == [1, 2]
    assert begins == ["bin.000003:4", "bin.000004"], "the last file that was begun before that time"


def test_another_server_is_refused(server: Any) -> None:
    server.run(TABLE)
    source = DrivenSource(cdc_options(server, "t"))
    to_end(source, StrictTarget(source.keys))
    moved = {**source.cursor, "server": "another"}
    moved.pop("gtids", None)  # as in a cursor of an earlier version
    with pytest.raises(SourceChangedError, match="is not the server another from which the job has read the log"):
        DrivenSource(cdc_options(server, "t"), cursor=moved).turn()
