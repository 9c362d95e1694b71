"""Tables of the log, with the columns that their rows have in Arrow."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.postgres_log.messages import Relation
from seatunnel_core.connectors.postgres_log.values.converted import Convert, conversion

IDENTITIES = {"d": "DEFAULT", "f": "FULL", "i": "INDEX", "n": "NOTHING"}
"""Names of replica identities by their code in the log."""


@frozen(kw_only=True)
class LogColumn:
    """A column of a table of the log."""

    name: str
    declared: str
    """Its type as the server writes it; of a domain, the base type."""

    in_identity: bool
    """True if old rows have it: a part of the replica identity."""

    arrow: pa.DataType
    """Type in rows: the one that the source ``Jdbc`` reads."""

    convert: Convert = field(repr=False, eq=False)


@frozen(kw_only=True, eq=False)
class LogTable:
    """A table of the log in one shape. Another shape of the same table is another object."""

    oid: int
    namespace: str
    """The schema of the table."""

    name: str
    identity: str
    """``DEFAULT``, ``FULL``, ``INDEX`` or ``NOTHING``: which columns old rows have."""

    columns: tuple[LogColumn, ...] = field(repr=False)
    schema: pa.Schema = field(repr=False)
    version: int
    """Number of the shape of the table since the connection was opened, from 1."""

    fingerprint: str = field(repr=False)
    """String that differs for other shapes of the table: names and types of its columns."""

    @property
    def key(self) -> tuple[str, ...]:
        """Columns of the replica identity: of the primary key by default. All columns with FULL."""
        return tuple(column.name for column in self.columns if column.in_identity)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"


def log_table(relation: Relation, columns: Sequence[Column], delimiters: Mapping[str, str], version: int) -> LogTable:
    """Return the table for a message ``Relation``.

    Args:
        relation: The message.
        columns: Its columns as the source ``Jdbc`` reads them.
        delimiters: Characters between elements of arrays by column, unless it is a comma.
        version: Number of the shape.
    """
    found = tuple(
        LogColumn(
            name=column.name,
            declared=column.declared,
            in_identity=logged.in_identity,
            arrow=column.arrow,
            convert=conversion(column.arrow, delimiters.get(column.name, ",")),
        )
        for logged, column in zip(relation.columns, columns, strict=True)
    )
    return LogTable(
        oid=relation.oid,
        namespace=relation.namespace,
        name=relation.name,
        identity=IDENTITIES[relation.identity],
        columns=found,
        schema=pa.schema([pa.field(column.name, column.arrow) for column in found]),
        version=version,
        fingerprint=", ".join(f'"{column.name.replace(chr(34), chr(34) * 2)}" {column.declared}' for column in found),
    )
