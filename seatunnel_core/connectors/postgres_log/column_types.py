"""Types of logged columns, the same as in the ``Jdbc`` source."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from attrs import define, field, frozen

from seatunnel_core.connectors.jdbc.column import Column
from seatunnel_core.connectors.jdbc.databases.postgresql_values import column_of, with_typed_array
from seatunnel_core.connectors.postgres_log.errors import UnsupportedLogError
from seatunnel_core.connectors.postgres_log.messages import Relation, RelationColumn, TypeName
from seatunnel_core.connectors.postgres_log.sql_connection import run

_BASE_TYPES = """
WITH RECURSIVE base (n, oid, modifier) AS (
  SELECT n, oid, modifier FROM unnest(%s::oid[], %s::int[]) WITH ORDINALITY AS m (oid, modifier, n)
  UNION ALL
  SELECT b.n, t.typbasetype, t.typtypmod FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.oid WHERE t.typtype = 'd'
)
SELECT b.n - 1, b.modifier, t.typname::text, t.typtype::text, pg_catalog.format_type(t.oid, b.modifier),
       t.typdelim::text
  FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.oid WHERE t.typtype <> 'd'
"""


@frozen(kw_only=True)
class BaseType:
    """Column type, with domains resolved to their underlying type."""

    name: str
    """Catalog name, such as ``int4``, or ``_int4`` for its array type."""

    declared: str
    """Declared type in the server's notation, such as ``numeric(8,2)``."""

    modifier: int
    kind: str = "b"
    """``typtype`` in the catalog."""

    delimiter: str = ","
    """Delimiter of the elements in arrays of this type."""


class TypeCatalog(Protocol):
    """Provider of column types."""

    def base_types(self, columns: Sequence[tuple[int, int]]) -> Sequence[BaseType | None]:
        """Return the types for pairs of a type OID and a modifier; ``None`` for types that do not exist."""


@define
class ServerTypes:
    """Types from the catalog of a server, cached by OID and modifier."""

    _connection: Any
    """A psycopg connection in autocommit mode."""

    _known: dict[tuple[int, int], BaseType] = field(factory=dict, init=False)

    def base_types(self, columns: Sequence[tuple[int, int]]) -> Sequence[BaseType | None]:
        """Return the types for pairs of a type OID and a modifier; ``None`` for types that no longer exist."""
        missing = [each for each in dict.fromkeys(columns) if each not in self._known]
        if missing:
            values = [oid for oid, _ in missing], [modifier for _, modifier in missing]
            for number, modifier, name, kind, declared, delimiter in run(self._connection, _BASE_TYPES, values):
                self._known[missing[number]] = BaseType(
                    name=name, declared=declared, modifier=modifier, kind=kind, delimiter=delimiter
                )
        return [self._known.get(each) for each in columns]


def columns_of(
    relation: Relation, catalog: TypeCatalog, named: Mapping[int, TypeName]
) -> tuple[tuple[Column, ...], Mapping[str, str]]:
    """Return the columns of a relation with the types of the ``Jdbc`` source, and the array delimiters by column.

    Args:
        relation: The relation.
        catalog: Provides the types.
        named: Types described in the log, by OID; used for types that were dropped in the meantime.

    Raises:
        UnsupportedLogError: The type of a column is unknown.
    """
    types = catalog.base_types([(column.type_oid, column.modifier) for column in relation.columns])
    columns, delimiters = [], {}
    for column, known in zip(relation.columns, types, strict=True):
        base = known or _dropped(relation, column, named)
        made = column_of(column.name, base.modifier, base.name, base.kind, base.declared, False)
        columns.append(with_typed_array(made))
        delimiters[column.name] = base.delimiter
    return tuple(columns), delimiters


def _dropped(relation: Relation, column: RelationColumn, named: Mapping[int, TypeName]) -> BaseType:
    """Return a dropped type as described in the log, which does not contain the precision of domains."""
    found = named.get(column.type_oid)
    if found is None or found.name in ("numeric", "_numeric"):
        shown = f"{found.namespace}.{found.name}" if found else f"the type with the oid {column.type_oid}"
        raise UnsupportedLogError(
            f"column {column.name} of {relation.namespace}.{relation.name}: {shown} has been dropped, so its "
            "values cannot be represented; read the table again"
        )
    declared = found.name if found.namespace == "pg_catalog" else f"{found.namespace}.{found.name}"
    return BaseType(name=found.name, declared=declared, modifier=-1, delimiter=";" if found.name == "_box" else ",")
