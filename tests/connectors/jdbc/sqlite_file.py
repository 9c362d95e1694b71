"""A file of SQLite, and the sink ``Jdbc`` that writes it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from seatunnel_core.connectors.jdbc.sink import JdbcSink
from seatunnel_core.connectors.testing import options_of


def ask(file: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as database:
        return database.execute(statement).fetchall()


def run(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def sink(file: Path, **options: Any) -> JdbcSink:
    return JdbcSink(options_of(JdbcSink, {"url": f"jdbc:sqlite:{file}", **options}))
