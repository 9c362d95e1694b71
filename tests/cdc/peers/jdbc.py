"""Rows per second of processor time of a snapshot beside the source ``Jdbc``, which reads the same table.

``python -m tests.cdc.peers.jdbc --database mariadb``
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from seatunnel_core.connector_api.source import PlanningContext, Source
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.jdbc.source import JdbcSource
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from tests.cdc.captured import DATABASES, Captured
from tests.cdc.scale import LAYOUT, numbers
from tests.connectors.mysql_cdc.driven import Reports

ROWS, SHOP, SLOT = 1_000_000, "shop", "snapshot"
ONE = PlanningContext(parallelism=1)
CHUNK_ROWS = 50_000


def compare(captured: Captured) -> str:
    """Return the figures in a line: the least time of three attempts of each."""
    captured.recreate(SHOP)
    captured.run(SHOP, f"CREATE TABLE t {LAYOUT}", f"INSERT INTO t {numbers(captured, ROWS)}")
    attempts: tuple[Callable[[Captured], float], ...] = (_jdbc, _cdc)
    taken: list[list[float]] = [[attempt(captured) for attempt in attempts] for _ in range(3)]
    jdbc, cdc = (min(times) for times in zip(*taken, strict=True))
    return (
        f"{captured.name:12} Jdbc {ROWS / jdbc:>9,.0f}  snapshot {ROWS / cdc:>9,.0f}  {(cdc / jdbc - 1) * 100:+.0f} %"
    )


def _jdbc(captured: Captured) -> float:
    server: Any = captured.server  # type: ignore[attr-defined]
    table = "shop.public.t" if captured.name == "postgres" else "shop.t"
    given = {**server.options(SHOP), "table_path": table, "split.size": CHUNK_ROWS}
    source = JdbcSource(options_of(JdbcSource, given))
    source.open(restored=False)
    try:
        return _timed(lambda: _read(source, source.enumerate(source.discover(ONE), ONE).splits))
    finally:
        source.close()


def _cdc(captured: Captured) -> float:
    server: Any = captured.server  # type: ignore[attr-defined]
    options = server.options(SHOP)
    given = {"url": options["url"], "username": options["user"], "password": options["password"]}
    given |= {"snapshot.split.size": CHUNK_ROWS}
    source: Source
    if captured.name == "postgres":
        more = {"table-names": ["shop.public.t"], "slot.name": SLOT, "startup.mode": "snapshot-only"}
        source = PostgresCdcSource(options_of(PostgresCdcSource, {**given, **more}))
    else:
        source = MySQLCdcSource(options_of(MySQLCdcSource, {**given, "table-names": ["shop.t"]}))
    source.open(restored=False)
    try:
        return _timed(lambda: _polled(source))
    finally:
        source.close()


def _polled(source: Any) -> Iterator[int]:
    cursor: Any = {}
    read = 0
    while read < ROWS:
        polled = source.poll(cursor, ONE)
        cursor, reports = polled.cursor, Reports()
        for rows in _read(source, source.enumerate(polled.items, ONE).splits if polled.items else (), reports):
            read += rows
            yield rows
        cursor = source.absorb(cursor, reports.facts)


def _read(source: Any, splits: Sequence[Any], reports: Reports | None = None) -> Iterator[int]:
    for split in splits:
        for batch in source.read(split, reports or Reports()):
            yield batch.rows.num_rows


def _timed(read: Callable[[], Iterator[int]]) -> float:
    began = time.process_time()
    rows = sum(read())
    taken = time.process_time() - began
    assert rows == ROWS, rows
    return taken


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cdc.peers.jdbc", description=__doc__)
    parser.add_argument("--database", default="postgres,mariadb,mysql-gtids", help=f"some of {', '.join(DATABASES)}")
    for database in parser.parse_args(argv).database.split(","):
        print(compare(DATABASES[database]()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
