"""The log as a whole: transactions, positions, GTIDs, statements, images, compression."""

import time
from itertools import islice
from pathlib import Path

import pytest

from seatunnel_core.connectors.mysql_log.captured_tables import CapturedTables
from seatunnel_core.connectors.mysql_log.change_batch import Outcome, Reason
from seatunnel_core.connectors.mysql_log.errors import LogError, LogServerError, StatementLoggedError
from seatunnel_core.connectors.mysql_log.gtid import Gtid, MariaGtid, gtid_set_of, maria_position_of
from seatunnel_core.connectors.mysql_log.log_decoder import LogDecoder
from seatunnel_core.connectors.mysql_log.position import LogPosition
from seatunnel_core.connectors.mysql_log.server_stream import ServerStream
from seatunnel_core.connectors.mysql_log.statements import StatementKind
from tests.connectors.mysql_log.log_servers import LogShop

pytestmark = pytest.mark.servers

ONLY_8 = pytest.mark.parametrize("shop", [pytest.param("my8", marks=pytest.mark.twin)], indirect=True)
ONLY_MARIA = pytest.mark.parametrize("shop", ["maria"], indirect=True)
TABLE = "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(20), c text)"


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_columns_that_did_not_arrive_are_told_from_nulls(shop: LogShop, image: str) -> None:
    shop.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x', 'long'), (2, NULL, 'y', NULL)")
    start = shop.position()
    shop.run(
        f"SET SESSION binlog_row_image = '{image}'",
        "UPDATE t SET a = NULL WHERE id = 1",
        "INSERT INTO t (id) VALUES (3)",
        "DELETE FROM t WHERE id = 2",
    )
    (found,) = shop.changes(start, "t", shop.declared("t"))
    assert not found.complete
    rows = [
        {name: value for n, (name, value) in enumerate(row.items()) if found.arrived(n)[number]}
        for number, row in enumerate(found.rows.to_pylist())
    ]
    before, after, inserted, deleted = rows
    assert after.get("a", 0) is None
    if image == "MINIMAL":
        assert (before, after) == ({"id": 1}, {"a": None})
        assert inserted["id"] == 3
        assert deleted == {"id": 2}
    else:
        assert before == {"id": 1, "a": 1, "b": "x"}
        assert after == {"id": 1, "a": None, "b": "x"}
        assert deleted == {"id": 2, "a": None, "b": "y"}


def test_transactions_have_positions_at_which_reading_starts_again(shop: LogShop) -> None:
    shop.run(TABLE)
    start = shop.position()
    for number in range(1, 7):
        shop.run(
            "BEGIN", f"INSERT INTO t (id) VALUES ({number})", f"INSERT INTO t (id) VALUES ({number + 100})", "COMMIT"
        )
    end = shop.position()
    declared = {"t": shop.declared("t")}
    (batch,) = shop.batches(start, declared)
    assert [each.outcome for each in batch.transactions] == [Outcome.COMMITTED] * 6
    assert batch.reason is Reason.END
    assert batch.position == batch.transactions[-1].end == end
    for number, transaction in enumerate(batch.transactions):
        (again,) = shop.batches(transaction.begin, declared)
        assert again.rows == 2 * (6 - number)
        stopped = shop.batches(start, declared, stop=lambda each, at=transaction.end: each.end >= at)
        assert stopped[-1].reason is Reason.STOP
        assert sum(each.rows for each in stopped) == 2 * (number + 1)


