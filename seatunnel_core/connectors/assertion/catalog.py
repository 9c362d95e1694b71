"""``catalog_table_rule``: the columns and keys that a job expects a table to have."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.config.option import Keys
from seatunnel_core.connector_api.batch import ConstraintKey, TableSchema
from seatunnel_core.connector_api.errors import RuleError
from seatunnel_core.connector_api.option import LIST, STRING
from seatunnel_core.connectors.assertion.blocks import blocks_of
from seatunnel_core.connectors.assertion.expected import expected_name, expected_type, fits
from seatunnel_core.rows.schema_block import text_of

CATALOG_KEYS: Keys = {
    "table_identifier_rule": dict.fromkeys(("catalog_name", "table")),
    "primary_key_rule": dict.fromkeys(("primary_key_name", "primary_key_columns")),
    "constraint_key_rule": {
        **dict.fromkeys(("constraint_key_name", "constraint_key_type")),
        "constraint_key_columns": dict.fromkeys(("constraint_key_column_name", "constraint_key_sort_type")),
    },
    "column_rule": dict.fromkeys(("name", "type", "nullable", "comment", "column_length", "default_value")),
}
_SAID = {"comment": "comment", "column_length": "length", "default_value": "default"}
"""Keys of a rule, mapped to the corresponding keys of column metadata."""


@frozen(kw_only=True)
class ColumnRule:
    """Rule for one column. A field with ``None`` is not checked."""

    name: str
    type: pa.DataType | None = None
    nullable: bool | None = None
    said: Mapping[str, str] = field(factory=dict)
    """Expected ``comment``, ``length`` and ``default`` as strings; ``""`` if none is expected."""

    def held(self, column: pa.Field) -> bool:
        """Return True if a column conforms to the rule."""
        return (
            column.name == self.name
            and (self.type is None or fits(column.type, self.type))
            and self.nullable in (None, column.nullable)
            and all(_said(column, key) == wanted for key, wanted in self.said.items())
        )

    def __str__(self) -> str:
        parts = [self.name]
        if self.type is not None:
            parts.append(expected_name(self.type))
        if self.nullable is not None:
            parts.append("null" if self.nullable else "not null")
        parts += [f"{key} {value!r}" for key, value in self.said.items()]
        return " ".join(parts)


@frozen(kw_only=True)
class KeyRule:
    """Rule for one key that is not the primary key."""

    name: str
    kind: str
    columns: tuple[str, ...]
    sort_types: tuple[str | None, ...]
    """Expected order of each column, ``ASC`` or ``DESC``; ``None`` is not checked."""

    @classmethod
    def of(cls, key: ConstraintKey) -> "KeyRule":
        """Return the rule that matches exactly this key."""
        return cls(name=key.name, kind=key.kind, columns=key.columns, sort_types=_sorts(key))

    def held(self, key: ConstraintKey) -> bool:
        """Return True if a key conforms to the rule."""
        sorts = zip(self.sort_types, _sorts(key), strict=False)
        same = (key.name, key.kind, key.columns) == (self.name, self.kind, self.columns)
        return same and all(wanted in (None, found) for wanted, found in sorts)

    def __str__(self) -> str:
        sorted_by = zip(self.columns, self.sort_types, strict=True)
        columns = (f"{column} DESC" if sort == "DESC" else column for column, sort in sorted_by)
        return f"{self.kind} {self.name} ({', '.join(columns)})"


def _sorts(key: ConstraintKey) -> tuple[str, ...]:
    return key.sort_types or ("ASC",) * len(key.columns)


@frozen(kw_only=True)
class CatalogRule:
    """Rule for a table. A field with ``None`` is not checked."""

    table: str | None = None
    """Full name of the table."""

    primary_key: tuple[str, ...] | None = None
    primary_key_name: str | None = None
    constraint_keys: tuple[KeyRule, ...] | None = None
    """All keys except the primary key, in any order."""

    columns: tuple[ColumnRule, ...] | None = None

    def check(self, schema: TableSchema) -> None:
        """Raise RuleError if a table does not satisfy the rule."""
        if self.table is not None and schema.table != self.table:
            raise RuleError(f"Assert: received a table {schema.table}, expected {self.table}")
        if self.primary_key is not None and schema.primary_key != self.primary_key:
            raise RuleError(
                f"Assert: the primary key of table {schema.table} is {list(schema.primary_key)}, expected "
                f"{list(self.primary_key)}"
            )
        if self.primary_key_name is not None:
            self._check_primary_key_name(schema)
        if self.constraint_keys is not None and not _all_held(self.constraint_keys, schema.constraint_keys):
            found = ", ".join(str(KeyRule.of(key)) for key in schema.constraint_keys)
            raise RuleError(
                f"Assert: the keys of table {schema.table} are {found or 'none'}; expected "
                f"{', '.join(map(str, self.constraint_keys)) or 'none'}"
            )
        wanted = self.columns
        if wanted is not None and not (
            len(wanted) == len(schema.columns)
            and all(rule.held(column) for rule, column in zip(wanted, schema.columns, strict=True))
        ):
            found = ", ".join(str(_as_rule(column, wanted)) for column in schema.columns)
            raise RuleError(
                f"Assert: the columns of table {schema.table} are {found}; expected {', '.join(map(str, wanted))}"
            )

    def _check_primary_key_name(self, schema: TableSchema) -> None:
        if not schema.primary_key:
            raise RuleError(
                f"Assert: table {schema.table} has no primary key, expected a primary key with the name "
                f"{self.primary_key_name!r}"
            )
        if schema.primary_key_name is None:
            raise RuleError(
                f"Assert: the source does not report the name of the primary key of table {schema.table}, so "
                f"primary_key_name = {self.primary_key_name!r} cannot be compared. Remove primary_key_name, or "
                "declare the name in the source: schema { primaryKey { name = … } }"
            )
        if schema.primary_key_name != self.primary_key_name:
            raise RuleError(
                f"Assert: the primary key of table {schema.table} has the name {schema.primary_key_name!r}, expected "
                f"{self.primary_key_name!r}"
            )


def _all_held(wanted: Sequence[KeyRule], found: Sequence[ConstraintKey]) -> bool:
    by_name = {key.name: key for key in found}
    held = all(rule.name in by_name and rule.held(by_name[rule.name]) for rule in wanted)
    return held and {rule.name for rule in wanted} == by_name.keys() and len(wanted) == len(found)


def catalog_rule(rule: Mapping[str, Any]) -> CatalogRule:
    """Return the rule for the value of ``catalog_table_rule``."""
    key = name = None
    if rule.get("primary_key_rule") is not None:
        key = rule["primary_key_rule"].get("primary_key_columns")
        name = rule["primary_key_rule"].get("primary_key_name")
        if key is None and name is None:
            raise ValueError("primary_key_rule needs primary_key_columns or primary_key_name")
    constraints, columns = (
        None if rule.get(part) is None else blocks_of(rule, part) for part in ("constraint_key_rule", "column_rule")
    )
    identifier = rule.get("table_identifier_rule") or {}
    if identifier.get("catalog_name") is not None:
        raise ValueError(
            "table_identifier_rule: catalog_name cannot be compared, because tables of this engine are not in a "
            "catalog. Remove catalog_name; the key table compares the name of the table"
        )
    return CatalogRule(
        table=None if identifier.get("table") is None else str(identifier["table"]),
        primary_key=None if key is None else LIST(STRING).parse(key),
        primary_key_name=None if name is None else str(name),
        constraint_keys=None if constraints is None else tuple(map(_constraint_key, constraints)),
        columns=None if columns is None else tuple(map(_column_rule, columns)),
    )


def _constraint_key(rule: Mapping[str, Any]) -> KeyRule:
    if not rule.get("constraint_key_name") or not rule.get("constraint_key_columns"):
        raise ValueError("each entry of constraint_key_rule needs constraint_key_name and constraint_key_columns")
    columns = blocks_of(rule, "constraint_key_columns")
    for column in columns:
        if "constraint_key_column_name" not in column:
            raise ValueError("each entry of constraint_key_columns needs constraint_key_column_name")
    sorts = tuple(column.get("constraint_key_sort_type") for column in columns)
    return KeyRule(
        name=str(rule["constraint_key_name"]),
        kind=str(rule.get("constraint_key_type") or "KEY").upper(),
        columns=tuple(str(column["constraint_key_column_name"]) for column in columns),
        sort_types=tuple(None if sort is None else str(sort).upper() for sort in sorts),
    )


def _column_rule(rule: Mapping[str, Any]) -> ColumnRule:
    if "name" not in rule:
        raise ValueError("each entry of column_rule needs name")
    return ColumnRule(
        name=str(rule["name"]),
        type=expected_type(rule["type"]) if "type" in rule else None,
        nullable=rule.get("nullable"),
        said={key: text_of(rule[written]) for written, key in _SAID.items() if rule.get(written) is not None},
    )


def _as_rule(column: pa.Field, wanted: Sequence[ColumnRule]) -> ColumnRule:
    """Convert a column to a rule with only the fields that another rule checks, for messages."""
    return ColumnRule(
        name=column.name,
        type=column.type,
        nullable=column.nullable if any(rule.nullable is not None for rule in wanted) else None,
        said={key: _said(column, key) for key in _SAID.values() if any(key in rule.said for rule in wanted)},
    )


def _said(column: pa.Field, key: str) -> str:
    text: bytes = (column.metadata or {}).get(key.encode(), b"")
    return text.decode()
