"""Time from a commit at the source to the commit at the target, and what a job costs the source meanwhile.

``python -m tests.cdc.latency --database mariadb --seconds 60``
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from tests.cdc.captured import COPY, DATABASES, Captured
from tests.cdc.scale import LAYOUT, SOURCE, Measured
from tests.cdc.usage import tree_cpu_seconds

PAUSE_S = 0.05
LOCKS = {
    "postgres": "SELECT count(*) FROM pg_locks WHERE NOT granted",
    "mariadb": "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
    "mysql": "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
    "mysql-gtids": "SELECT count(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
}
OTHERS = "SELECT count(*) FROM information_schema.processlist WHERE command NOT IN ('Daemon')"
CONNECTIONS = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE backend_type IN ('client backend', 'walsender')"
}
RETAINED = "SELECT pg_current_wal_lsn() - min(restart_lsn) FROM pg_replication_slots WHERE slot_name = 'many'"


@define
class Latency:
    """A writer that commits a row every 50 ms, and a reader of the target that notes when each one arrives."""

    captured: Captured
    folder: Path
    seconds: float
    sent: dict[int, float] = field(init=False, factory=dict)
    took: dict[int, float] = field(init=False, factory=dict)
    most: dict[str, float] = field(init=False, factory=dict)

    def play(self) -> str:
        """Return the figures in a line."""
        measured = Measured(self.captured, self.folder)
        measured.prepare()
        measured.run(iter([f"CREATE TABLE t00000 {LAYOUT}", "INSERT INTO t00000 VALUES (0, 'first', 0)"]))
        server: Any = self.captured.server  # type: ignore[attr-defined]
        with measured.running(["t00000"]):
            measured.wait("copy", lambda cursor: _has_row(measured, cursor))
            pid = getattr(server, "pid", None) or server._process.pid
            began, cpu_s = time.monotonic(), tree_cpu_seconds(pid)
            self._write()
            spent, wall = tree_cpu_seconds(pid) - cpu_s, time.monotonic() - began
        found = np.array(sorted(self.took.values()))
        assert len(found) == len(self.sent), f"{len(found)} of {len(self.sent)} rows have arrived"
        more = "  ".join(f"{name} {value:,.0f}" for name, value in self.most.items())
        return (
            f"{self.captured.name:12}{len(found):6} rows  median {np.median(found):.2f} s  p99 "
            f"{np.quantile(found, 0.99):.2f} s  server {spent / wall * 100:.0f} % of a core, with writer and target  "
            f"at most: {more}"
        )

    def _write(self) -> None:
        until, number = time.monotonic() + self.seconds, 0
        with closing(self.captured.connect(SOURCE)) as source, closing(self.captured.connect(COPY)) as target:
            while time.monotonic() < until or len(self.took) < len(self.sent):
                if time.monotonic() < until:
                    number += 1
                    with source.cursor() as cursor:
                        cursor.execute(f"INSERT INTO t00000 VALUES ({number}, 'row', {number})")
                    self.sent[number] = time.monotonic()
                self._arrived(target)
                self._load(source)
                assert time.monotonic() < until + 60, "rows do not arrive"
                time.sleep(PAUSE_S)

    def _arrived(self, target: Any) -> None:
        with target.cursor() as cursor:
            cursor.execute(f"SELECT id FROM t00000 WHERE id > {len(self.took)}")
            now = time.monotonic()
            for (number,) in cursor.fetchall():
                self.took.setdefault(number, now - self.sent[number])

    def _load(self, source: Any) -> None:
        asked = {
            "connections": CONNECTIONS.get(self.captured.name, OTHERS),
            "waiting locks": LOCKS[self.captured.name],
        }
        if self.captured.name == "postgres":
            asked["retained bytes"] = RETAINED
        with source.cursor() as cursor:
            for name, statement in asked.items():
                cursor.execute(statement)
                self.most[name] = max(self.most.get(name, 0), float(cursor.fetchone()[0] or 0))


def _has_row(measured: Measured, cursor: Any) -> bool:
    if not measured.tables_at_target(cursor):
        return False
    cursor.execute("SELECT count(*) FROM t00000")
    return int(cursor.fetchone()[0]) == 1


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cdc.latency", description=__doc__)
    parser.add_argument("--database", default=",".join(DATABASES), help=f"some of {', '.join(DATABASES)}")
    parser.add_argument("--seconds", type=float, default=60, help="time for which rows are written")
    arguments = parser.parse_args(argv)
    for database in arguments.database.split(","):
        with tempfile.TemporaryDirectory(prefix="seatunnel-latency-", ignore_cleanup_errors=True) as folder:
            print(Latency(DATABASES[database](), Path(folder), arguments.seconds).play(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
