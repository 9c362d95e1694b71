"""Ranges of slots on a real server: replay, slots that others have changed, errors without secrets."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from attrs import evolve

from seatunnel_core.connectors.postgres_log.change_batch import ChangeBatch, Reason
from seatunnel_core.connectors.postgres_log.errors import (
    LogConnectionError,
    LogError,
    LogServerError,
    SlotAdvancedError,
    SlotInUseError,
    SlotLostError,
    SlotMissingError,
)
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from seatunnel_core.connectors.postgres_log.replication import ReplicationConnection
from seatunnel_core.connectors.postgres_log.session import log_parameters, sql_parameters
from seatunnel_core.connectors.postgres_log.slot_reader import SlotReader
from seatunnel_core.connectors.postgres_log.slots import advance_slot, create_slot, drop_slot, required_slot, slot_state
from seatunnel_core.connectors.postgres_log.sql_connection import connect, run
from seatunnel_core.errors import SourceChangedError
from tests.connectors.postgres_log.log_shop import LogShop, rows
from tests.servers.postgres import PASSWORD
from tests.servers.process import deaf_port, require

pytestmark = pytest.mark.servers


def written(batches: Sequence[ChangeBatch]) -> list[tuple[Any, ...]]:
    return [(each.xid, each.commit_lsn, each.end_lsn) for batch in batches for each in batch.transactions]


def test_ranges_divide_the_log_and_replay_equally(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id serial PRIMARY KEY, x int)")
    slot, start = shop.slot()
    borders = [start]
    for number in range(5):
        for _ in range(20):
            shop.run(f"INSERT INTO t (x) VALUES ({number})")
        borders.append(shop.end())
    twice = [[shop.read(slot, first, last) for first, last in pairwise(borders)] for _ in range(2)]
    assert [rows(each) for each in twice[0]] == [rows(each) for each in twice[1]]
    assert [written(each) for each in twice[0]] == [written(each) for each in twice[1]]
    assert [[row[1] for row in rows(each)] for each in twice[0]] == [
        list(range(1 + 20 * number, 21 + 20 * number)) for number in range(5)
    ]
    with shop.reader(slot, start) as reader:
        kept = [list(reader.batches(border)) for border in borders[1:]]
        assert reader.position == borders[-1]
    assert [rows(each) for each in kept] == [rows(each) for each in twice[0]]
    assert all(each.complete for batches in kept for batch in batches for each in batch.transactions)


def test_a_range_that_ends_at_a_commit_excludes_it(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    slot, start = shop.slot()
    shop.run("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)")
    whole = shop.read(slot, start, shop.end())
    second = [each for batch in whole for each in batch.transactions][1]
    assert rows(shop.read(slot, start, second.commit_lsn)) == [("+I", 1)]
    assert rows(shop.read(slot, start, second.end_lsn)) == [("+I", 1), ("+I", 2)]
    assert rows(shop.read(slot, second.commit_lsn, shop.end())) == [("+I", 2), ("+I", 3)]
    assert rows(shop.read(slot, second.end_lsn, shop.end())) == [("+I", 3)]


def test_a_slot_that_somebody_advanced_is_an_error(shop: LogShop) -> None:
    """The server skips the transactions between silently."""
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    slot, start = shop.slot()
    shop.run("INSERT INTO t VALUES (1)")
    middle = shop.end()
    shop.run("INSERT INTO t VALUES (2)")
    assert advance_slot(shop.sql, slot, middle) >= middle
    with pytest.raises(SlotAdvancedError, match=f"{slot} was confirmed up to .* continue at {start}: ") as caught:
        shop.reader(slot, start)
    assert isinstance(caught.value, SourceChangedError)
    confirmed = required_slot(shop.sql, slot).confirmed
    assert confirmed is not None
    assert rows(shop.read(slot, confirmed, shop.end())) == [("+I", 2)]
    assert advance_slot(shop.sql, slot, start) == confirmed, "it never goes back"


def test_a_slot_that_was_dropped_or_made_anew_is_an_error(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    slot, start = shop.slot()
    shop.run("INSERT INTO t VALUES (1)")
    assert drop_slot(shop.sql, slot)
    assert not drop_slot(shop.sql, slot)
    with pytest.raises(SlotMissingError, match=f"{slot} does not exist"):
        shop.reader(slot, start)
    with ReplicationConnection(log_parameters(shop.address)) as log:
        with pytest.raises(SlotMissingError, match=slot):
            log.start(slot, start, ["shop"])
        create_slot(log, slot)
    with pytest.raises(SlotAdvancedError, match=slot):
        shop.reader(slot, start)


def test_a_slot_of_another_plugin_is_an_error(shop: LogShop) -> None:
    shop.run("SELECT pg_create_logical_replication_slot('other', 'test_decoding')")
    with pytest.raises(SlotMissingError, match="is a logical slot with the plugin test_decoding"):
        shop.reader("other", Lsn(1))
    shop.run("SELECT pg_drop_replication_slot('other')")


def test_a_slot_whose_log_was_removed_is_an_error(shop: LogShop) -> None:
    shop.require(13)
    slot, start = shop.slot()
    shop.run("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()")
    try:
        for _ in range(6):
            shop.run(
                "SELECT pg_logical_emit_message(true, 'x', repeat('x', 1000))", "SELECT pg_switch_wal()", "CHECKPOINT"
            )
        assert required_slot(shop.sql, slot).wal_status == "lost"
        with pytest.raises(SlotLostError, match=slot):
            shop.reader(slot, start)
        with pytest.raises(SlotLostError, match=r"lost.*Drop the slot"):
            required_slot(shop.sql, slot).require_range(start)
    finally:
        shop.run("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")


def test_two_readers_of_a_slot_are_refused(shop: LogShop) -> None:
    slot, start = shop.slot()
    with shop.reader(slot, start):
        with pytest.raises(SlotInUseError, match=slot):
            shop.reader(slot, start, wait_for_slot_s=0.2)
        with pytest.raises(SlotInUseError, match=slot):
            drop_slot(shop.sql, slot, wait_s=0.1)
        with pytest.raises(SlotInUseError, match=slot):
            required_slot(shop.sql, slot).require_range(start)
    shop.reader(slot, start).close()


def test_a_confirmation_moves_the_slot_and_not_further(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    slot, start = shop.slot()
    shop.run("INSERT INTO t VALUES (1)")
    middle = shop.end()
    shop.run("INSERT INTO t VALUES (2)")
    end = shop.end()
    with shop.reader(slot, start) as reader:
        list(reader.batches(middle))
        with pytest.raises(ValueError, match="is beyond"):
            reader.confirm(end)
        assert required_slot(shop.sql, slot).confirmed == start, "reading confirms nothing"
        reader.confirm(middle)
        assert rows(list(reader.batches(end))) == [("+I", 2)]
    assert required_slot(shop.sql, slot).confirmed == middle


def test_the_position_moves_while_only_other_tables_change(shop: LogShop) -> None:
    """Otherwise the server would keep all log of a database whose captured tables are idle."""
    shop.run("CREATE TABLE idle (id int PRIMARY KEY)", "CREATE TABLE busy (id serial PRIMARY KEY)")
    shop.run("DROP PUBLICATION IF EXISTS one", "CREATE PUBLICATION one FOR TABLE idle")
    slot, start = shop.slot()
    with shop.reader(slot, start, publications=["one"]) as reader:
        for _ in range(50):
            shop.run("INSERT INTO busy DEFAULT VALUES")
        end = shop.end()
        for batch in reader.batches(idle_s=0.05):
            assert batch.reason is Reason.IDLE
            assert not batch.rows
            if reader.position >= end:
                break
        assert required_slot(shop.sql, slot).confirmed == start, "reading confirms nothing"
        reader.confirm(reader.position)
    state = required_slot(shop.sql, slot)
    assert state.confirmed is not None
    assert state.confirmed >= end
    shop.run("DROP PUBLICATION one")


def test_a_slot_and_its_snapshot_divide_the_rows(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with ReplicationConnection(log_parameters(shop.address)) as log:
        made = create_slot(log, "shop_export", export_snapshot=True)
        shop.run("INSERT INTO t VALUES (2)")
        with closing(connect(sql_parameters(shop.address))) as other, other.transaction():
            other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            other.execute(f"SET TRANSACTION SNAPSHOT '{made.snapshot}'")
            assert other.execute("SELECT id FROM shop.t").fetchall() == [(1,)]
    with ReplicationConnection(log_parameters(shop.address)) as log:
        with pytest.raises(LogServerError, match="shop_export already exists"):
            create_slot(log, "shop_export")
        assert log.identify().database == "postgres"
        assert create_slot(log, "shop_temporary", temporary=True).snapshot is None
    assert rows(shop.read("shop_export", made.consistent_point, shop.end())) == [("+I", 2)]
    drop_slot(shop.sql, "shop_export")


def test_a_large_transaction_arrives_in_batches_of_bounded_size(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY, x text)")
    slot, start = shop.slot()
    shop.run("INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 30000) i")
    found = shop.read(slot, start, shop.end(), batch_rows=4_096)
    assert [batch.rows for batch in found] == [4_096] * 7 + [30_000 - 7 * 4_096]
    assert all(batch.position <= found[0].transactions[0].commit_lsn for batch in found[:-1])
    assert [batch.transactions[-1].complete for batch in found] == [True] * 8, "the same object in each batch"
    assert [row[1] for row in rows(found)] == list(range(1, 30_001))


def test_a_connection_that_ends_is_an_error_that_can_be_retried(shop: LogShop) -> None:
    slot, start = shop.slot()
    with shop.reader(slot, start) as reader:
        found = iter(reader.batches(idle_s=0.05))
        next(found)
        shop.run(f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{slot}'")
        with pytest.raises(LogConnectionError) as caught:
            list(found)
    assert caught.value.retryable
    assert slot_state(shop.sql, slot) is not None


def test_a_server_that_stops_to_respond_is_noticed(shop: LogShop) -> None:
    slot, start = shop.slot()
    with shop.reader(slot, start, timeout_s=0.3) as reader:
        found = iter(reader.batches(idle_s=0.1))
        next(found)
        (pid,) = shop.run(f"SELECT active_pid FROM pg_replication_slots WHERE slot_name = '{slot}'")[0]
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(LogConnectionError, match="sent nothing for 0 s"):
                list(islice(found, 100))
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"password": "wr0ng-secret"}, 'password authentication failed for user "seatunnel"'),
        ({"user": "nobody"}, 'password authentication failed for user "nobody"'),
        ({"database": "none"}, 'database "none" does not exist'),
        ({"user": "wr0ng-secret", "password": "wr0ng-secret"}, 'password authentication failed for user "***"'),
        ({"port": "deaf"}, "Connection refused"),
        ({"properties": (("sslmode", "require"),)}, "does not support SSL"),
        (
            {"properties": (("sslkey", "x"), ("sslmode", "verify-full"), ("sslpassword", "s3cret-key"))},
            "SSL was required",
        ),
    ],
)
def test_errors_of_a_connection_contain_no_secret(shop: LogShop, change: dict[str, Any], said: str) -> None:
    if "port" in change:
        change = {"port": deaf_port()}
    address = evolve(shop.address, **change)
    for connected in (
        lambda: ReplicationConnection(log_parameters(address)),
        lambda: connect(sql_parameters(address)),
    ):
        with pytest.raises(LogConnectionError) as caught:
            connected()
        assert said in str(caught.value)
        assert caught.value.retryable == (said == "Connection refused")
        for secret in (PASSWORD, "wr0ng-secret", "s3cret-key"):
            assert secret not in str(caught.value)


def test_missing_rights_and_settings_are_named(shop: LogShop) -> None:
    shop.run("DROP ROLE IF EXISTS clerk", "CREATE ROLE clerk LOGIN PASSWORD 'clerk'")
    with pytest.raises(LogConnectionError, match=r"replication role|REPLICATION attribute") as caught:
        ReplicationConnection(log_parameters(evolve(shop.address, user="clerk", password="clerk")))
    assert not caught.value.retryable
    slot, start = shop.slot()
    with shop.reader(slot, start, publications=["none"]) as reader:
        shop.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        with pytest.raises(LogError, match=r'publication "none"'):
            list(reader.batches(shop.end()))
    shop.run("DROP ROLE clerk")


def test_the_stream_ends_at_once_when_it_is_closed(shop: LogShop) -> None:
    """An abandoned connection would keep the slot until the server notices."""
    slot, start = shop.slot()
    shop.run("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t SELECT generate_series(1, 5000)")
    threads = set(threading.enumerate())  # other tests of this process may have left theirs
    for _ in range(20):
        reader = shop.reader(slot, start, wait_for_slot_s=0.0, batch_rows=10)
        next(iter(reader.batches()))
        with pytest.raises(ValueError, match="not read completely"):
            next(iter(reader.batches()))
        reader.close()
        assert required_slot(shop.sql, slot).active_pid is None
    assert set(threading.enumerate()) <= threads


def test_quotes_in_names(shop: LogShop) -> None:
    name = """od"d 'pub', x"""
    shop.run('CREATE TABLE "T ""x" ("a ""b" int PRIMARY KEY)')
    with psycopg.connect(**sql_parameters(shop.address)) as other:
        other.execute(f"""CREATE PUBLICATION "{name.replace('"', '""')}" FOR ALL TABLES""")
    slot, start = shop.slot()
    shop.run('INSERT INTO "T ""x" VALUES (1)')
    with shop.reader(slot, start, publications=[name, "shop"]) as reader:
        (batch,) = reader.batches(shop.end())
    assert batch.changes[0].table.name == 'T "x'
    assert batch.changes[0].table.schema.names == ['a "b']
    shop.run(f"""DROP PUBLICATION "{name.replace('"', '""')}" """)


