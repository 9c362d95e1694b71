"""A file of DuckDB below a folder: sinks write it, and tests read it without them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.duckdb.sink import DuckDBSink

FILE = "shop.duckdb"


def duckdb_sink(folder: Path, **more: Any) -> DuckDBSink:
    """A sink, driven without a job, into the table ``orders``."""
    return DuckDBSink(options_of(DuckDBSink, {"path": str(folder / FILE), "table": "orders", **more}))


def asked(folder: Path, statement: str) -> Sequence[tuple[Any, ...]]:
    """The rows of a SELECT."""
    with duckdb.connect(str(folder / FILE)) as connection:
        found: Sequence[tuple[Any, ...]] = connection.execute(statement).fetchall()
        return found


def changed(folder: Path, *statements: str) -> None:
    """Run statements of somebody else on the file."""
    with duckdb.connect(str(folder / FILE)) as connection:
        for statement in statements:
            connection.execute(statement)


def staged(folder: Path) -> int:
    """How many files wait beside the database."""
    return len(list((folder / ".seatunnel").rglob("*.parquet")))
