"""Publications, which define the tables and operations that a server sends."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from seatunnel_core.connectors.postgres_log.errors import LogServerError, PublicationError
from seatunnel_core.connectors.postgres_log.sql_connection import quoted_name, run

_PUBLICATION = """
SELECT puballtables, pubinsert, pubupdate, pubdelete, pubtruncate,
       coalesce((to_jsonb(p) ->> 'pubviaroot')::boolean, false)
  FROM pg_catalog.pg_publication p WHERE pubname = %s
"""
_TABLES = """
SELECT schemaname::text, tablename::text, to_jsonb(t) -> 'attnames', to_jsonb(t) ->> 'rowfilter'
  FROM pg_catalog.pg_publication_tables t WHERE pubname = %s ORDER BY 1, 2
"""
_IDENTITIES = """
SELECT c.relreplident::text, EXISTS (SELECT 1 FROM pg_catalog.pg_index i WHERE i.indrelid = c.oid AND (
         CASE c.relreplident WHEN 'd' THEN i.indisprimary ELSE i.indisreplident END) AND i.indisvalid
          AND i.indimmediate),
       c.relkind::text, c.relpersistence::text, ARRAY(SELECT i.inhrelid::regclass::text FROM pg_catalog.pg_inherits i
         WHERE i.inhparent = c.oid AND c.relkind = 'r' ORDER BY 1)
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""

_WITH_ROOTS = 13_00_00
"""First PostgreSQL version that can publish partitioned tables."""

TableName = tuple[str, str]
"""Schema and name of a table."""


@frozen(kw_only=True)
class PublishedTable:
    """A table of a publication."""

    columns: tuple[str, ...] | None
    """Published columns; ``None`` if the server does not list them (before PostgreSQL 15)."""

    row_filter: str | None
    """Condition that published rows satisfy; ``None`` for all rows."""


@frozen(kw_only=True)
class Publication:
    """A publication as described by the server."""

    name: str
    all_tables: bool
    operations: frozenset[str]
    """Published operations: a subset of ``insert``, ``update``, ``delete`` and ``truncate``."""

    via_root: bool
    """True if changes of partitions are published as changes of the partitioned table."""

    tables: Mapping[TableName, PublishedTable] = field(repr=False)


def publication(connection: Any, name: str) -> Publication | None:
    """Return a publication; ``None`` if it does not exist."""
    found = run(connection, _PUBLICATION, (name,))
    if not found:
        return None
    every, *published, via_root = found[0]
    names = ("insert", "update", "delete", "truncate")
    tables = {
        (schema, table): PublishedTable(columns=None if columns is None else tuple(columns), row_filter=condition)
        for schema, table, columns, condition in run(connection, _TABLES, (name,))
    }
    return Publication(
        name=name,
        all_tables=every,
        operations=frozenset(each for each, yes in zip(names, published, strict=True) if yes),
        via_root=via_root,
        tables=tables,
    )


def create_publication(
    connection: Any,
    name: str,
    tables: Sequence[TableName] | None,
    *,
    columns: Mapping[TableName, Sequence[str]] | None = None,
    row_filters: Mapping[TableName, str] | None = None,
    via_root: bool = True,
) -> None:
    """Create a publication for all operations.

    Args:
        connection: A psycopg connection in autocommit mode.
        name: Name of the publication.
        tables: Tables to publish; ``None`` for all tables, which requires a superuser.
        columns: Published columns by table, for tables that are not published completely; from PostgreSQL 15 on.
        row_filters: Conditions in SQL by table; from PostgreSQL 15 on.
        via_root: True to publish changes of partitions as changes of the partitioned table; from PostgreSQL 13 on.

    Raises:
        PublicationError: The server rejects the statement.
    """
    listed = "" if not tables else f" FOR TABLE {_listed(tables, columns or {}, row_filters or {})}"
    of = " FOR ALL TABLES" if tables is None else listed
    knows_roots = connection.info.server_version >= _WITH_ROOTS
    root = " WITH (publish_via_partition_root = true)" if via_root and knows_roots else ""
    _change(connection, f"CREATE PUBLICATION {quoted_name(name)}{of}{root}")


