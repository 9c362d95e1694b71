"""Tables of MariaDB as the targets of a tortured job, in a database for each job: read without the engine's code."""

import threading
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pymysql
from attrs import frozen

from tests.servers.mariadb import PASSWORD, USER, MariaDB
from tests.servers.shared import shared
from tests.torture.databases.database import DatabaseTarget, targets_in
from tests.torture.databases.tables import Table
from tests.torture.job import Target

TYPES = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float64(): "double",
    pa.string(): "longtext",
    pa.decimal128(18, 4): "decimal(18, 4)",
    pa.timestamp("us"): "datetime(6)",
    pa.timestamp("us", "UTC"): "datetime(6)",
}
_NO_TABLE, _LOCKED = 1146, 1205
_STEP = 100
_guard = threading.Lock()


def server() -> MariaDB:
    return shared(MariaDB)


@cache
def _connection(database: str) -> Any:
    return server().connect(database)


@frozen(kw_only=True)
class MariaDBTarget(DatabaseTarget):
    """One table of MariaDB."""

    format: str = "mariadb"

    def place(self) -> dict[str, str]:
        url = f"jdbc:mariadb://127.0.0.1:{server().port}/{self.database}"
        return {"url": url, "user": USER, "password": PASSWORD}

    def quoted(self, name: str) -> str:
        return f"`{name}`"

    def ask(self, statement: str) -> list[Any] | None:
        with _guard, _connection(self.database).cursor() as cursor:
            try:
                cursor.execute(statement)
            except pymysql.err.ProgrammingError as error:
                if error.args[0] == _NO_TABLE:
                    return None
                raise
            return list(cursor.fetchall())

    def staged(self) -> set[str]:
        """Of all tables of the job: a name does not tell for which it is."""
        asked = (
            f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{self.database}' AND "
            "TABLE_NAME REGEXP '^seatunnel_[0-9a-f]{12}_'"
        )
        return {name for (name,) in self.ask(asked) or []}

    def published(self) -> set[str]:
        """A name for each so many rows that are there: MariaDB does not tell which transaction has brought a row."""
        ((rows,),) = self.ask(f"SELECT count(*) FROM `{self.folder.name}`") or [(0,)]
        return {f"{self.folder.name}-{number}" for number in range(-(-rows // _STEP))}

    def free(self) -> bool:
        """A process that is put to sleep in the midst of a commit keeps the rows of its pipelines locked."""
        try:
            self.ask("SELECT * FROM seatunnel_pipelines FOR UPDATE NOWAIT")
        except pymysql.err.OperationalError as error:
            if error.args[0] == _LOCKED:
                return False
            raise
        return True


def mariadb_targets(out: Path, tables: Sequence[Table]) -> list[Target]:
    targets = targets_in(MariaDBTarget, out, tables)
    database = MariaDBTarget(table=tables[0], folder=out / "letters").database
    server().run(f"CREATE DATABASE {database}")
    with closing(server().connect(database)) as connection, connection.cursor() as cursor:
        for table in tables:
            if table.name == "planes":
                columns = ", ".join(f"`{column.name}` {TYPES[column.type]}" for column in table.columns)
                cursor.execute(f"CREATE TABLE planes ({columns})")
                cursor.execute("INSERT INTO planes (tailnum) VALUES ('N00000')")
    return targets
