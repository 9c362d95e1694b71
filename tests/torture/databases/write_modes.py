"""Tables that are merged into and replaced, as the targets of a tortured job: in DuckDB, PostgreSQL and MariaDB.

Each has rows of yesterday: some with keys that come again, which a merge has to replace, and one with a key that does
not, which a merge has to keep and a replace to remove. A merge that keeps history has to end versions of the former.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from tests.torture.databases import mariadb
from tests.torture.databases.mariadb import MariaDBTarget
from tests.torture.databases.postgres import _TYPES, PostgresTarget, server
from tests.torture.databases.tables import Table, counted, differing
from tests.torture.job import Target, files_below

_DUCKDB = """
  DuckDB {{
    plugin_input = "{name}"
    path = "{file}"
    table = "{table}"
    {more}
  }}
"""
_JDBC = """
  Jdbc {{
    plugin_input = "{name}"
    url = "{url}"
    user = "{user}"
    password = "{password}"
    table = "{table}"
    {more}
  }}
"""
MODES = {
    "letters": "write_mode = merge, merge_key = [id]",
    "letters_again": "write_mode = append, is_exactly_once = true",
    "letters_versions": "write_mode = merge, merge_key = [id], keep_history = true",
    "flights": "write_mode = replace",
    "planes": "write_mode = merge, merge_key = [tailnum]",
}
_HISTORY = ", NULL::TIMESTAMPTZ AS valid_from, NULL::TIMESTAMPTZ AS valid_to, true AS is_current"
_KEYS = {"letters": "id", "letters_versions": "id", "planes": "tailnum"}
STALE = 200
"""The number of rows of yesterday with keys that come again."""


def yesterday(name: str, table: Table) -> pa.Table:
    """The rows that a target has before the job."""
    if name == "letters_again":
        return table.columns.empty_table()
    key = _KEYS.get(name, table.columns.names[0])
    old = table.counted.select([key]).slice(0, STALE if name in _KEYS else 0).column(0).unique()
    other = pa.array([-1 if pa.types.is_integer(old.type) else "none"], old.type)
    keys = pa.concat_arrays([*(old.chunks if isinstance(old, pa.ChunkedArray) else [old]), other])
    columns = [keys if each.name == key else pa.nulls(len(keys), each.type) for each in table.columns]
    return pa.table(columns, table.columns)


def expected(name: str, table: Table) -> Table:
    """What the target has to hold in the end."""
    if name not in _KEYS:
        return table
    rows = table.counted.drop_columns(["count_all"])
    old = yesterday(name, table)
    kept = old if keeps_versions(name) else old.slice(old.num_rows - 1, 1)
    whole = pa.concat_tables([rows, kept])
    if not keeps_versions(name) and pc.count_distinct(whole[_KEYS[name]]).as_py() != whole.num_rows:
        raise ValueError(f"the keys of {name} are not unique")
    return evolve(table, rows=whole.num_rows, counted=counted(whole))


def keeps_versions(name: str) -> bool:
    """Whether a target has the rows of yesterday beside those that came in their place."""
    return "keep_history" in MODES[name]


def wrong_versions(name: str, ask: Callable[[str], Any]) -> str:
    """Empty when each key of a target has one current version, which alone has no end."""
    if not keeps_versions(name):
        return ""
    ended = "sum(CASE WHEN is_current = (valid_to IS NULL) THEN 0 ELSE 1 END)"
    asked = f"SELECT sum(CASE WHEN is_current THEN 1 ELSE 0 END), count(DISTINCT {_KEYS[name]}), {ended} FROM {name}"
    ((current, keys, wrong),) = ask(asked)
    return "" if current == keys and not wrong else f"{name}: {current} current versions of {keys} keys, {wrong} wrong"


@cache
def _seen(_place: str) -> set[str]:
    """What was seen of the commits of a job; the records are gone when it has ended."""
    return set()


@frozen(kw_only=True)
class DuckDBTarget(Target):
    """One table; ``folder`` is its name beside the file."""

    format: str = "duckdb"

    @property
    def file(self) -> Path:
        return self.folder.parent / "shop.duckdb"

    def block(self, source: str) -> str:
        more = self.more.replace(", is_exactly_once = true", "")
        return _DUCKDB.format(name=source, file=self.file, table=self.folder.name, more=more)

    def staged(self) -> set[str]:
        return {Path(path).name for path in files_below(self.folder.parent / ".seatunnel") if path.endswith(".parquet")}

    def published(self) -> set[str]:
        """The commits that were seen, for all tables of the file: looked at when the file has changed."""
        with suppress(FileNotFoundError):
            _look(str(self.file), self.file.stat().st_mtime_ns)
        return set(_seen(str(self.file)))

    def free(self) -> bool:
        """A process that is put to sleep in the midst of a commit has the file open."""
        if not self.file.exists():
            return True
        try:
            duckdb.connect(str(self.file), read_only=True).close()
        except duckdb.IOException:
            return False
        return True

    def differences(self) -> str:
        names = ", ".join(f'"{name}"' for name in self.table.columns.names)
        with _reading, duckdb.connect(str(self.file), read_only=True) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            rows = connection.sql(f'SELECT {names} FROM "{self.folder.name}"').to_arrow_table()
            wrong = wrong_versions(self.folder.name, lambda asked: connection.execute(asked).fetchall())
        return differing(self.table, rows.cast(self.table.columns)) or wrong


_reading = threading.Lock()


def _look(file: str, _changed_ns: int) -> None:
    if (file, _changed_ns) in _looked:
        return
    with _reading, suppress(duckdb.IOException), duckdb.connect(file, read_only=True) as connection:
        found: list[Any] = []
        with suppress(duckdb.CatalogException):
            found = connection.execute("SELECT pipeline || ' ' || committable FROM seatunnel.commits").fetchall()
        _note(_seen(file), [name for (name,) in found])
        _looked.add((file, _changed_ns))


def _note(seen: set[str], found: Sequence[str]) -> None:
    """Keep what was committed; where there were records and are none, the job has ended."""
    seen.update(found if found or not seen else ["the end"])


_looked: set[tuple[str, int]] = set()


def duckdb_targets(out: Path, tables: Sequence[Table]) -> list[Target]:
    out.mkdir(parents=True)
    made: list[Target] = []
    with duckdb.connect(str(out / "shop.duckdb")) as connection:
        for name, table in tables_by_mode(tables):
            made.append(DuckDBTarget(table=expected(name, table), folder=out / name, more=MODES[name]))
            old = yesterday(name, table)
            if old.num_rows:
                connection.register("old", old)
                connection.execute("SET TimeZone = 'UTC'")
                connection.execute(f'CREATE TABLE "{name}" AS SELECT *{_HISTORY * keeps_versions(name)} FROM old')
                connection.unregister("old")
    return made


@frozen(kw_only=True)
class PostgresModes(PostgresTarget):
    """One table of PostgreSQL."""

    format: str = "postgres"

    def block(self, source: str) -> str:
        return _JDBC.format(name=source, table=self.folder.name, more=self.more, **self.place())

    def published(self) -> set[str]:
        """The commits that were seen, for all tables of the job."""
        seen = _seen(self.database)
        asked = self.ask("SELECT pipeline || ' ' || committable FROM seatunnel_commits") or []
        _note(seen, [name for (name,) in asked])
        return set(seen)

    def differences(self) -> str:
        return super().differences() or wrong_versions(self.folder.name, self.ask)


def postgres_modes_targets(out: Path, tables: Sequence[Table]) -> list[Target]:
    made: list[Target] = []
    for name, table in tables_by_mode(tables):
        made.append(PostgresModes(table=expected(name, table), folder=out / name, more=MODES[name]))
    database = PostgresModes(table=tables[0], folder=out / "letters", more="").database
    with closing(server().connect()) as connection:
        connection.execute(f"CREATE DATABASE {database}")
    with closing(server().connect(database)) as connection:
        for name, table in tables_by_mode(tables):
            _fill(connection, name, table)
    return made


def _fill(connection: psycopg.Connection[Any], name: str, table: Table) -> None:
    old = yesterday(name, table)
    if not old.num_rows:
        return
    columns = ", ".join(f'"{column.name}" {_TYPES[column.type]}' for column in table.columns)
    more = f", PRIMARY KEY ({_KEYS[name]})" if name == "letters" else ""  # planes are merged without an index
    if keeps_versions(name):
        more = ", valid_from timestamptz, valid_to timestamptz, is_current boolean DEFAULT true"
    connection.execute(f'CREATE TABLE "{name}" ({columns}{more})')
    given = ", ".join(f'"{column.name}"' for column in table.columns)
    with connection.cursor() as cursor, cursor.copy(f'COPY "{name}" ({given}) FROM STDIN') as copy:
        for row in zip(*old.to_pydict().values(), strict=True):
            copy.write_row(row)


@frozen(kw_only=True)
class MariaDBModes(MariaDBTarget):
    """One table of MariaDB."""

    format: str = "mariadb"

    def block(self, source: str) -> str:
        return _JDBC.format(name=source, table=self.folder.name, more=self.more, **self.place())

    def published(self) -> set[str]:
        """The commits that were seen, for all tables of the job."""
        seen = _seen(self.database)
        asked = self.ask("SELECT CONCAT(pipeline, ' ', committable) FROM seatunnel_commits") or []
        _note(seen, [name for (name,) in asked])
        return set(seen)

    def differences(self) -> str:
        return super().differences() or wrong_versions(self.folder.name, self.ask)


def mariadb_modes_targets(out: Path, tables: Sequence[Table]) -> list[Target]:
    made: list[Target] = []
    for name, table in tables_by_mode(tables):
        made.append(MariaDBModes(table=expected(name, table), folder=out / name, more=MODES[name]))
    database = MariaDBModes(table=tables[0], folder=out / "letters", more="").database
    mariadb.server().run(f"CREATE DATABASE {database}")
    with closing(mariadb.server().connect(database)) as connection, connection.cursor() as cursor:
        for name, table in tables_by_mode(tables):
            old = yesterday(name, table)
            if not old.num_rows:
                continue
            columns = [f"`{each.name}` {mariadb.TYPES[each.type]}" for each in table.columns]
            more = [f"PRIMARY KEY ({_KEYS[name]})"] if name == "letters" else []
            if keeps_versions(name):
                more = ["valid_from datetime(6)", "valid_to datetime(6)", "is_current boolean DEFAULT true"]
            cursor.execute(f"CREATE TABLE `{name}` ({', '.join([*columns, *more])})")
            given, marks = ", ".join(f"`{each.name}`" for each in table.columns), ", ".join(["%s"] * len(columns))
            values = list(zip(*old.to_pydict().values(), strict=True))
            cursor.executemany(f"INSERT INTO `{name}` ({given}) VALUES ({marks})", values)
        connection.commit()
    return made


def tables_by_mode(tables: Sequence[Table]) -> list[tuple[str, Table]]:
    """Return the name of each target and its table: three for the first one."""
    return [(name, table) for table in tables for name in MODES if name.partition("_")[0] == table.name]