def add_tables(
    connection: Any,
    name: str,
    tables: Sequence[TableName],
    *,
    columns: Mapping[TableName, Sequence[str]] | None = None,
    row_filters: Mapping[TableName, str] | None = None,
) -> None:
    """Add tables to a publication. The arguments are the same as for ``create_publication``.

    Raises:
        PublicationError: The server rejects the statement.
    """
    listed = _listed(tables, columns or {}, row_filters or {})
    _change(connection, f"ALTER PUBLICATION {quoted_name(name)} ADD TABLE {listed}")


def remove_tables(connection: Any, name: str, tables: Sequence[TableName]) -> None:
    """Remove tables from a publication.

    Raises:
        PublicationError: The server rejects the statement.
    """
    _change(connection, f"ALTER PUBLICATION {quoted_name(name)} DROP TABLE {_listed(tables, {}, {})}")


def drop_publication(connection: Any, name: str) -> None:
    """Drop a publication, if it exists.

    Raises:
        PublicationError: The server rejects the statement.
    """
    _change(connection, f"DROP PUBLICATION IF EXISTS {quoted_name(name)}")


def capture_problems(connection: Any, names: Sequence[str], tables: Sequence[TableName]) -> list[str]:
    """Return the reasons why publications do not send all changes of tables, with remedies; empty if they send all."""
    found = {name: publication(connection, name) for name in names}
    problems = [
        f"the publication {name} does not exist; run CREATE PUBLICATION {quoted_name(name)} FOR TABLE "
        f"{_listed(tables, {}, {})}"
        for name, each in found.items()
        if each is None
    ]
    present = [each for each in found.values() if each is not None]
    for table in tables:
        problems += _of_publications(present, table)
        problems += _of_identity(connection, table)
    return problems


def _of_publications(present: Sequence[Publication], table: TableName) -> list[str]:
    having = [each for each in present if table in each.tables]
    if not having:
        if not present:
            return []
        added = f"ALTER PUBLICATION {quoted_name(present[0].name)} ADD TABLE {_quoted(table)}"
        return [f"the table {'.'.join(table)} is not in any of the publications; run {added}"]
    operations = frozenset[str]().union(*(each.operations for each in having))
    missing = sorted({"insert", "update", "delete", "truncate"} - operations)
    if not missing:
        return []
    changed = f"ALTER PUBLICATION {quoted_name(having[0].name)} SET (publish = 'insert, update, delete, truncate')"
    return [f"the publication {having[0].name} does not publish {' and '.join(missing)}; run {changed}"]


def _of_identity(connection: Any, table: TableName) -> list[str]:
    found = run(connection, _IDENTITIES, table)
    shown = ".".join(table)
    if not found:
        return [f"the table {shown} does not exist"]
    identity, has_index, kind, persistence, children = found[0]
    if kind not in ("r", "p"):
        return [f"{shown} is not a table; its changes are not in the log"]
    if persistence != "p":
        return [f"the table {shown} is unlogged or temporary; run ALTER TABLE {_quoted(table)} SET LOGGED"]
    if children:
        return [
            f"the table {shown} includes the rows of the tables that inherit from it ({', '.join(children)}), but "
            "the log records changes of those rows under the names of these tables; capture these tables instead, "
            f"or run ALTER TABLE {children[0]} NO INHERIT {_quoted(table)}"
        ]
    if identity == "f" or (identity in "di" and has_index):
        return []
    return [
        f"updates and deletes of {shown} cannot be published, because the table has no replica identity (DEFERRABLE "
        f"keys are not used); add a primary key, or run ALTER TABLE {_quoted(table)} REPLICA IDENTITY FULL"
    ]


def _listed(
    tables: Sequence[TableName], columns: Mapping[TableName, Sequence[str]], filters: Mapping[TableName, str]
) -> str:
    return ", ".join(
        _quoted(table)
        + (f" ({', '.join(map(quoted_name, columns[table]))})" if table in columns else "")
        + (f" WHERE ({filters[table]})" if table in filters else "")
        for table in tables
    )


def _quoted(table: TableName) -> str:
    return ".".join(map(quoted_name, table))


def _change(connection: Any, statement: str) -> None:
    try:
        run(connection, statement)
    except LogServerError as error:
        raise PublicationError(f"{statement}: {error}") from None
