"""Servers with a log in which the position after the transactions that a job has read is special, or unknown."""

import shutil
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.jdbc.pool import forget
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
from tests.servers.mysql_server import stop_cleanly
from tests.servers.replicas import MovingName, Pair

pytestmark = [pytest.mark.servers, pytest.mark.timeout(300)]

ONLY_MARIA = pytest.mark.parametrize("pair", ["maria"], indirect=True)


@pytest.mark.parametrize("busy", [False, True])
@ONLY_MYSQL
def test_a_job_starts_at_a_server_that_was_created_from_a_copy(pair: Pair, busy: bool) -> None:
    """The server has executed the transactions of the copy, but never logged them, and the other server did."""
    pair.pause_replication()
    pair.replica.run("RESET SLAVE ALL", TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    copied = pair.executed(pair.replica)
    pair.primary.run("SET sql_log_bin = 0", TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    pair.primary.run("RESET MASTER", f"SET GLOBAL gtid_purged = '{copied}'")
    pair.replicate()
    source = DrivenSource(options(pair.primary, "t"))
    target = StrictTarget(source.keys)
    for number in range(2, 12):
        if busy:  # the log does not end at the position of the job, so it is read
            pair.primary.run(f"INSERT INTO t VALUES ({number}, 1, 'x')")
        add(target, source.turn()[0])
    to_end(source, target)
    assert copied.partition(":")[0] in source.cursor["gtids"]
    pair.primary.run("INSERT INTO t VALUES (20, 1, 'x')")
    pair.wait_until_replicated()
    pair.fail_over()
    pair.replica.run("INSERT INTO t VALUES (30, 1, 'x')")
    to_end(resumed(source, pair), target)
    assert_same(pair.replica, target, "t")


@pytest.mark.parametrize("writes_directly", [False, True])
@EACH
def test_a_range_that_only_the_former_server_had(pair: Pair, writes_directly: bool) -> None:
    """Its transactions were lost with the primary, and a sink that writes directly may already have written them."""
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    with closing(MovingName(pair.primary)) as name:
        source = DrivenSource({**options(pair.primary, "t"), "url": name.url}, writes_directly=writes_directly)
        target, primary = StrictTarget(source.keys), pair.identity(pair.primary)
        to_end(source, target)
        pair.wait_until_replicated()
        pair.pause_replication()
        pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
        splits, _ = source.plan()
        checkpoint = {**source.cursor}
        pair.fail_over()
        name.move(pair.replica)
        pair.replica.run("INSERT INTO t VALUES (3, 1, 'x')", "INSERT INTO t VALUES (4, 1, 'x')")
        source.source.restored_schemas(source.cursor, ())
        assert source.read(splits) == []
        if not writes_directly:
            to_end(source, target)
            assert_same(pair.replica, target, "t")
            return
        # On MariaDB, the promoted server has assigned the same number to another transaction.
        lost = "0-1-3" if pair.kind == "maria" else f"{primary}:3"
        with pytest.raises(SourceChangedError, match=f"sink which writes directly may have written .*: {lost}"):
            source.turn()
        again = elsewhere(source, pair, checkpoint, writes_directly=True)
        assert again.read(splits) == []
        with pytest.raises(SourceChangedError, match="a sink writes directly, so it may have written changes after"):
            again.turn()


@EACH
def test_a_sink_that_writes_directly_continues_at_a_server_with_all_transactions(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    with closing(MovingName(pair.primary)) as name:
        source = DrivenSource({**options(pair.primary, "t"), "url": name.url}, writes_directly=True)
        target = StrictTarget(source.keys, strict=False)
        to_end(source, target)
        pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
        splits, _ = source.plan()
        pair.wait_until_replicated()
        pair.fail_over()
        name.move(pair.replica)
        pair.replica.run("INSERT INTO t VALUES (3, 1, 'x')")
        source.source.restored_schemas(source.cursor, ())
        assert source.read(splits) == []
        to_end(source, target)
    assert_same(pair.replica, target, "t")


def set_gtid_modes(server: Any, *modes: str) -> None:
    for mode in modes:
        server.run(f"SET GLOBAL gtid_mode = {mode}")


@ONLY_MYSQL
def test_transactions_without_gtids_of_the_other_server_are_rejected(pair: Pair) -> None:
    """While gtid_mode is OFF_PERMISSIVE. Later files of the log begin with the same set of GTIDs as earlier ones."""
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    to_end(source, StrictTarget(source.keys))
    pair.wait_until_replicated()
    pair.fail_over()
    set_gtid_modes(pair.replica, "ON_PERMISSIVE", "OFF_PERMISSIVE")
    with pytest.raises(SourceChangedError, match="gtid_mode is OFF_PERMISSIVE instead of ON"):
        elsewhere(source, pair).turn()
    pair.replica.run("FLUSH BINARY LOGS", "INSERT INTO t VALUES (2, 1, 'x')", "FLUSH BINARY LOGS")
    set_gtid_modes(pair.replica, "ON_PERMISSIVE", "ON")
    for statement in ("FLUSH BINARY LOGS", "INSERT INTO t VALUES (3, 1, 'x')"):
        pair.replica.run(statement)
        with pytest.raises(SourceChangedError, match=r"cannot be compared: .* Cannot replicate anonymous transaction"):
            elsewhere(source, pair).turn()


@ONLY_MYSQL
def test_transactions_without_gtids_that_the_job_has_read_are_rejected(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    target = StrictTarget(source.keys)
    to_end(source, target)
    pair.wait_until_replicated()
    pair.pause_replication()
    set_gtid_modes(pair.primary, "ON_PERMISSIVE", "OFF_PERMISSIVE")
    pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
    to_end(source, target)  # MySQL does not send it while gtid_mode is ON
    set_gtid_modes(pair.primary, "ON_PERMISSIVE", "ON")
    to_end(source, target)
    assert_same(pair.primary, target, "t")
    pair.fail_over()
    with pytest.raises(SourceChangedError, match="has read are unknown, because gtid_mode was not ON when"):
        elsewhere(source, pair).turn()


@ONLY_MARIA
def test_transactions_that_a_server_has_not_logged_are_rejected(pair: Pair) -> None:
    """A gap after the last transaction that was read, or a replica that has executed more than it has logged."""
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    to_end(source, StrictTarget(source.keys))
    pair.wait_until_replicated()
    pair.fail_over()
    domain, number, sequence = map(int, pair.executed(pair.replica).split("-"))
    pair.replica.run(f"SET GLOBAL gtid_slave_pos = '{domain}-{number}-{sequence + 1}'")
    with pytest.raises(SourceChangedError, match=f"executed transactions up to {domain}-{number}-{sequence + 1} with"):
        elsewhere(source, pair).turn()
    pair.replica.run("SET gtid_seq_no = 90", "INSERT INTO t VALUES (2, 1, 'x')")
    with pytest.raises(SourceChangedError, match=f"log has 0-2-90 at .*; expected number {sequence + 1}"):
        elsewhere(source, pair).turn()


@EACH
def test_a_replica_with_filters_is_rejected(pair: Pair) -> None:
    """It may have skipped changes of the captured tables. MySQL logs such transactions without rows."""
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    to_end(source, StrictTarget(source.keys))
    pair.wait_until_replicated()
    pair.pause_replication()
    if pair.kind == "maria":
        pair.replica.run("SET GLOBAL replicate_ignore_db = 'logs'")
    else:
        pair.replica.run("CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (logs)")
    with pytest.raises(SourceChangedError, match=r"the server has replication filters \(replicate_ignore_db\)"):
        elsewhere(source, pair).turn()


@EACH
def test_a_server_that_was_restored_from_a_backup_is_rejected(pair: Pair, tmp_path: Path) -> None:
    """It has the same identity, and assigns GTIDs again: first it lacks a transaction, and then it has another one."""
    server = pair.primary
    server.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(server, "t"))
    target = StrictTarget(source.keys)
    to_end(source, target)
    stop_cleanly(server)
    shutil.copytree(server.folder / "data", tmp_path / "backup")
    server.start_again()
    forget()
    source = DrivenSource(source.options, cursor=source.cursor)
    server.run("INSERT INTO t VALUES (2, 1, 'x')")
    to_end(source, target)
    read_s = time.time()
    server.kill()
    shutil.rmtree(server.folder / "data")
    shutil.copytree(tmp_path / "backup", server.folder / "data")
    server.start_again()
    forget()
    assert_rejected(source, "lacks the transactions")
    time.sleep(max(0.0, read_s + 1.0 - time.time()))  # the log has times in seconds
    server.run("INSERT INTO t VALUES (7, 1, 'x')")
    assert_rejected(source, "are different|it ends at")
    server.run("INSERT INTO t VALUES (8, 1, 'x')")
    assert_rejected(source, "are different")


def assert_rejected(source: DrivenSource, match: str) -> None:
    again = DrivenSource(source.options, cursor=source.cursor)
    attempts: Sequence[Any] = (
        lambda: again.source.require_readable(again.cursor, ()),
        lambda: again.source.restored_schemas(again.cursor, ()),
        again.turn,
    )
    for attempt in attempts:
        with pytest.raises(SourceChangedError, match=match):
            attempt()


@ONLY_MYSQL
def test_a_table_that_is_read_again_stays_at_its_server_after_a_restart(pair: Pair) -> None:
    """A poll has moved the job to another server, but the pipeline is restored from an earlier checkpoint."""
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    with closing(MovingName(pair.primary)) as name:
        source = DrivenSource({**options(pair.primary, "t"), "url": name.url})
        target = StrictTarget(source.keys)
        to_end(source, target)
        before = {**source.cursor}
        source.cursor = source.source.reread(source.cursor, "shop.t")
        source.plan()
        reading, source.cursor = source.cursor, before
        pair.wait_until_replicated()
        pair.fail_over()
        name.move(pair.replica)
        source.source.restored_schemas(source.cursor, ())
        to_end(source, target)
        assert source.cursor["server"] == pair.identity(pair.replica)
        with pytest.raises(SourceChangedError, match=r"the job was rereading the table shop\.t"):
            source.source.restored_schemas(reading, ())


@pytest.mark.parametrize("more", [{}, {"format": "COMPATIBLE_DEBEZIUM_JSON", "debezium": {"topic.prefix": "s1"}}])
@EACH
def test_a_restart_at_another_server_is_checked(pair: Pair, more: dict[str, Any]) -> None:
    """Before tasks read what was in flight. Sources of messages have no schemas to check, but the same log."""
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource({**options(pair.primary, "t"), **more})
    while "gtids" not in source.cursor:
        source.turn()
    pair.wait_until_replicated()
    pair.fail_over()
    unknown = {name: value for name, value in source.cursor.items() if name != "gtids"}
    again = elsewhere(source, pair)
    with pytest.raises(SourceChangedError, match="the GTIDs of the transactions that the job has read are unknown"):
        again.source.restored_schemas(unknown, ())
    again.source.restored_schemas(again.cursor, ())
    moved = elsewhere(source, pair)
    moved.turn()
    assert moved.cursor["server"] == pair.identity(pair.replica)
    moved.source.restored_schemas(moved.cursor, ())  # the last transaction is the same, at another position
    pair.replica.run("ALTER TABLE t ADD c int")
    with pytest.raises(SourceChangedError, match=r"cannot continue there: columns of shop\.t have changed"):
        again.source.restored_schemas(again.cursor, ())


@ONLY_MYSQL
def test_a_job_that_ends_by_itself_is_rejected(pair: Pair) -> None:
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    to_end(source, StrictTarget(source.keys))
    pair.wait_until_replicated()
    pair.fail_over()
    source.options = {**source.options, "stop.mode": "latest"}
    with pytest.raises(SourceChangedError, match=r"the job ends by itself \(stop.mode\)"):
        elsewhere(source, pair).turn()


@ONLY_MYSQL
def test_changes_keep_their_time_at_another_server(pair: Pair) -> None:
    """It is the time of the commit on the original server."""
    pair.primary.run(TABLE, "INSERT INTO t VALUES (1, 1, 'x')")
    source = DrivenSource(options(pair.primary, "t"))
    to_end(source, StrictTarget(source.keys))
    pair.wait_until_replicated()
    pair.pause_replication()
    before = {**source.cursor}
    pair.primary.run("INSERT INTO t VALUES (2, 1, 'x')")
    first = times(source)
    pair.replica.run("START SLAVE")
    pair.wait_until_replicated()
    pair.fail_over()
    assert times(elsewhere(source, pair, before)) == first
    assert len(first) == 1


def times(source: DrivenSource) -> list[Any]:
    batches, _ = source.turn()
    return [time for each in batches if each.origins is not None for time in each.origins.times.to_pylist()]
