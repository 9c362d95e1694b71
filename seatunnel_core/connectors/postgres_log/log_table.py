"""Logged tables, with the Arrow types of their columns."""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.postgres_log.messages import Relation
from seatunnel_core.connectors.postgres_log.values.converted import Convert, conversion

Selects = Callable[[tuple[str, ...], str], bool]
"""Function that receives a table path (schema, name) and a column name, and returns True if the column is read."""

IDENTITIES = {"d": "DEFAULT", "f": "FULL", "i": "INDEX", "n": "NOTHING"}
"""Names of replica identities by their codes in the log."""


@frozen(kw_only=True)
class LogColumn:
    """A column of a logged table."""

    name: str
    declared: str
    """Declared type in the server's notation; the base type of a domain."""

    in_identity: bool
    """True if the column belongs to the replica identity and is therefore contained in old rows."""

    arrow: pa.DataType
    """Arrow type, which the ``Jdbc`` source also uses."""

    convert: Convert = field(repr=False, eq=False)
    selected: bool = True
    """True if rows contain the column."""


@frozen(kw_only=True, eq=False)
class LogTable:
    """One schema version of a logged table. A new object is created for each version."""

    oid: int
    namespace: str
    """The schema of the table."""

    name: str
    identity: str
    """Replica identity, which defines the columns of old rows: ``DEFAULT``, ``FULL``, ``INDEX`` or ``NOTHING``."""

    columns: tuple[LogColumn, ...] = field(repr=False)
    schema: pa.Schema = field(repr=False)
    """The selected columns."""

    version: int
    """Number of the schema version since the connection was opened, from 1."""

    fingerprint: str = field(repr=False)
    """Fingerprint of the names and types of the columns. It identifies the schema version."""

    @property
    def key(self) -> tuple[str, ...]:
        """Columns of the replica identity: by default the columns of the primary key; with FULL, all columns."""
        return tuple(column.name for column in self.columns if column.in_identity)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"


def every_column(table: tuple[str, ...], column: str) -> bool:
    """Select every column."""
    return True


def log_table(
    relation: Relation,
    columns: Sequence[Column],
    delimiters: Mapping[str, str],
    version: int,
    selects: Selects = every_column,
) -> LogTable:
    """Return the table that a ``Relation`` message describes.

    ``columns`` have the types of the ``Jdbc`` source; ``delimiters`` contains the array delimiters other than commas.
    """
    path = relation.namespace, relation.name
    found = tuple(
        LogColumn(
            name=column.name,
            declared=column.declared,
            in_identity=logged.in_identity,
            arrow=column.arrow,
            convert=conversion(column.arrow, delimiters.get(column.name, ",")),
            selected=selects(path, column.name),
        )
        for logged, column in zip(relation.columns, columns, strict=True)
    )
    return LogTable(
        oid=relation.oid,
        namespace=relation.namespace,
        name=relation.name,
        identity=IDENTITIES[relation.identity],
        columns=found,
        schema=pa.schema([pa.field(column.name, column.arrow) for column in found if column.selected]),
        version=version,
        fingerprint=", ".join(f'"{column.name.replace(chr(34), chr(34) * 2)}" {column.declared}' for column in found),
    )
