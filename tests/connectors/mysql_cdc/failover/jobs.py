"""A job that is driven without an engine, and that continues at another server."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.connectors.mysql_cdc.cdc_servers import cdc_options
from tests.connectors.mysql_cdc.driven import DrivenSource, StrictTarget
from tests.servers.replicas import Pair

TABLE = "CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(50))"
COLUMNS = ("id", "a", "b")
MYSQL = pytest.param("gtids", marks=pytest.mark.twin)
EACH = pytest.mark.parametrize("pair", [MYSQL, "maria"], indirect=True)
ONLY_MYSQL = pytest.mark.parametrize("pair", [MYSQL], indirect=True)


def options(server: Any, *tables: str, **more: Any) -> dict[str, Any]:
    return {**cdc_options(server, *tables), "snapshot.split.size": 250, **more}


def add(target: StrictTarget, batches: Sequence[Any]) -> None:
    for batch in batches:
        target.add(batch)


def to_end(source: DrivenSource, target: StrictTarget) -> None:
    """Read until a poll plans nothing new."""
    while True:
        before = {**source.cursor}
        add(target, source.turn()[0])
        if before == source.cursor:
            return


def resumed(source: DrivenSource, pair: Pair) -> DrivenSource:
    """Resume a job at the replica, as a new process does."""
    found = elsewhere(source, pair, json.loads(json.dumps({**source.cursor, "tables": ""})))
    found.cursor = {**found.cursor, "tables": source.cursor["tables"]}
    found.source.require_readable(found.cursor, ())
    schemas = found.source.planned_schemas()
    assert list(found.source.restored_schemas(found.cursor, schemas)) == list(schemas)
    return found


def assert_same(server: Any, target: StrictTarget, *tables: str) -> None:
    for table in tables:
        rows = server.run(f"SELECT id, a, b FROM {table}")
        assert target.rows.get(f"shop.{table}", {}) == {(row[0],): dict(zip(COLUMNS, row, strict=True)) for row in rows}


def elsewhere(source: DrivenSource, pair: Pair, cursor: Any = None, **more: Any) -> DrivenSource:
    """Return the job at the replica, without the checks of a restore."""
    changed = {**source.options, "url": options(pair.replica)["url"]}
    return DrivenSource(changed, cursor=source.cursor if cursor is None else cursor, **more)
