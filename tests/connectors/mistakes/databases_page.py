"""Writes ``docs/evidence/mistakes-databases.md``, by making each mistake on a PostgreSQL and a MariaDB that it starts:
``python -m tests.connectors.mistakes.databases_page``."""

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.cli.main import main
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import place, sink_place
from seatunnel_core.connectors.jdbc.pool import forget
from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.errors import SinkError
from seatunnel_core.rows.batch import TableSchema
from tests.servers.mariadb import MariaDB
from tests.servers.postgres import PASSWORD, USER, Postgres
from tests.servers.process import deaf_port

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "mistakes-databases.md"

_HEAD = """# Mistakes with databases and their messages

The messages of [`Jdbc`](../reference/connectors/Jdbc.md#behaviour) about wrong options; [mistakes](mistakes.md) has
those about job files. Each row shows the lines that replace the right ones.
`python -m tests.connectors.mistakes.databases_page` makes each mistake on PostgreSQL and MariaDB and generates this
page. A test checks that no row moves and that no message contains a password.
"""
_OF_SOURCE = """
`seatunnel --check -c job.conf` and the job report these before any row moves. The table `people`
has the columns `id` (bigint), `name` (text) and `tags` (json).

| mistake | line in the job | message |
|---|---|---|
"""
_OF_SINK = """
The job reports these when it starts, before any row moves. Rows with the columns `id` (bigint) and `name` (string) are
written exactly once into the table `target`, which has the same columns.

| mistake | line in the job | message |
|---|---|---|
"""
_OF_CHECK = """
`seatunnel --check -c job.conf` also reports these about the target, and leaves nothing in it:

| mistake | line in the job | message |
|---|---|---|
"""

SECRETS = (PASSWORD, "wrong-one", "of-limited")
_SCHEMA = TableSchema(table="people", columns=pa.schema([("id", pa.int64()), ("name", pa.string())]))


@frozen(kw_only=True)
class Ground:
    """A server with the tables on which mistakes are made."""

    title: str
    kind: str
    """What stands behind ``jdbc:``."""

    port: int
    usual_port: int
    run: Callable[[str], Any] = field(repr=False)

    def options(self) -> dict[str, Any]:
        return {"url": self.url(), "user": USER, "password": PASSWORD}

    def url(self, *, host: str = "127.0.0.1", port: int | None = None, database: str = "shop") -> str:
        return f"jdbc:{self.kind}://{host}:{port or self.port}/{database}"

    def shown(self, text: str, deaf: int) -> str:
        """As on any machine."""
        plain = text.replace(str(self.port), str(self.usual_port)).replace(str(deaf), "1")
        plain = re.sub(r"\[Errno -\d\] [A-Z][a-z ]+", "[Errno -2] Name or service not known", plain)
        return re.sub(r"'(\w+)'@'[\w.]+'", r"'\1'@'client'", plain)


_PLAIN = (
    "CREATE TABLE target (id bigint, name varchar(20))",
    "CREATE TABLE narrow (id bigint, nam varchar(20))",
    "CREATE TABLE other (id bigint, name bytes)",
    "CREATE TABLE hidden (id bigint)",
)


@contextmanager
def grounds() -> Iterator[list[Ground]]:
    postgres, mariadb = Postgres(), MariaDB()
    postgres.start()
    try:
        mariadb.start()
        yield [_in_postgres(postgres), _in_mariadb(mariadb)]
    finally:
        forget()
        for server in (postgres, mariadb):
            with contextlib.suppress(AttributeError):  # it was not started
                server.stop()


def _in_postgres(server: Postgres) -> Ground:
    with closing(server.connect()) as connection:
        connection.execute("CREATE DATABASE shop")

    def run(statement: str) -> Any:
        with closing(server.connect("shop")) as connection:
            return connection.execute(statement)

    run("CREATE TABLE people (id bigint PRIMARY KEY, name text, tags jsonb)")
    for statement in _PLAIN:
        run(statement.replace("bytes", "bytea"))
    for user, more in (("reader", ""), ("writer", ""), ("limited", "CONNECTION LIMIT 0")):
        run(f"CREATE ROLE {user} LOGIN PASSWORD 'of-limited' {more}")
    run("GRANT SELECT, INSERT ON target TO writer")
    return Ground(title="PostgreSQL", kind="postgresql", port=server.port, usual_port=5432, run=run)


def _in_mariadb(server: MariaDB) -> Ground:
    def run(statement: str) -> Any:
        return server.run(statement)

    run("CREATE TABLE people (id bigint PRIMARY KEY, name text, tags json)")
    for statement in (*_PLAIN, "CREATE TABLE old (id bigint, name varchar(20)) ENGINE=MyISAM"):
        run(statement.replace("bytes", "blob"))
    for user, more in (("reader", ""), ("limited", "WITH MAX_QUERIES_PER_HOUR 1")):
        run(f"CREATE USER {user}@'%' IDENTIFIED BY 'of-limited'")
        run(f"GRANT SELECT ON shop.people TO {user}@'%' {more}")
    return Ground(title="MariaDB", kind="mysql", port=server.port, usual_port=3306, run=run)


Change = Mapping[str, Any]


