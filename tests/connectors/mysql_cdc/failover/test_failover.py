"""Jobs that continue at another server: real primaries that are killed, and replicas that are promoted."""

import contextlib
from contextlib import closing

import pytest

from seatunnel_core.capture_errors import LogRemovedError
from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.mysql_cdc.failover.candidate import LaggingReplicaError
from tests.connectors.mysql_cdc.driven import DrivenSource, StrictTarget
from tests.connectors.mysql_cdc.failover.jobs import (
    EACH,
    ONLY_MYSQL,
    TABLE,
    add,
    assert_same,
    elsewhere,
    options,
    resumed,
    to_end,
)
from tests.connectors.mysql_cdc.writers import Writers
from tests.servers.replicas import MovingName, Pair

pytestmark = [pytest.mark.servers, pytest.mark.timeout(300)]


@EACH
def test_a_job_continues_at_the_promoted_replica(pair: Pair) -> None:
    """Writers are active while the primary is killed; the job has read less than the replica has received."""
    import pymysql

    writers = Writers(pair.primary)
    writers.create(rows=1_000)
    source = DrivenSource(options(pair.primary, "t", "u"))
    target = StrictTarget(source.keys)
    with contextlib.suppress(pymysql.err.MySQLError), writers.running():
        while source.cursor.get("start", "") is not None or source.cursor["window"]:
            add(target, source.turn()[0])
        for _ in range(3):
            add(target, source.turn()[0])
        pair.wait_until_replicated()
        pair.fail_over()
    again = resumed(source, pair)
    later = Writers(pair.replica)
    with later.running():
        while later.transactions < 50:
            add(target, again.turn()[0])
    to_end(again, target)
    assert again.cursor["server"] == pair.identity(pair.replica)
    assert again.cursor["gtids"] == pair.executed(pair.replica)
    assert_same(pair.replica, target, "t", "u")


