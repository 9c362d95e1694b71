"""Checks that the log contains all changes of the captured tables, with the columns of old rows that the job needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.postgres_cdc.published_tables import (
    PublishedTable,
    ReplicaIdentity,
    published_tables,
    require_published,
)
from seatunnel_core.connectors.postgres_cdc.settings import Settings
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from seatunnel_core.connectors.postgres_log.publications import TableName
from seatunnel_core.connectors.postgres_log.sql_connection import quoted_name


def require_captured(
    connection: Any, settings: Settings, tables: Sequence[Captured], published: Sequence[PublishedTable]
) -> None:
    """Check that the log contains all changes of the tables since the job started, with the needed columns.

    Args:
        connection: A psycopg connection in autocommit mode.
        settings: The settings of the job.
        tables: The captured tables.
        published: Publication entries of the tables when the job started, in the same order.

    Raises:
        SourceChangedError: Changes, or columns of old rows, may be missing.
    """
    paths = [table.path for table in tables]
    keys = {each.path: key for each in tables if each.has_own_key and (key := each.found.schema().primary_key)}
    found = published_tables(connection, settings.publication, paths)
    require_published(settings.publication, list(zip(paths, published, strict=True)), found, keys)
    _require_identities(tables, found, settings)


def identity_problems(connection: Any, tables: Sequence[Captured], settings: Settings) -> list[str]:
    """Return the tables with a replica identity that lacks their key, each with the statement that fixes it.

    ``settings`` state whether each table needs REPLICA IDENTITY FULL.
    """
    found = published_tables(connection, settings.publication, [table.path for table in tables])
    return _identity_problems(tables, found, settings)


def _require_identities(
    tables: Sequence[Captured], found: Mapping[TableName, PublishedTable], settings: Settings
) -> None:
    """Check the replica identities again. The log does not show the identity of a partition.

    Raises:
        SourceChangedError: A replica identity lacks the key of its table.
    """
    problems = _identity_problems(tables, found, settings)
    if problems:
        raise SourceChangedError(
            f"a replica identity was changed, or a partition was added, since the job started: {'; '.join(problems)}. "
            "Then resume the job; start a new job if rows were updated or deleted before that"
        )


def _identity_problems(
    tables: Sequence[Captured], found: Mapping[TableName, PublishedTable], settings: Settings
) -> list[str]:
    problems = []
    for table in tables:
        known = found.get(table.path)
        if known is None:
            continue
        whole, *partitions = known.identities
        needed, filtered = old_columns(table, settings), " and the columns of its filter" if table.filtered else ""
        needs_all = _needs_all_columns(table, settings) or whole.code == "f"
        wanted = "all columns" if needs_all else f"its key{filtered} ({', '.join(needed)})"
        shown = ".".join(map(quoted_name, table.path))
        for each in (ReplicaIdentity(shown, whole.code, whole.columns), *partitions):
            if each.code == "f" or (not needs_all and set(needed) <= set(each.columns)):
                continue
            of = table.name if each.name == shown else f"the partition {each.name} of {table.name}"
            problems.append(
                f"old rows of {of} do not contain {wanted}; run ALTER TABLE {each.name} REPLICA IDENTITY FULL"
            )
    return problems


def old_columns(table: Captured, settings: Settings) -> tuple[str, ...]:
    """Return the columns that old rows in the log must contain."""
    schema = table.found.schema()
    if _needs_all_columns(table, settings):
        return tuple(schema.columns.names)
    return tuple(dict.fromkeys((*schema.primary_key, *table.filtered)))


def _needs_all_columns(table: Captured, settings: Settings) -> bool:
    """Return True if a table needs REPLICA IDENTITY FULL."""
    return settings.full or (settings.reads_log and not table.found.schema().primary_key)
