"""Rows of the log per second of processor time, beside psycopg2, which only reads, from the same slot in the same run.

``python -m tests.connectors.postgres_log.bench_log``
"""

import select
import sys
import time
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from typing import Any

from seatunnel_core.connectors.postgres_log.lsn import Lsn
from tests.connectors.postgres_log.log_shop import LogPostgres, LogShop
from tests.servers.postgres import PASSWORD, USER

TABLE = """CREATE TABLE bench (id bigint PRIMARY KEY, a int, b smallint, name text, note varchar(300),
    price numeric(12,2), made timestamp, seen timestamptz, state text, weight float8)"""
ROWS = """SELECT i, i, i % 30000, 'name ' || i, 'a note of the row ' || i, i + 0.25,
    timestamp '2024-02-29 12:13:14.123456', timestamptz '2024-02-29 12:13:14+00', 'paid', i / 3.0
    FROM generate_series({}, {}) i"""
BULK, SINGLE = 100_000, 10_000


def insert(shop: LogShop) -> None:
    for start in range(0, BULK, 5_000):
        shop.run(f"INSERT INTO bench {ROWS.format(start, start + 4_999)}")


def singles(shop: LogShop) -> None:
    shop.run("SET synchronous_commit = off")
    for number in range(BULK, BULK + SINGLE):
        shop.run(f"INSERT INTO bench {ROWS.format(number, number)}")
    shop.run("SET synchronous_commit = on")


def load(shop: LogShop) -> dict[str, tuple[Lsn, Lsn, int]]:
    """Write the parts of the log; return where each starts and ends, and its rows."""
    parts: dict[str, tuple[Callable[[], Any], int]] = {
        "bulk insert": (lambda: insert(shop), BULK),
        "bulk update": (lambda: shop.run("UPDATE bench SET a = a + 1, note = 'another note'"), BULK),
        "full update": (
            lambda: shop.run(
                "ALTER TABLE bench REPLICA IDENTITY FULL",
                "UPDATE bench SET a = a + 1, note = 'another note'",
                "ALTER TABLE bench REPLICA IDENTITY DEFAULT",
            ),
            2 * BULK,
        ),
        "single rows": (lambda: singles(shop), SINGLE),
    }
    found = {}
    for name, (write, rows) in parts.items():
        start = shop.end()
        write()
        found[name] = (start, shop.end(), rows)
    return found


def ours(shop: LogShop, slot: str, start: Lsn, end: Lsn, rows: int) -> float:
    with shop.reader(slot, start) as reader:
        began, seen = time.process_time(), 0
        for batch in reader.batches(end):
            seen += batch.rows
        taken = time.process_time() - began
    assert seen == rows
    return taken


def theirs(shop: LogShop, slot: str, start: Lsn, end: Lsn) -> float:
    """Read the messages with psycopg2, and decode nothing."""
    psycopg2: Any = import_module("psycopg2")
    extras: Any = import_module("psycopg2.extras")
    server = shop.server
    login = {"host": server.host, "port": server.port, "user": USER, "password": PASSWORD, "dbname": "postgres"}
    with closing(psycopg2.connect(**login, connection_factory=extras.LogicalReplicationConnection)) as connection:
        cursor = connection.cursor()
        options = {"proto_version": "1", "publication_names": "shop"}
        cursor.start_replication(slot_name=slot, start_lsn=start.value, options=options, decode=False)
        began = time.process_time()
        while True:
            message = cursor.read_message()
            if message is not None and message.payload[:1] == b"B" and _commit_of(message.payload) >= end.value:
                break
            if message is None:
                if cursor.wal_end >= end.value:
                    break
                select.select([cursor], [], [], 1)
        return time.process_time() - began


def _commit_of(begin: bytes) -> int:
    return int.from_bytes(begin[1:9], "big")


def main() -> None:
    server = LogPostgres()
    server.start()
    try:
        shop = LogShop(server)
        slot, _ = shop.slot()
        shop.run(TABLE)
        for name, (start, end, rows) in load(shop).items():
            mine = rows / min(ours(shop, slot, start, end, rows) for _ in range(3))
            its = rows / min(theirs(shop, slot, start, end) for _ in range(3))
            print(f"{name:12} ours {mine:>9,.0f}  psycopg2, reading only {its:>9,.0f}", flush=True)
        shop.close()
    finally:
        server.stop()


if __name__ == "__main__":
    sys.exit(main())
