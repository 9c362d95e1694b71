"""``catalog_table_rule``: the columns and keys that a job expects of a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.config.option import LIST, STRING, Keys
from seatunnel_core.connectors.assertion.expected import expected_name, expected_type, fits
from seatunnel_core.errors import RuleError
from seatunnel_core.rows.batch import ConstraintKey, TableSchema
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
"""Keys of a rule, and those of the metadata of a column."""


@frozen(kw_only=True)
class ColumnRule:
    """The rule for one column; a field that is ``None`` is not checked."""

    name: str
    type: pa.DataType | None = None
    nullable: bool | None = None
    said: Mapping[str, str] = field(factory=dict)
    """The expected ``comment``, ``length`` and ``default``, as texts; ``""`` stands for none."""

    def held(self, column: pa.Field) -> bool:
        """Return whether a column satisfies the rule."""
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
class CatalogRule:
    """The rule for a table; a field that is ``None`` is not checked."""

    table: str | None = None
    """The whole name of the table."""

    names_catalog: bool = False
    """Whether the rule names a catalog, which tables of this engine do not have."""

    primary_key: tuple[str, ...] | None = None
    constraint_keys: tuple[ConstraintKey, ...] | None = None
    """All keys, in any order."""

    columns: tuple[ColumnRule, ...] | None = None
    """All columns, in order."""

    def check(self, schema: TableSchema) -> None:
        """Raise ``RuleError`` for a table that does not satisfy the rule."""
        if self.table is not None and schema.table != self.table:
            raise RuleError(f"Assert: a table {schema.table} came, expected is {self.table}")
        if self.primary_key is not None and schema.primary_key != self.primary_key:
            raise RuleError(
                f"Assert: the primary key of table {schema.table} is {list(schema.primary_key)}, expected "
                f"{list(self.primary_key)}"
            )
        if self.constraint_keys is not None and set(schema.constraint_keys) != set(self.constraint_keys):
            raise RuleError(
                f"Assert: the keys of table {schema.table} are {_keys(schema.constraint_keys)}; expected "
                f"{_keys(self.constraint_keys)}"
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


def catalog_rule(rule: Mapping[str, Any]) -> CatalogRule:
    """Return the rule for the value of ``catalog_table_rule``.

    Raises:
        ValueError: A part is missing or not understood.
    """
    key = None
    if rule.get("primary_key_rule") is not None:
        key = rule["primary_key_rule"].get("primary_key_columns")
        if key is None:
            raise ValueError("primary_key_rule needs primary_key_columns")
    constraints, columns = rule.get("constraint_key_rule"), rule.get("column_rule")
    identifier = rule.get("table_identifier_rule") or {}
    return CatalogRule(
        table=None if identifier.get("table") is None else str(identifier["table"]),
        names_catalog=identifier.get("catalog_name") is not None,
        primary_key=None if key is None else LIST(STRING).parse(key),
        constraint_keys=None if constraints is None else tuple(map(_constraint_key, constraints)),
        columns=None if columns is None else tuple(map(_column_rule, columns)),
    )


def _constraint_key(rule: Mapping[str, Any]) -> ConstraintKey:
    """Return the rule for a key; ``constraint_key_sort_type`` is ignored, as tables of this engine do not have it."""
    if not rule.get("constraint_key_name") or not rule.get("constraint_key_columns"):
        raise ValueError("each of constraint_key_rule needs a constraint_key_name and constraint_key_columns")
    for column in rule["constraint_key_columns"]:
        if "constraint_key_column_name" not in column:
            raise ValueError("each of constraint_key_columns needs a constraint_key_column_name")
    return ConstraintKey(
        name=str(rule["constraint_key_name"]),
        kind=str(rule.get("constraint_key_type") or "KEY").upper(),
        columns=tuple(str(column["constraint_key_column_name"]) for column in rule["constraint_key_columns"]),
    )


def _column_rule(rule: Mapping[str, Any]) -> ColumnRule:
    return ColumnRule(
        name=str(rule["name"]),
        type=expected_type(rule["type"]) if "type" in rule else None,
        nullable=rule.get("nullable"),
        said={key: text_of(rule[written]) for written, key in _SAID.items() if rule.get(written) is not None},
    )


def _keys(keys: tuple[ConstraintKey, ...]) -> str:
    return ", ".join(f"{key.kind} {key.name} ({', '.join(key.columns)})" for key in keys) or "none"


def _as_rule(column: pa.Field, wanted: Sequence[ColumnRule]) -> ColumnRule:
    """Return a column as a rule, with the fields that any of the wanted rules has."""
    return ColumnRule(
        name=column.name,
        type=column.type,
        nullable=column.nullable if any(rule.nullable is not None for rule in wanted) else None,
        said={key: _said(column, key) for key in _SAID.values() if any(key in rule.said for rule in wanted)},
    )


def _said(column: pa.Field, key: str) -> str:
    text: bytes = (column.metadata or {}).get(key.encode(), b"")
    return text.decode()
