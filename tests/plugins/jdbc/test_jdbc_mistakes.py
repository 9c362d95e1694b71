"""Make each mistake of ``jdbc`` in ``mistakes-storages.md`` on real databases, and compare the message."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import seatunnel_storage_jdbc.database
from seatunnel_storage_jdbc.factory import JdbcStorageFactory

from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import checkpoint, claim
from tests.plugins import page
from tests.plugins.jdbc.jdbc_databases import File, tables
from tests.servers import mariadb, postgres
from tests.servers.process import deaf_port
from tests.servers.shared import shared

TABLE = page.mistakes("jdbc")
KEYS = {"namespace": "/mistakes/", "table-prefix": "seatunnel"}


def opened(**keys: str) -> CheckpointStorage:
    return JdbcStorageFactory().create({**KEYS, **{name.replace("_", "-"): value for name, value in keys.items()}})


def in_file(folder: Path) -> CheckpointStorage:
    return opened(url=f"jdbc:sqlite:{folder}/state.db")


def url(written: str) -> Callable[[Path, pytest.MonkeyPatch], object]:
    """The mistake is in the url; ``HERE`` stands for a folder of the test."""
    return lambda folder, _: opened(url=written.replace("HERE", str(folder)))


def notes(folder: Path, _: pytest.MonkeyPatch) -> None:
    (folder / "notes.txt").write_text("this is no database, and long enough to be sure of it" * 20)
    opened(url=f"jdbc:sqlite:{folder}/notes.txt")


def without_driver(_: Path, patches: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    patches.setattr(seatunnel_storage_jdbc.database.importlib, "import_module", absent)  # type: ignore[attr-defined]
    opened(url="jdbc:postgresql://127.0.0.1/nowhere")


def damaged(folder: Path, _: pytest.MonkeyPatch) -> None:
    with in_file(folder) as storage, tables(File(folder / "state.db"), KEYS) as rows:
        storage.store_checkpoint(checkpoint(claim(storage), 1))
        path = rows.only(".ckpt")
        body = rows.read(path)
        rows.write(path, body[:-1] + bytes([body[-1] ^ 1]))
        storage.get_latest_checkpoint("job", 1)


def dropped(folder: Path, _: pytest.MonkeyPatch) -> None:
    with in_file(folder) as storage, closing(sqlite3.connect(folder / "state.db")) as connection:
        epoch = claim(storage)
        connection.execute("DROP TABLE seatunnel_checkpoints")
        storage.store_checkpoint(checkpoint(epoch, 1))


def overtaken(folder: Path, _: pytest.MonkeyPatch) -> None:
    with in_file(folder) as storage, in_file(folder) as other:
        epoch = claim(storage)
        claim(other)
        storage.store_checkpoint(checkpoint(epoch, 1))


MADE: dict[str, Callable[[Path, pytest.MonkeyPatch], object]] = {
    "no database is named": lambda *_: opened(),
    "a database that there is no driver for": url("jdbc:oracle:thin:@host:1521/shop"),
    "the url is not one of JDBC": url("postgresql://host/database"),
    "the url has no host": url("jdbc:postgresql:database"),
    "the url has no database": url("jdbc:mysql://host:3306"),
    "the url has several hosts": url("jdbc:postgresql://one,two/database"),
    "user and password are in the url": url("jdbc:postgresql://me:secret@host/database"),
    "a property that MySQL does not have": url("jdbc:mysql://host/database?useTurbo=true"),
    "the path of SQLite is not absolute": url("jdbc:sqlite:state.db"),
    "the folder of SQLite's file does not exist": url("jdbc:sqlite:HERE/absent/state.db"),
    "SQLite's file is something else": notes,
    "no table can have such a name": lambda *_: opened(url="jdbc:sqlite:/x.db", table_prefix="my tables"),
    "the namespace has no slash at its end": lambda *_: opened(url="jdbc:sqlite:/x.db", namespace="/mistakes"),
    "the namespace is too long": lambda *_: opened(url="jdbc:sqlite:/x.db", namespace=f"/{'n' * 500}/"),
    "a driver is not installed": without_driver,
    "a checkpoint is damaged": damaged,
    "the table was dropped": dropped,
    "a second engine runs the job": overtaken,
}


def on_postgres(**keys: str) -> None:
    opened(**{**shared(postgres.Postgres).options(), **keys})


def on_mariadb(**keys: str) -> None:
    opened(**{**shared(mariadb.MariaDB).options(), **keys})


def without_rights() -> None:
    server = shared(postgres.Postgres)
    with closing(server.connect()) as connection:
        connection.execute("DROP TABLE IF EXISTS seatunnel_checkpoints")
        connection.execute("DROP ROLE IF EXISTS nobody")
        connection.execute("CREATE ROLE nobody LOGIN PASSWORD 'nothing'")
    on_postgres(user="nobody", password="nothing")


def elsewhere(server: postgres.Postgres | mariadb.MariaDB, part: str, instead: object) -> str:
    return server.url.replace(part, str(instead))


ON_SERVERS: dict[str, Callable[[], object]] = {
    "nothing listens there (PostgreSQL)": lambda: on_postgres(
        url=f"jdbc:postgresql://127.0.0.1:{deaf_port()}/postgres"
    ),
    "nothing listens there (MySQL, MariaDB)": lambda: on_mariadb(url=f"jdbc:mysql://127.0.0.1:{deaf_port()}/shop"),
    "the password is wrong (PostgreSQL)": lambda: on_postgres(password="wrong"),
    "the password is wrong (MySQL, MariaDB)": lambda: on_mariadb(password="wrong"),
    "the database does not exist (PostgreSQL)": lambda: on_postgres(
        url=elsewhere(shared(postgres.Postgres), "/postgres", "/absent")
    ),
    "the database does not exist (MySQL, MariaDB)": lambda: on_mariadb(
        url=elsewhere(shared(mariadb.MariaDB), "/shop", "/absent")
    ),
    "the user may not create tables (PostgreSQL)": without_rights,
}


def test_every_mistake_of_the_page_is_made() -> None:
    assert set(TABLE) == {*MADE, *ON_SERVERS}


@pytest.mark.parametrize("mistake", MADE)
def test_a_mistake(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckpointStorageError) as said:
        MADE[mistake](tmp_path, monkeypatch)
    page.require_told(TABLE[mistake], str(said.value))


@pytest.mark.servers
@pytest.mark.parametrize("mistake", ON_SERVERS)
def test_a_mistake_on_a_server(mistake: str) -> None:
    with pytest.raises(CheckpointStorageError) as said:
        ON_SERVERS[mistake]()
    page.require_told(TABLE[mistake], str(said.value))
    assert postgres.PASSWORD not in str(said.value)