@EACH
def test_a_job_follows_two_failovers_and_returns_to_the_first_server(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    target = StrictTarget(source.keys)
    to_end(source, target)
    first, earlier = pair.primary, {**source.cursor}
    for number in (2, 3, 4):
        pair.primary.run(f"INSERT INTO t VALUES ({number}, 1, 'x')", f"UPDATE t SET a = {number}")
        pair.wait_until_replicated()
        pair.fail_over()
        pair.replica.run(f"INSERT INTO t VALUES ({number * 10}, 1, 'x')")
        source = resumed(source, pair)
        to_end(source, target)
        assert source.cursor["server"] == pair.identity(pair.replica)
        assert source.cursor["gtids"] == pair.executed(pair.replica)
        assert_same(pair.replica, target, "t")
        pair.rejoin()
    assert pair.replica is first, "three failovers"
    again = DrivenSource({**source.options, "url": options(pair.primary)["url"]}, cursor=earlier)
    late = StrictTarget(source.keys, rows={"shop.t": {(1,): {"id": 1, "a": 1, "b": "x"}}})
    to_end(again, late)
    assert_same(pair.primary, late, "t")


@EACH
def test_the_transactions_of_a_job_are_those_of_its_server(pair: Pair) -> None:
    """All kinds of transactions count: of other tables and databases, statements, and those that change nothing."""
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    target = StrictTarget(source.keys)
    while "gtids" not in source.cursor:
        add(target, source.turn()[0])
    assert source.cursor["gtids"] == pair.executed(pair.primary)
    pair.primary.run(
        "CREATE TABLE other (id int PRIMARY KEY)",
        "INSERT INTO other VALUES (1)",
        "ALTER TABLE t COMMENT 'new'",
        "CREATE DATABASE IF NOT EXISTS elsewhere",
        "BEGIN",
        "INSERT INTO t VALUES (2, 1, 'x')",
        "INSERT INTO other VALUES (2)",
        "COMMIT",
        "FLUSH BINARY LOGS",
        "ANALYZE TABLE t",
        "DELETE FROM t WHERE id = 1",
        "CREATE USER someone",
        "DROP DATABASE elsewhere",
    )
    to_end(source, target)
    assert source.cursor["gtids"] == pair.executed(pair.primary)
    pair.primary.run("XA START 'a'", "INSERT INTO other VALUES (3)", "XA END 'a'", "XA PREPARE 'a'", "XA COMMIT 'a'")
    to_end(source, target)
    assert source.cursor["gtids"] == pair.executed(pair.primary)
    assert_same(pair.primary, target, "t")


@EACH
def test_tables_that_are_being_copied_are_not_copied_from_another_server(pair: Pair) -> None:
    pair.primary.run(TABLE)
    pair.primary.run("INSERT INTO t VALUES " + ", ".join(f"({number}, 0, 'x')" for number in range(2_500)))
    source = DrivenSource(options(pair.primary, "t"), parallelism=1)
    splits, _ = source.plan()
    assert len(splits) > 2
    StrictTarget(source.keys).add(source.read(splits[:1])[0])
    pair.wait_until_replicated()
    pair.fail_over()
    again = elsewhere(source, pair)

    def restarted() -> None:
        again.source.restored_schemas(again.cursor, ())

    for attempt in (
        lambda: again.source.require_readable(again.cursor, splits[1:]),
        restarted,
        again.turn,
        lambda: again.read(splits[1:2]),
    ):
        with pytest.raises(SourceChangedError, match="cannot continue there: the tables were being copied"):
            attempt()


@ONLY_MYSQL
def test_a_table_that_is_read_again_must_be_complete_or_not_begun(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    target = StrictTarget(source.keys, strict=False)
    to_end(source, target)
    source.cursor = source.source.reread(source.cursor, "shop.t")
    waiting, (splits, _) = {**source.cursor}, source.plan()
    assert [each.body["chunk"] for each in splits] == [0]
    pair.wait_until_replicated()
    pair.fail_over()
    pair.replica.run("INSERT INTO t VALUES (2, 1, 'x')")
    with pytest.raises(SourceChangedError, match=r"cannot continue there: the job was rereading the table shop\.t"):
        elsewhere(source, pair).turn()
    with pytest.raises(SourceChangedError, match=r"cannot continue there: the job was rereading the table shop\.t"):
        elsewhere(source, pair).read(splits)
    again = elsewhere(source, pair, waiting)
    target.rows.clear()
    to_end(again, target)
    assert "rereads" not in again.cursor
    assert_same(pair.replica, target, "t")


@EACH
def test_a_planned_range_is_read_at_the_other_server(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    target = StrictTarget(source.keys)
    to_end(source, target)
    pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')", "UPDATE t SET a = 2")
    splits, _ = source.plan()
    assert len(splits) == 1
    pair.primary.run("INSERT INTO t VALUES (3, 1, 'x')")
    pair.wait_until_replicated()
    pair.fail_over()
    pair.replica.run("INSERT INTO t VALUES (4, 1, 'x')")
    again = resumed(source, pair)
    assert again.plan() == ((), False), "the range is in flight"
    assert again.read(splits) == [], "its positions are only valid on the former server"
    assert again.cursor == {**source.cursor, "reading": None}, "nothing was read"
    pair.replica.run("INSERT INTO t VALUES (5, 1, 'x')", "DELETE FROM t WHERE id = 2")
    to_end(again, target)
    assert_same(pair.replica, target, "t")


@EACH
def test_a_job_waits_for_a_replica_that_lacks_transactions(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    pair.wait_until_replicated()
    pair.pause_replication()
    source = DrivenSource(options(pair.primary, "t"))
    target = StrictTarget(source.keys)
    to_end(source, target)
    pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')", "INSERT INTO t VALUES (3, 1, 'x')")
    to_end(source, target)
    primary, last = pair.identity(pair.primary), pair.executed(pair.primary).strip().rpartition("-")[2]
    again = elsewhere(source, pair)

    def restarted() -> None:
        again.source.restored_schemas(again.cursor, ())

    for attempt in (lambda: again.source.require_readable(again.cursor, ()), restarted, again.turn):
        with pytest.raises(LaggingReplicaError, match=f"from the server {primary}: .*{last}.* waits") as raised:
            attempt()
        assert raised.value.retryable
        assert pair.identity(pair.replica) in str(raised.value)
    pair.replica.run("START SLAVE")
    pair.wait_until_replicated()
    pair.fail_over()
    pair.replica.run("INSERT INTO t VALUES (4, 1, 'x')")
    to_end(again, target)
    assert_same(pair.replica, target, "t")
    assert [each for each in again.warnings if "reading continues at" in each]


@EACH
def test_a_promoted_server_that_lacks_transactions_is_rejected(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    pair.wait_until_replicated()
    pair.pause_replication()
    source = DrivenSource(options(pair.primary, "t"))
    to_end(source, StrictTarget(source.keys))
    pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
    to_end(source, StrictTarget(source.keys))
    last = pair.executed(pair.primary).strip().rpartition("-")[2]
    pair.fail_over()
    again = elsewhere(source, pair)
    for attempt in (lambda: again.source.require_readable(again.cursor, ()), again.turn):
        with pytest.raises(SourceChangedError, match=f"log of this server does not contain transactions .*: .*{last}"):
            attempt()


@pytest.mark.parametrize("pair", ["maria"], indirect=True)
def test_a_replica_with_another_history_is_rejected(pair: Pair) -> None:
    """The replica has as many transactions as the job has read, but others."""
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    pair.wait_until_replicated()
    pair.pause_replication()
    source = DrivenSource(options(pair.primary, "t"))
    pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
    to_end(source, StrictTarget(source.keys))
    pair.fail_over()
    pair.replica.run("INSERT INTO t VALUES (8, 1, 'x')", "INSERT INTO t VALUES (9, 1, 'x')")
    with pytest.raises(SourceChangedError, match=r"server 1 from .* other transactions, or another order"):
        elsewhere(source, pair).turn()


@EACH
def test_a_replica_without_the_log_that_the_job_needs_is_rejected(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    to_end(source, StrictTarget(source.keys))
    pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
    pair.wait_until_replicated()
    pair.fail_over()
    pair.replica.run("FLUSH BINARY LOGS", "INSERT INTO t VALUES (3, 1, 'x')", "FLUSH BINARY LOGS")
    pair.purge(pair.replica)
    with pytest.raises(LogRemovedError, match=r"does not contain them: .* removed together with old log files"):
        elsewhere(source, pair).turn()


@ONLY_MYSQL
def test_a_replica_with_its_own_transactions_before_those_that_were_read_is_rejected(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    pair.wait_until_replicated()
    pair.pause_replication()
    source = DrivenSource(options(pair.primary, "t"))
    target = StrictTarget(source.keys)
    to_end(source, target)
    pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
    before = {**source.cursor}
    to_end(source, target)
    pair.replica.run("INSERT INTO t VALUES (3, 1, 'x')", "START SLAVE")
    pair.wait_until_replicated()
    pair.fail_over()
    with pytest.raises(SourceChangedError, match="which was read, is after an unread transaction"):
        elsewhere(source, pair).turn()
    del target.rows["shop.t"][2,]
    to_end(elsewhere(source, pair, before), target)  # all unread ones are after those that were read
    assert_same(pair.replica, target, "t")


@pytest.mark.parametrize("pair", [pytest.param("locks", marks=pytest.mark.twin)], indirect=True)
def test_positions_are_never_used_at_another_server(pair: Pair) -> None:
    """Without GTIDs: a name leads to another server while the job runs, and after its restart."""
    for each in (pair.primary, pair.replica):
        each.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    with closing(MovingName(pair.primary)) as name:
        source = DrivenSource({**options(pair.primary, "t"), "url": name.url})
        target = StrictTarget(source.keys)
        to_end(source, target)
        pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
        splits, _ = source.plan()
        name.move(pair.replica)
        forget()
        pair.replica.run("INSERT INTO t VALUES (7, 1, 'x')")
        with pytest.raises(SourceError, match="now points to the server with server_uuid") as raised:
            source.read(splits)
        assert raised.value.retryable

        def restarted() -> None:
            source.source.restored_schemas(source.cursor, ())

        for attempt in (source.turn, restarted):
            with pytest.raises(
                SourceChangedError, match=r"is not the server .* from which .*gtid_mode is OFF instead of ON"
            ) as said:
                attempt()
            for each in (pair.primary, pair.replica):
                assert pair.identity(each) in str(said.value)
    assert list(target.rows["shop.t"]) == [(1,)]


@EACH
def test_polls_continue_where_the_name_leads(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    with closing(MovingName(pair.primary)) as name:
        source = DrivenSource({**options(pair.primary, "t"), "url": name.url})
        target = StrictTarget(source.keys)
        to_end(source, target)
        pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
        pair.wait_until_replicated()
        pair.fail_over()
        name.move(pair.replica)
        pair.replica.run("INSERT INTO t VALUES (3, 1, 'x')")
        to_end(source, target)
    assert_same(pair.replica, target, "t")
