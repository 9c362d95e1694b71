"""Jobs that continue at another server: real primaries that are killed, and replicas that are promoted."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SourceChangedError, SourceError
from seatunnel_core.connectors.jdbc.pool import forget
from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.driven import DrivenSource, StrictTarget
from tests.connectors.mysql_cdc.writers import Writers
from tests.servers.replicas import MovingName, Pair

pytestmark = [pytest.mark.servers, pytest.mark.timeout(300)]

TABLE = "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(50))"
COLUMNS = ("id", "a", "b")
MYSQL = pytest.param("gtids", marks=pytest.mark.twin)
EACH = pytest.mark.parametrize("pair", [MYSQL, "maria"], indirect=True)
ONLY_MYSQL = pytest.mark.parametrize("pair", [MYSQL], indirect=True)


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """A primary and its replica."""
    found = Pair(request.param)
    with found.running():
        yield found
    forget()


def options(server: Any, *tables: str, **more: Any) -> dict[str, Any]:
    return {**cdc_options(server, *tables), "snapshot.split.size": 250, **more}


def add(target: StrictTarget, batches: Sequence[Any]) -> None:
    for batch in batches:
        target.add(batch)


def to_end(source: DrivenSource, target: StrictTarget) -> None:
    """Read until a poll plans nothing new."""
    while True:
        before = {**source.cursor}
        add(target, source.turn()[0])
        if before == source.cursor:
            return


def resumed(source: DrivenSource, pair: Pair) -> DrivenSource:
    """Resume a job at the replica, as a new process does."""
    more = {**source.options, "url": options(pair.replica)["url"]}
    found = DrivenSource(more, cursor=json.loads(json.dumps({**source.cursor, "tables": ""})))
    found.cursor = {**found.cursor, "tables": source.cursor["tables"]}
    found.source.require_readable(found.cursor, ())
    schemas = found.source.planned_schemas()
    assert list(found.source.restored_schemas(found.cursor, schemas)) == list(schemas)
    return found


def assert_same(server: Any, target: StrictTarget, *tables: str) -> None:
    for table in tables:
        rows = server.run(f"SELECT id, a, b FROM {table}")
        assert target.rows.get(f"shop.{table}", {}) == {(row[0],): dict(zip(COLUMNS, row, strict=True)) for row in rows}


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
    again = DrivenSource({**source.options, "url": options(pair.replica)["url"]}, cursor=source.cursor)
    for attempt in (lambda: again.source.require_readable(again.cursor, splits[1:]), again.turn):
        with pytest.raises(SourceChangedError, match="cannot continue there: its tables were being copied"):
            attempt()
    with pytest.raises(SourceChangedError, match="a table was being read from the former one"):
        again.read(splits[1:2])


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
    more = {**source.options, "url": options(pair.replica)["url"]}
    with pytest.raises(SourceChangedError, match=r"cannot continue there: it was reading the table shop\.t again"):
        DrivenSource(more, cursor=source.cursor).turn()
    again = DrivenSource(more, cursor=waiting)
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
    again.plan()
    add(target, again.read(splits))
    pair.replica.run("INSERT INTO t VALUES (5, 1, 'x')", "DELETE FROM t WHERE id = 2")
    to_end(again, target)
    assert_same(pair.replica, target, "t")


@EACH
def test_a_replica_that_lacks_transactions_is_rejected(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    pair.wait_until_replicated()
    pair.pause_replication()
    source = DrivenSource(options(pair.primary, "t"))
    target = StrictTarget(source.keys)
    to_end(source, target)
    pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')", "INSERT INTO t VALUES (3, 1, 'x')")
    to_end(source, target)
    primary, last = pair.identity(pair.primary), pair.executed(pair.primary).strip().rpartition("-")[2]
    again = DrivenSource({**source.options, "url": options(pair.replica)["url"]}, cursor=source.cursor)
    for attempt in (lambda: again.source.require_readable(again.cursor, ()), again.turn):
        with pytest.raises(SourceChangedError, match=f"lacks .* from the server {primary}: .*{last}.*later") as raised:
            attempt()
        assert pair.identity(pair.replica) in str(raised.value)
    pair.replica.run("START SLAVE")
    pair.wait_until_replicated()
    pair.fail_over()
    pair.replica.run("INSERT INTO t VALUES (4, 1, 'x')")
    to_end(resumed(source, pair), target)
    assert_same(pair.replica, target, "t")


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
    again = DrivenSource({**source.options, "url": options(pair.replica)["url"]}, cursor=source.cursor)
    with pytest.raises(SourceChangedError, match=r"server 1 from .* other transactions, or another order"):
        again.turn()


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
    again = DrivenSource({**source.options, "url": options(pair.replica)["url"]}, cursor=source.cursor)
    with pytest.raises(SourceChangedError, match=r"does not have the transactions .* changes are lost"):
        again.turn()


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
    more = {**source.options, "url": options(pair.replica)["url"]}
    with pytest.raises(SourceChangedError, match="other transactions, or another order"):
        DrivenSource(more, cursor=source.cursor).turn()
    del target.rows["shop.t"][2,]
    to_end(DrivenSource(more, cursor=before), target)  # all unread ones are after those that were read
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
        with pytest.raises(SourceError, match="now leads to the server with server_uuid") as raised:
            source.read(splits)
        assert raised.value.retryable

        def restarted() -> None:
            source.source.restored_schemas(source.cursor, ())

        for attempt in (source.turn, restarted):
            with pytest.raises(
                SourceChangedError, match=r"is not the server .* from which .*this server has no GTIDs"
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
