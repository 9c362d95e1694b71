"""Names of staging tables, and the two tables that record the commits and the engine that may commit.

::

    seatunnel_<pipeline>_o<source>_e<epoch>_u<unit>_a<attempt>_<number>     rows of one attempt of one unit
    seatunnel_pipelines (pipeline, epoch)                                   engine that may commit for a sink
    seatunnel_commits (pipeline, committable, epoch)                        committed committables

The tables are created without specifying a schema, so that the database chooses it. ``<pipeline>`` in a name is a
digest of the key in the two tables, ``<job>/<pipeline>/<sink>``.
"""

import hashlib
import re

from seatunnel_core.connector_api.sink import SinkContext, WriterContext
from seatunnel_core.connectors.tables.ledger import key_of

PIPELINES, COMMITS = "seatunnel_pipelines", "seatunnel_commits"

TABLES = (
    f"CREATE TABLE IF NOT EXISTS {PIPELINES} (pipeline varchar(255) NOT NULL PRIMARY KEY, epoch bigint NOT NULL)",
    f"CREATE TABLE IF NOT EXISTS {COMMITS} (pipeline varchar(255) NOT NULL, committable varchar(100) NOT NULL, "
    "epoch bigint NOT NULL, PRIMARY KEY (pipeline, committable))",
)

_NAME = re.compile(r"_o(?P<source>\d+)_e(?P<epoch>\d+)_u(?P<unit>\d+)_a[0-9a-f]+_\d+")


def prefix_of(context: SinkContext | WriterContext) -> str:
    """Return the name prefix of all staging tables of a sink."""
    return f"seatunnel_{hashlib.sha256(key_of(context).encode()).hexdigest()[:12]}"


def staging_name(context: WriterContext, number: int) -> str:
    """Return the name of a staging table, at most 63 characters long (PostgreSQL's limit)."""
    attempt = hashlib.sha256(context.attempt.encode()).hexdigest()[:8]
    return f"{prefix_of(context)}_o{context.source_ordinal}_e{context.epoch}_u{context.unit}_a{attempt}_{number}"


def owner(name: str, prefix: str) -> tuple[str, int] | None:
    """Return the committable ID and the epoch of a staging table; ``None`` for other names."""
    found = _NAME.fullmatch(name.removeprefix(prefix)) if name.startswith(prefix) else None
    if found is None:
        return None
    return f"{found['source']}-{found['epoch']}-{found['unit']}", int(found["epoch"])


def task_of(name: str) -> str:
    """Return the part of a name that all staging tables of a task share; tasks of a query share a unit."""
    return name.rpartition("_")[0]
