"""Entries of captured tables in a publication. The log contains no message when an entry is removed."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.errors import SourceChangedError
from seatunnel_core.connectors.postgres_cdc.catalog_tables import require_same_table
from seatunnel_core.connectors.postgres_cdc.tables import Captured
from seatunnel_core.connectors.postgres_log.publications import TableName
from seatunnel_core.connectors.postgres_log.sql_connection import run

_WITH_SCHEMAS = 15_00_00
"""First PostgreSQL version with publications of whole schemas."""

_TABLES = """
WITH RECURSIVE tree AS (
  SELECT wanted.number, false AS is_part, c.oid
    FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS wanted (schema_name, table_name, number)
    JOIN pg_catalog.pg_namespace n ON n.nspname = wanted.schema_name
    JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = wanted.table_name
  UNION ALL
  SELECT tree.number, true, i.inhrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid)
SELECT tree.number::int, c.oid::bigint, CASE WHEN NOT tree.is_part THEN
         c.relpersistence::text || ' ' || p.oid::text || ' ' || p.xmin::text || ' ' || coalesce(
           (SELECT r.oid::text FROM pg_catalog.pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = c.oid),
           {schemas} CASE WHEN p.puballtables THEN 'all' END) END,
       c.oid::regclass::text, c.relreplident::text, coalesce(k.primary_key, '{{}}'), coalesce(k.identity, '{{}}')
  FROM tree
  JOIN pg_catalog.pg_class c ON c.oid = tree.oid
  LEFT JOIN pg_catalog.pg_publication p ON p.pubname = %s
  LEFT JOIN LATERAL (
    SELECT array_agg(a.attname::text) FILTER (WHERE i.indisprimary) AS primary_key,
           array_agg(a.attname::text) FILTER (WHERE i.indimmediate
             AND CASE c.relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END) AS identity
      FROM pg_catalog.pg_index i
      JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid
       AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
     WHERE i.indrelid = c.oid AND (i.indisprimary OR i.indisreplident)) k ON true
 ORDER BY tree.number, tree.is_part, c.oid
"""
"""Query for the entries of tables, and for the replica identities of tables and their partitions, which the server all
uses. It takes one query for all tables, because it runs before each range of the log.
"""

_SCHEMAS = """
           (SELECT s.oid::text FROM pg_catalog.pg_publication_namespace s
             WHERE s.pnpubid = p.oid AND s.pnnspid = c.relnamespace),"""


@frozen
class ReplicaIdentity:
    """Replica identity of a table or of a partition."""

    name: str
    """Quoted name of the table or partition."""

    code: str
    """Code in the catalog; ``f`` for FULL."""

    columns: tuple[str, ...]
    """Columns of the index that old rows contain, in any order; empty for FULL."""


@frozen(kw_only=True)
class PublishedTable:
    """A table with its entry in a publication."""

    oid: int
    """Object ID of the table. It changes when the table is dropped and recreated."""

    entry: str
    """Fingerprint of the entry; empty if there is none. It changes with every change to the publication."""

    key: tuple[str, ...] = ()
    """Columns of the primary key, in any order. Not recorded."""

    identities: tuple[ReplicaIdentity, ...] = ()
    """Replica identities of the table, which is first, and of its partitions. Not recorded."""

    def record(self) -> list[Any]:
        """Return the table as JSON values."""
        return [self.oid, self.entry]


def published_tables(
    connection: Any, publication: str, tables: Sequence[TableName]
) -> Mapping[TableName, PublishedTable]:
    """Return the entries and identities of the tables. Tables that do not exist are omitted."""
    schemas = _SCHEMAS if connection.info.server_version >= _WITH_SCHEMAS else ""
    values = ([schema for schema, _ in tables], [name for _, name in tables], publication)
    rows = run(connection, _TABLES.format(schemas=schemas), values)
    found = {}
    for number, group in groupby(rows, itemgetter(0)):
        each = [*group]
        _, oid, entry, _, _, key, _ = each[0]
        identities = tuple(ReplicaIdentity(name, code, tuple(columns)) for *_, name, code, _, columns in each)
        found[tables[number - 1]] = PublishedTable(oid=oid, entry=entry or "", key=tuple(key), identities=identities)
    return found


def entries_of(connection: Any, publication: str, tables: Sequence[Captured]) -> tuple[PublishedTable, ...]:
    """Return the publication entries of the captured tables, in their order.

    Raises:
        SourceChangedError: A table was dropped, or replaced by another one with its name, since it was described.
    """
    found = published_tables(connection, publication, [table.path for table in tables])
    if dropped := [table.name for table in tables if table.path not in found]:
        raise _dropped(dropped[0])
    entries = tuple(found[table.path] for table in tables)
    require_same_tables(tables, entries)
    return entries


def require_same_tables(tables: Sequence[Captured], published: Sequence[PublishedTable]) -> None:
    """Check that the described tables are those with the given publication entries.

    Args:
        tables: The captured tables.
        published: Their publication entries, in the same order; empty if the log is not read.

    Raises:
        SourceChangedError: A table was replaced by another one with its name.
    """
    for table, each in zip(tables, published, strict=False):
        require_same_table(table.name, each.oid, table.oid)


def require_published(
    publication: str,
    known: Sequence[tuple[TableName, PublishedTable]],
    found: Mapping[TableName, PublishedTable],
    keys: Mapping[TableName, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Check that the publication has published all tables since the job started, with the same primary keys.

    The log does not contain the primary key of a table with ``REPLICA IDENTITY FULL``.

    Args:
        publication: Name of the publication.
        known: The tables when the job started.
        found: The current tables.
        keys: Primary keys that the job uses, except for tables with a configured key or without a key.

    Raises:
        SourceChangedError: A table was dropped, renamed or recreated, or has another primary key, or its entry in the
            publication was changed.
    """
    for table, before in known:
        now, shown = found.get(table), ".".join(table)
        if now is None:
            raise _dropped(shown)
        require_same_table(shown, now.oid, before.oid)
        if (key := keys.get(table)) is not None and set(now.key) != set(key):
            raise SourceChangedError(
                f"the key of the table {shown} has changed since the job started, from {', '.join(key) or 'none'} to "
                f"{', '.join(now.key) or 'none'}. Start a new job"
            )
        if not now.entry or now.entry != before.entry:
            raise SourceChangedError(
                f"the publication {publication} was changed since the job started, so changes of {shown} may be "
                "missing. Start a new job"
            )


def _dropped(table: str) -> SourceChangedError:
    return SourceChangedError(
        f"the table {table} was dropped or renamed, so its changes are no longer captured. Start a new job"
    )