def test_errors_of_statements_have_the_root_of_the_log(shop: LogShop) -> None:
    shop.sql.close()
    with pytest.raises(LogConnectionError, match="the connection is closed"):
        slot_state(shop.sql, "none")
    shop.sql = connect(sql_parameters(shop.address))
    with pytest.raises(LogServerError, match="does not exist") as caught:
        run(shop.sql, "SELECT 1 FROM none")
    assert caught.value.sqlstate == "42P01"


def shown(shop: LogShop, setting: str) -> str:
    """Return a setting as a new connection has it."""
    with closing(shop.server.connect()) as connection:
        return str(connection.execute(f"SHOW {setting}").fetchone()[0])


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def certificate(shop: LogShop) -> Iterator[Path]:
    """The certificate of the server, which accepts TLS meanwhile."""
    require("openssl")
    folder = shop.server.folder / "data"
    files = [str(folder / "server.key"), str(folder / "server.crt")]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files[0], "-out", files[1]]
    subprocess.run(made, check=True, capture_output=True)
    owner = folder.stat()
    for each in files:
        os.chown(each, owner.st_uid, owner.st_gid)
        os.chmod(each, 0o600)
    shop.run("ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
    wait_until(lambda: shown(shop, "ssl") == "on")
    yield Path(files[1])
    shop.run("ALTER SYSTEM RESET ssl", "SELECT pg_reload_conf()")


def test_a_stream_over_tls(shop: LogShop, certificate: Path) -> None:
    """Decrypted data may wait in libpq although the socket is not readable."""
    shop.run("CREATE TABLE t (id int PRIMARY KEY, x text)")
    slot, start = shop.slot()
    shop.run("INSERT INTO t SELECT i, repeat('x', i % 700) FROM generate_series(1, 20000) i")
    end = shop.end()
    address = evolve(shop.address, properties=(("sslmode", "verify-full"), ("sslrootcert", str(certificate))))
    with connect(sql_parameters(address)) as sql:
        assert sql.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone() == (True,)
        with SlotReader(log_parameters(address), sql, slot, ["shop"], start) as reader:
            assert [row[1] for row in rows(list(reader.batches(end)))] == list(range(1, 20_001))
    unknown = evolve(address, properties=(("sslmode", "verify-full"), ("sslrootcert", str(certificate) + ".none")))
    with pytest.raises(LogConnectionError, match=r"root certificate file .* does not exist"):
        ReplicationConnection(log_parameters(unknown))
