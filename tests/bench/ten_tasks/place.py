"""Where one run of a task reads and writes, and what it has from outside: a database, a service."""

import os
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attrs import field, frozen

from seatunnel_core.spark.starting.archived_classes import FOLDER
from seatunnel_core.spark.starting.settings import cache_folder
from tests.servers.http_service import HttpService
from tests.servers.postgres import PASSWORD, USER, Postgres

OURS, DLT = "ours", "dlt"

_ENGINE = """seatunnel:
  engine:
    checkpoint:
      storage:
        type: hdfs
        plugin-config: {{ fs.defaultFS: "file:///", namespace: {folder}/checkpoints/ }}
"""


@frozen(kw_only=True)
class Servers:
    """What the tasks share."""

    postgres: Postgres | None = None
    service: HttpService = field(factory=HttpService)
    shared: set[str] = field(factory=set)
    """The tasks whose data they have."""

    def stop(self) -> None:
        self.service.stop()
        if self.postgres is not None:
            self.postgres.stop()

    def create(self, database: str, template: str = "template1") -> None:
        self.execute("postgres", f"CREATE DATABASE {database} TEMPLATE {template}")

    def drop(self, database: str) -> None:
        self.execute("postgres", f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def execute(self, database: str, statement: str) -> Any:
        assert self.postgres is not None
        with closing(self.postgres.connect(database)) as connection:
            return connection.execute(statement)

    def fill(self, database: str, statement: str, files: list[Path]) -> None:
        """Send files to a COPY."""
        assert self.postgres is not None
        with closing(self.postgres.connect(database)) as connection:
            for file in files:
                with file.open("rb") as rows, connection.cursor().copy(statement) as to:
                    while block := rows.read(1 << 20):
                        to.write(block)


@frozen(kw_only=True)
class Place:
    """A system's own folder for one run of a task, and for the one before."""

    system: str
    folder: Path
    data: Path
    """What the task reads, made once."""

    rows: int
    servers: Servers
    database: str = ""
    """Of PostgreSQL, where the task has one."""

    @property
    def output(self) -> Path:
        """Where the job writes, if not into PostgreSQL: a folder of files, or a file of DuckDB."""
        return self.folder / "output"

    def in_duckdb(self, table: str) -> str:
        """The name of a table of the file of DuckDB, while that is attached as ``target``."""
        return f"target.{'shop' if self.system == DLT else 'main'}.{table}"

    def in_postgres(self, table: str) -> str:
        return f"{'shop' if self.system == DLT else 'public'}.{table}"

    def environment(self, given: Path) -> dict[str, str]:
        """The variables of the two programs: INPUT, OUTPUT, SHOP and SERVICE, and where each keeps its own things."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        engine = self.folder / "seatunnel.yaml"
        engine.write_text(_ENGINE.format(folder=self.folder), "utf-8")
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
            FOLDER: os.environ.get(FOLDER) or str(cache_folder(os.environ)),
            "HOME": str(home),
            "TMPDIR": str(home),
            "SPARK_LOCAL_DIRS": str(home),
            "SEATUNNEL_CONFIG": str(engine),
            "DLT_DATA_DIR": str(home),
            "RUNTIME__DLTHUB_TELEMETRY": "false",
            "INPUT": str(given),
            "OUTPUT": str(self.output),
            "SERVICE": f"{self.servers.service.url}/people",
            "SHOP": self._shop(),
        }

    def _shop(self) -> str:
        postgres = self.servers.postgres
        if postgres is None:
            return ""
        at = f"{postgres.host}:{postgres.port}/{self.database}"
        if self.system == DLT:
            return f"postgresql://{USER}:{quote(PASSWORD, safe='')}@{at}"
        return f"jdbc:postgresql://{at}?user={USER}&password={quote(PASSWORD, safe='')}"

    def copied(self, query: str) -> str:
        """A relation of DuckDB with the rows of a query in PostgreSQL, all of them texts."""
        assert self.servers.postgres is not None
        number = len(list(self.folder.glob("copied-*.csv")))
        file = self.folder / f"copied-{number}.csv"
        statement = f"COPY ({query}) TO STDOUT (FORMAT csv, HEADER)"
        with (
            closing(self.servers.postgres.connect(self.database)) as connection,
            connection.cursor().copy(statement) as rows,
            file.open("wb") as to,
        ):
            for block in rows:
                to.write(block)
        return f"read_csv('{file}', header = true, all_varchar = true, delim = ',', quote = '\"', escape = '\"')"

    def parquet(self, table: str) -> str:
        """A relation of DuckDB with the rows of the Parquet files that were published."""
        folder = self.output / "shop" / table if self.system == DLT else self.output
        files = [str(each) for each in sorted(folder.rglob("*.parquet")) if ".seatunnel" not in each.parts]
        return f"read_parquet({files})" if files else ""
