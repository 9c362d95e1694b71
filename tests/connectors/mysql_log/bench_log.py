"""Rows of the log per second of processor time, beside mysql-replication, from the same server in the same run.

``python -m tests.connectors.mysql_log.bench_log [SERVER …]``: servers are maria, my8 and my57.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from tests.connectors.mysql_log.log_servers import SERVERS, LogShop
from tests.servers.mariadb import PASSWORD, USER

TABLE = """CREATE TABLE bench (id bigint PRIMARY KEY, a int, b smallint unsigned, name varchar(40), note varchar(300),
    price decimal(12,2), made datetime(6), seen timestamp NULL, state enum('new','paid','sent'), weight double)"""

ROW = "({0}, {0}, {0} % 60000, 'name {0}', 'a note of the row {0}', {0}.25, '2024-02-29 12:13:14.123456', " \
    "'2024-02-29 12:13:14', 'paid', {0} / 3)"  # fmt: skip

DOCUMENT = '{{"id": {0}, "name": "name {0}", "tags": ["a", "b", "c"], "price": {0}.5, "more": {{"x": [1, 2, {0}]}}}}'

BULK, SINGLE, DOCUMENTS = 60_000, 20_000, 10_000


def insert(shop: LogShop, first: int, count: int, at_once: int) -> None:
    for start in range(first, first + count, at_once):
        shop.run("INSERT INTO bench VALUES " + ", ".join(ROW.format(n) for n in range(start, start + at_once)))


def singles(shop: LogShop) -> None:
    shop.run(*(f"INSERT INTO bench VALUES {ROW.format(n)}" for n in range(BULK, BULK + SINGLE)))


def documents(shop: LogShop) -> None:
    for start in range(0, DOCUMENTS, 5_000):
        rows = ", ".join(f"({n}, '{DOCUMENT.format(n)}')" for n in range(start, start + 5_000))
        shop.run(f"INSERT INTO documents VALUES {rows}")


def load(shop: LogShop) -> dict[str, tuple[Any, Any, int]]:
    """Write the parts of the log, each into a file of its own; return where each starts and ends, and its rows."""
    shop.run("SET GLOBAL sync_binlog = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 0", TABLE)
    shop.run("CREATE TABLE documents (id int PRIMARY KEY, j json)")
    parts: dict[str, tuple[Callable[[], Any], int]] = {
        "bulk insert": (lambda: insert(shop, 0, BULK, 5_000), BULK),
        "bulk update": (lambda: shop.run("UPDATE bench SET a = a + 1, note = 'another note'"), 2 * BULK),
        "single rows": (lambda: singles(shop), SINGLE),
        "documents": (lambda: documents(shop), DOCUMENTS),
    }
    found = {}
    for name, (write, rows) in parts.items():
        shop.run("FLUSH BINARY LOGS")
        start = shop.position()
        write()
        found[name] = (start, shop.position(), rows)
    return found


def ours(shop: LogShop, start: Any, end: Any, rows: int) -> float:
    declared = {table: shop.declared(table) for table in ("bench", "documents")}
    began = time.process_time()
    batches = shop.batches(start, declared, stop=lambda each: each.end >= end)
    taken = time.process_time() - began
    assert sum(batch.rows for batch in batches) == rows
    return taken


def theirs(shop: LogShop, start: Any, rows: int) -> float:
    from pymysqlreplication import BinLogStreamReader
    from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

    warnings.simplefilter("ignore")
    login = {"host": "127.0.0.1", "port": shop.server.port, "user": USER, "passwd": PASSWORD}
    reader = BinLogStreamReader(
        connection_settings=login,
        server_id=77_001,
        log_file=start.file,
        log_pos=start.offset,
        resume_stream=True,
        only_events=[DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent],
    )
    began, seen = time.process_time(), 0
    for event in reader:
        seen += len(event.rows) * (2 if isinstance(event, UpdateRowsEvent) else 1)
        if seen >= rows:
            break
    taken = time.process_time() - began
    reader.close()
    return taken


def main(kinds: list[str], shops: Callable[[str], LogShop]) -> None:
    for kind in kinds:
        shop = shops(kind)
        for name, (start, end, rows) in load(shop).items():
            mine = rows / min(ours(shop, start, end, rows) for _ in range(3))
            its = rows / theirs(shop, start, rows)
            print(f"{kind:6} {name:12} ours {mine:>9,.0f}  mysql-replication {its:>8,.0f}  {mine / its:.1f} times")


def started(kind: str) -> LogShop:
    server = SERVERS[kind]()
    server.start()
    return LogShop(server, kind)


if __name__ == "__main__":
    main(sys.argv[1:] or list(SERVERS), started)