def test_transactions_have_their_times(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    start, before = shop.position(), time.time()
    shop.run("INSERT INTO t VALUES (1)")
    (found,) = shop.batches(start, {})[-1].transactions
    assert before - 2 <= found.timestamp <= time.time()
    assert (found.commit_micros is not None) == (shop.kind == "my8")
    if found.commit_micros is not None:
        assert before - 1 <= found.commit_micros / 1e6 <= time.time()


def test_a_large_transaction_comes_in_batches(shop: LogShop) -> None:
    shop.run(TABLE)
    start = shop.position()
    rows = ", ".join(f"({number}, {number}, 'x', repeat('y', 100))" for number in range(3_000))
    shop.run("BEGIN", f"INSERT INTO t VALUES {rows}", "UPDATE t SET a = a + 1", "COMMIT")
    batches = shop.batches(start, {"t": shop.declared("t")}, batch_rows=1_000)
    assert len(batches) > 5
    assert sum(each.rows for each in batches) == 9_000
    numbers = {each.number for batch in batches for each in batch.transactions}
    assert len(numbers) == 1
    assert [batch.position for batch in batches[:-1]] == [start] * (len(batches) - 1)
    assert batches[-1].transactions[0].outcome is Outcome.COMMITTED


@ONLY_8
def test_reading_starts_behind_a_set_of_gtids(shop: LogShop) -> None:
    shop.run(TABLE, "INSERT INTO t (id) VALUES (1)")
    executed = gtid_set_of(shop.run("SELECT @@gtid_executed")[0][0])
    shop.run("INSERT INTO t (id) VALUES (2)", "INSERT INTO t (id) VALUES (3)")
    batch = shop.batches(executed, {"t": shop.declared("t")})[-1]
    assert batch.changes[0].rows.to_pydict()["id"] == [2, 3]
    after = executed
    for transaction in batch.transactions:
        assert isinstance(transaction.gtid, Gtid)
        after = after.plus(transaction.gtid)
    assert str(after) == shop.run("SELECT @@gtid_executed")[0][0].replace("\n", "")


@ONLY_MARIA
def test_reading_starts_behind_a_position_of_gtids(shop: LogShop) -> None:
    shop.run(TABLE, "INSERT INTO t (id) VALUES (1)")
    executed = maria_position_of(shop.run("SELECT @@gtid_binlog_pos")[0][0])
    shop.run("INSERT INTO t (id) VALUES (2)", "INSERT INTO t (id) VALUES (3)")
    batch = shop.batches(executed, {"t": shop.declared("t")})[-1]
    assert batch.changes[0].rows.to_pydict()["id"] == [2, 3]
    last = batch.transactions[-1].gtid
    assert isinstance(last, MariaGtid)
    assert str(executed.plus(last)) == shop.run("SELECT @@gtid_binlog_pos")[0][0]
    assert batch.position == shop.position()


def test_statements_end_batches(shop: LogShop) -> None:
    start = shop.position()
    shop.run(
        TABLE, "INSERT INTO t (id) VALUES (1)", "ALTER TABLE t ADD COLUMN d int", "TRUNCATE TABLE t", "DROP TABLE t"
    )
    batches = shop.batches(start, {})
    statements = [(each.statement, each.position) for each in batches if each.statement is not None]
    assert [each.text.split()[0].upper() for each, _ in statements] == ["CREATE", "ALTER", "TRUNCATE", "DROP"]
    assert {each.kind for each, _ in statements} == {StatementKind.DEFINITION}
    assert {each.database for each, _ in statements} == {"shop"}
    assert all(each.transaction.end == position for each, position in statements)


def test_a_statement_in_place_of_rows_is_an_error(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY, a int)")
    start = shop.position()
    shop.run("SET SESSION binlog_format = 'STATEMENT'", "INSERT INTO t VALUES (1, 2)")
    with pytest.raises(StatementLoggedError, match=r"INSERT INTO t.*binlog_format = 'ROW'"):
        shop.batches(start, {"t": shop.declared("t")})
    shop.run("DROP DATABASE IF EXISTS other", "CREATE DATABASE other", "CREATE TABLE other.o (id int)")
    start = shop.position()
    shop.run("USE other", "SET SESSION binlog_format = 'STATEMENT'", "INSERT INTO o VALUES (1)")
    assert shop.batches(start, {"t": shop.declared("t")})[-1].transactions


def test_savepoints_and_rollbacks_leave_no_rows(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    start = shop.position()
    shop.run(
        *("BEGIN", "INSERT INTO t VALUES (1)", "SAVEPOINT a", "INSERT INTO t VALUES (2)", "ROLLBACK TO a"),
        *("INSERT INTO t VALUES (3)", "COMMIT", "BEGIN", "INSERT INTO t VALUES (4)", "ROLLBACK"),
    )
    (batch,) = shop.batches(start, {"t": shop.declared("t")})
    assert batch.changes[0].rows.to_pydict() == {"id": [1, 3]}


@pytest.mark.parametrize("shop", ["maria", pytest.param("my57", marks=pytest.mark.twin)], indirect=True)
def test_a_rollback_leaves_the_rows_of_an_engine_without_transactions(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE m (id int PRIMARY KEY) ENGINE=MyISAM")
    start = shop.position()
    shop.run("BEGIN", "INSERT INTO t VALUES (1)", "INSERT INTO m VALUES (1)", "INSERT INTO t VALUES (2)", "ROLLBACK")
    batches = shop.batches(start, {"t": shop.declared("t"), "m": shop.declared("m")})
    rows = {each.table.name: each.rows.to_pydict()["id"] for batch in batches for each in batch.changes}
    assert rows == {"m": [1]}


def test_both_phases_of_a_distributed_transaction_are_known(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    start = shop.position()
    shop.run("XA START 'a','b',7", "INSERT INTO t VALUES (1)", "XA END 'a','b',7", "XA PREPARE 'a','b',7")
    shop.run("INSERT INTO t VALUES (2)")
    shop.run("XA COMMIT 'a','b',7")
    shop.run("XA START 'c'", "INSERT INTO t VALUES (3)", "XA END 'c'", "XA COMMIT 'c' ONE PHASE")
    batches = shop.batches(start, {"t": shop.declared("t")})
    transactions = [each for batch in batches for each in batch.transactions]
    outcomes = [each.outcome for each in transactions]
    assert outcomes == [Outcome.PREPARED, Outcome.COMMITTED, Outcome.XA_COMMITTED, Outcome.COMMITTED]
    assert transactions[0].xa == transactions[2].xa
    assert str(transactions[0].xa) == "X'61',X'62',7"
    (changes,) = [each for batch in batches for each in batch.changes]
    assert changes.rows.to_pydict()["id"] == [1, 2, 3]


def test_a_position_that_does_not_exist_is_an_error_of_the_server(shop: LogShop) -> None:
    with pytest.raises(LogServerError, match="error 1236") as found:
        shop.batches(LogPosition("bin.000999", 4), {})
    assert found.value.number == 1236


def test_the_next_file_follows(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    start = shop.position()
    shop.run("INSERT INTO t VALUES (1)", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (2)", "FLUSH BINARY LOGS")
    batches = shop.batches(start, {"t": shop.declared("t")})
    assert [row for batch in batches for each in batch.changes for row in each.rows.to_pydict()["id"]] == [1, 2]
    assert batches[-1].position == shop.position()
    assert batches[-1].position > start


@ONLY_MARIA
def test_compressed_events_are_read(shop: LogShop) -> None:
    shop.run(TABLE)
    start = shop.position()
    shop.run("SET GLOBAL log_bin_compress = ON", "SET GLOBAL log_bin_compress_min_len = 10")
    try:
        shop.run(
            "INSERT INTO t VALUES (1, 2, 'x', repeat('long ', 1000)), (2, NULL, NULL, NULL)",
            "UPDATE t SET a = 3",
            "DELETE FROM t WHERE id = 2",
            f"ALTER TABLE t COMMENT '{'c' * 300}'",
        )
    finally:
        shop.run("SET GLOBAL log_bin_compress = OFF")
    batches = shop.batches(start, {"t": shop.declared("t")})
    (changes,) = [each for batch in batches for each in batch.changes]
    assert changes.rows.to_pydict()["a"] == [2, None, 2, 3, None, 3, 3]
    assert changes.rows.to_pydict()["c"][0] == "long " * 1_000
    assert next(each.statement.text for each in batches if each.statement).startswith("ALTER TABLE t COMMENT 'ccc")


@ONLY_MARIA
def test_compressed_columns_are_read(shop: LogShop) -> None:
    start = shop.position()
    shop.run(
        "CREATE TABLE t (id int PRIMARY KEY, v varchar(1000) COMPRESSED, x text COMPRESSED, b blob COMPRESSED)",
        "INSERT INTO t VALUES (1, repeat('ä', 900), repeat('y', 9000), repeat(x'00ff', 900)), (2, 'short', 'z', x'00')",
        "INSERT INTO t VALUES (3, '', '', ''), (4, NULL, NULL, NULL)",
    )
    for declared in (shop.declared("t"), []):
        (found,) = shop.changes(start, "t", declared)
        assert found.rows.to_pylist() == shop.selected("t")[0].to_pylist()


@ONLY_MARIA
def test_times_in_the_format_before_mysql_5_6_are_read(shop: LogShop) -> None:
    shop.run("SET GLOBAL mysql56_temporal_format = OFF")
    try:
        start = shop.position()
        shop.run(
            "SET SESSION sql_mode = ''",
            "CREATE TABLE t (id int PRIMARY KEY, t time, d datetime, s timestamp NULL, y date)",
            "INSERT INTO t VALUES (1, '23:59:59', '9999-12-31 23:59:59', '2024-02-29 12:13:14', '2024-02-29')",
            "INSERT INTO t VALUES (2, '-12:00:01', '0000-00-00', 0, 0), (3, NULL, NULL, NULL, NULL)",
        )
    finally:
        shop.run("SET GLOBAL mysql56_temporal_format = ON")
    (found,) = shop.changes(start, "t", shop.declared("t"))
    selected, misfits = shop.selected("t")
    assert found.rows.to_pylist() == selected.to_pylist()
    assert found.misfits.keys() == misfits.keys()


def test_checksums_may_be_switched_while_the_server_runs(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    start = shop.position()
    try:
        shop.run("SET GLOBAL binlog_checksum = 'NONE'", "INSERT INTO t VALUES (1)")
        without = shop.position()
        shop.run("INSERT INTO t VALUES (2)")
        assert shop.changes(without, "t", shop.declared("t"))[0].rows.num_rows == 1
    finally:
        shop.run("SET GLOBAL binlog_checksum = 'CRC32'")
    shop.run("INSERT INTO t VALUES (3)")
    batches = shop.batches(start, {"t": shop.declared("t")})
    assert [row for batch in batches for each in batch.changes for row in each.rows.to_pydict()["id"]] == [1, 2, 3]
    assert batches[-1].position == shop.position()


def test_a_stream_waits_for_events(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    stream = shop.stream(shop.position(), until_now=False, idle_s=0.2)
    decoder = LogDecoder(CapturedTables({("shop", "t"): shop.declared("t")}), shop.position())
    seen = []
    for number, batch in enumerate(decoder.batches(stream.events())):
        assert batch.reason is Reason.IDLE
        seen += [row for each in batch.changes for row in each.rows.to_pydict()["id"]]
        if len(seen) == 3:
            break
        assert number < 100
        shop.run(f"INSERT IGNORE INTO t VALUES ({len(seen)})")
    stream.close()
    assert seen == [0, 1, 2]


def test_heartbeats_arrive_when_nothing_happens(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    start = shop.position()
    stream = shop.stream(start, until_now=False, heartbeat_s=0.5)
    batches = LogDecoder(CapturedTables({}), start).batches(stream.events())
    assert [(each.reason, each.position, each.rows) for each in (next(batches), next(batches))] == [
        (Reason.IDLE, start, 0)
    ] * 2
    stream.close()


def test_the_later_one_of_two_readers_with_one_server_id_stays(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    start = shop.position()
    first = shop.stream(start, until_now=False, idle_s=0.1)
    events = first.events()
    next(event for event in events if event is None)
    second = ServerStream(shop.server.connect(), first.request, idle_s=0.1)
    later = second.events()
    next(event for event in later if event is None)
    shop.run("INSERT INTO t VALUES (1)")
    with pytest.raises(LogError, match=r"1236|4052|closed the connection"):
        list(islice(events, 100))
    assert any(event is not None for event in islice(later, 20))
    second.close()


@ONLY_MARIA
def test_loaded_rows_that_are_not_logged_are_an_error(shop: LogShop, tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("1\n2\n")
    file.chmod(0o644)
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    start = shop.position()
    shop.run("SET SESSION binlog_format = 'STATEMENT'", f"LOAD DATA INFILE '{file}' INTO TABLE t")
    with pytest.raises(StatementLoggedError, match="LOAD DATA INFILE"):
        shop.batches(start, {"t": shop.declared("t")})