def _of_both(ground: Ground, deaf: int) -> dict[str, Change]:
    return {
        "a wrong host": {"url": ground.url(host="no.such.host.invalid")},
        "a wrong port": {"url": ground.url(port=deaf)},
        "a wrong password": {"password": "wrong-one"},
        "an unknown user": {"user": "nobody"},
        "a wrong database": {"url": ground.url(database="shpo")},
        "a quota of the user that is used up": {"user": "limited", "password": "of-limited"},
        "no encryption on the server": {"properties": {"sslMode": "VERIFY_CA"} if ground.kind == "mysql"
                                        else {"sslmode": "verify-ca"}},
    }  # fmt: skip


def _of_source(ground: Ground, deaf: int) -> dict[str, Change]:
    return {
        **_of_both(ground, deaf),
        "a wrong table": {"table_path": "peple"},
        "a wrong column": {"query": "SELECT nme FROM people"},
        "a wrong condition": {"where_condition": "where nme = 1"},
        "a wrong split column": {"partition_column": "idd"},
        "a bound that is no value": {"partition_column": "id", "partition_lower_bound": "first"},
        "a missing privilege": {"user": "reader", "password": "of-limited", "table_path": "hidden"},
        "an unknown property": {"properties": {"colour": "red"}},
    }  # fmt: skip


def _of_sink(ground: Ground, deaf: int) -> dict[str, Change]:
    found: dict[str, Change] = {
        **_of_both(ground, deaf),
        "a table that has to be there": {"table": "peple", "schema_save_mode": "ERROR_WHEN_SCHEMA_NOT_EXIST"},
        "a wrong column of the table": {"table": "narrow"},
        "a wrong type of a column": {"table": "other"},
        "a key that is no column": {"primary_keys": ["idd"]},
        "a missing privilege": {"user": "reader", "password": "of-limited"},
        "a statement for another table": {"generate_sink_sql": False, "query": "INSERT INTO peple VALUES (?, ?)"},
    }
    if ground.kind == "mysql":
        found["a table without transactions"] = {"table": "old"}
    return found


def _of_check(ground: Ground, _deaf: int) -> dict[str, Change]:
    reader = {"user": "reader", "password": "of-limited", "table": "people"}
    found: dict[str, Change] = {"a missing privilege to insert": reader}
    if ground.kind == "postgresql":
        found["one to create the tables of staged rows"] = {"user": "writer", "password": "of-limited"}
    return found


def page(on: list[Ground]) -> str:
    """The whole page.

    Raises:
        AssertionError: a mistake was none, moved rows, or its message has a secret.
    """
    deaf = deaf_port()
    text = _HEAD
    for ground in on:
        text += f"\n## {ground.title}: the source\n{_OF_SOURCE}"
        for what, change in _of_source(ground, deaf).items():
            text += _row(ground, deaf, what, change, _checked(ground, change))
        text += f"\n## {ground.title}: the sink\n{_OF_SINK}"
        for what, change in _of_sink(ground, deaf).items():
            text += _row(ground, deaf, what, change, _begun(ground, change))
        text += _OF_CHECK
        for what, change in _of_check(ground, deaf).items():
            text += _row(ground, deaf, what, change, _begun(ground, change, JdbcSink.dry_run))
        for table in ("target", "narrow", "other"):
            rows = ground.run(f"SELECT count(*) FROM {table}")
            assert (rows if isinstance(rows, list) else rows.fetchall()) == [(0,)], f"rows moved into {table}"
    return text


def _row(ground: Ground, deaf: int, what: str, change: Change, message: str) -> str:
    assert not [secret for secret in SECRETS if secret in message], f"{what}: a secret is in the message"
    hidden = {"password": "…"}
    line = ", ".join(f"{key} = {_written(hidden.get(key, value))}" for key, value in change.items())
    shown = "<br>".join(f"`{part}`" for part in ground.shown(message, deaf).strip().splitlines())
    return f"| {what} | `{ground.shown(line, deaf)}` | {shown} |\n".replace("\\|", "|")


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {each}" for key, each in value.items()) + " }"
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(value)}]" if isinstance(value, list) else f'"{value}"'


def _checked(ground: Ground, change: Change) -> str:
    """What ``--check`` prints."""
    forget()
    options = {**ground.options(), **({} if "query" in change else {"table_path": "people"}), **change}
    lines = "\n".join(f"    {key} = {_written(value)}" for key, value in options.items())
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder, "job.conf")
        job.write_text(f"source {{\n  Jdbc {{\n{lines}\n  }}\n}}\nsink {{ Console {{ }} }}\n")
        engine = Path(folder, "seatunnel.yaml")
        engine.write_text("seatunnel: {engine: {checkpoint: {storage: {type: hdfs}}}}")
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = main(["-c", str(job), "--engine-config", str(engine), "--check"])
        assert code != 0, change
        return said.getvalue().replace(f"{os.path.realpath(folder)}/", "").replace(f"{folder}/", "")


def _start(of: JdbcSink, schemas: Sequence[TableSchema]) -> None:
    of.prepare(sink_place(place()))
    of.create_tables(schemas, sink_place(place()))


def _begun(ground: Ground, change: Change, do: Callable[[JdbcSink, Sequence[TableSchema]], Any] = _start) -> str:
    """What the sink says when a job starts, or is checked."""
    forget()
    options = {**ground.options(), "generate_sink_sql": True, "is_exactly_once": True, **change}
    if options["generate_sink_sql"]:
        options = {"table": "target", **options}
    try:
        do(JdbcSink(options_of(JdbcSink, options)), [_SCHEMA])
    except SinkError as error:
        return str(error)
    raise AssertionError(f"the sink took {change}")


if __name__ == "__main__":
    with grounds() as made:
        PAGE.write_text(page(made), encoding="utf-8")
