"""Rules of ``Assert`` about values, types, tables and row counts."""

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import RuleError
from seatunnel_core.connectors.assertion.blocks import blocks_of
from seatunnel_core.connectors.assertion.catalog import CatalogRule, catalog_rule
from seatunnel_core.connectors.assertion.expected import expected_name, expected_type, fits
from seatunnel_core.connectors.assertion.limits import above, below, count, limit
from seatunnel_core.findings import Findings
from seatunnel_core.rows.java_text import java_texts
from seatunnel_core.rows.types import is_text, type_name
from seatunnel_core.rows.value_text import cut, json_text
from seatunnel_core.rows.values import plain

_NO_VALUE = ("NOT_NULL", "NULL")
_OF_NUMBERS = ("MIN", "MAX")
_OF_LENGTHS = ("MIN_LENGTH", "MAX_LENGTH")
_SHOWN = 200
"""Maximum length of a value in a message, in characters."""

_ROW_RULES = ("MIN_ROW", "MAX_ROW")
_OPTION = "option 'rules': "
_NONE: list[Mapping[str, Any]] = []


@frozen(kw_only=True)
class ValueRule:
    """Rule about the values of a column."""

    kind: str | None
    """``NOT_NULL``, ``NULL``, ``MIN``, ``MAX``, ``MIN_LENGTH``, ``MAX_LENGTH``; ``None`` for ``equals_to`` alone."""

    limit: Decimal | None = None
    compares: bool = False
    """True if the rule contains ``equals_to``, which may be null."""

    expected: Any = None

    def check_type(self, kind: pa.DataType) -> None:
        """Raise ``ValueError`` if the rule does not support the type."""
        if self.kind in _OF_NUMBERS and not _is_number(kind):
            raise ValueError(f"{self.kind} compares numbers, but the column is of type {type_name(kind)}")
        if self.kind in _OF_LENGTHS and _lengths(pa.array([], kind)) is None:
            raise ValueError(f"{self.kind} counts characters or bytes, but the column is of type {type_name(kind)}")
        if self.compares:
            try:
                _wanted(self.expected, kind)
            except (ValueError, pa.ArrowException) as error:
                raise ValueError(f"equals_to does not have the type of the column: {error}") from error

    def broken_at(self, values: pa.Array) -> tuple[int, str] | None:
        """Return the index of the first invalid value and the expected value; ``None`` if all are valid."""
        if self.kind is not None:
            found = _first(_broken(self, values))
            if found is not None:
                return found, self.kind if self.limit is None else f"{self.kind} {self.limit}"
        if self.compares:
            found = _first(_different(values, self.expected))
            if found is not None:
                wanted = _wanted(self.expected, values.type)
                return found, f"equals_to {_shown(wanted)}"
        return None


@frozen(kw_only=True)
class FieldRule:
    """Rules about a column."""

    name: str
    type: pa.DataType | None
    values: tuple[ValueRule, ...]

    def check_schema(self, schema: TableSchema) -> None:
        """Raise ``RuleError`` if the column is missing or does not have the expected type."""
        if self.name not in schema.columns.names:
            raise RuleError(
                f"Assert: table {schema.table} has no column {self.name!r}; it has {', '.join(schema.columns.names)}"
            )
        found = schema.columns.field(self.name).type
        if self.type is not None and not fits(found, self.type):
            raise RuleError(
                f"Assert: column {self.name!r} of table {schema.table} is of type {type_name(found)}, expected "
                f"{expected_name(self.type)}"
            )
        for rule in self.values:
            try:
                rule.check_type(found)
            except ValueError as error:
                raise RuleError(f"Assert: column {self.name!r} of table {schema.table}: {error}") from error

    def check(self, table: str, rows: pa.RecordBatch) -> None:
        """Raise RuleError for the first row of a batch that breaks a rule."""
        values = rows.column(self.name)
        for rule in self.values:
            broken = rule.broken_at(values)
            if broken is not None:
                row, wanted = broken
                raise RuleError(
                    f"Assert: column {self.name!r} of table {table}: found {_shown(values[row])}, expected {wanted}"
                )


@frozen(kw_only=True)
class RowRule:
    """Rule about the number of rows."""

    kind: str
    count: int

    def check(self, rows: int, table: str | None) -> None:
        """Raise ``RuleError`` if the number of rows breaks the rule; ``table`` is for the message."""
        if (self.kind == "MIN_ROW" and rows < self.count) or (self.kind == "MAX_ROW" and rows > self.count):
            of = "" if table is None else f" of table {table}"
            raise RuleError(f"Assert: {rows} rows{of}, expected {self.kind} {self.count}")


@frozen(kw_only=True)
class TableRules:
    """Rules for one table or for all tables."""

    table: str | None
    """Name of the table; ``None`` if the rules apply to every table."""

    fields: tuple[FieldRule, ...]
    rows: tuple[RowRule, ...]
    catalog: CatalogRule = CatalogRule()  # noqa: RUF009 - it is frozen

    @property
    def wants_table(self) -> bool:
        """True if the table must exist. For rules about the number of rows, a missing table counts as empty."""
        return self.table is not None and bool(self.fields or self.catalog != CatalogRule())

    def concerns(self, table: str) -> bool:
        """Return True if the rules apply to a table."""
        return self.table is None or self.table == table

    def check_schema(self, schema: TableSchema) -> None:
        """Raise ``RuleError`` if a table breaks a rule about columns or keys."""
        findings = Findings(RuleError)
        for rule in self.fields:
            with findings.part():
                rule.check_schema(schema)
        with findings.part():
            self.catalog.check(schema)
        findings.raise_all()


def table_rules(rules: Mapping[str, Any]) -> tuple[TableRules, ...]:
    """Return the rules in the option ``rules``. Raise a UsageError that lists all invalid parts."""
    findings = Findings()
    found = [_table(rules, None, findings)]
    for each in findings.of(lambda: blocks_of(rules, "tables_configs"), _NONE, _OPTION):
        with findings.part(_OPTION):
            if "table_path" not in each:
                raise ValueError("each entry of rules.tables_configs needs table_path")
            found.append(_table(each, str(each["table_path"]), findings))
    findings.raise_all()
    return tuple(found)


def _table(rules: Mapping[str, Any], table: str | None, findings: Findings) -> TableRules:
    fields, rows, catalog = [], [], CatalogRule()
    for rule in findings.of(lambda: blocks_of(rules, "row_rules"), _NONE, _OPTION):
        with findings.part(_OPTION):
            rows.append(_row_rule(rule))
    for rule in findings.of(lambda: blocks_of(rules, "field_rules"), _NONE, _OPTION):
        with findings.part(_OPTION):
            fields.append(_field_rule(rule, findings))
    with findings.part(_OPTION):
        catalog = catalog_rule(rules.get("catalog_table_rule") or {})
    return TableRules(table=table, fields=tuple(fields), rows=tuple(rows), catalog=catalog)


def _field_rule(rule: Mapping[str, Any], findings: Findings) -> FieldRule:
    if "field_name" not in rule:
        raise ValueError("each entry of rules.field_rules needs field_name")
    name = str(rule["field_name"])
    place = f"{_OPTION}rules.field_rules, field {name!r}: "
    kind = None
    with findings.part(place):
        kind = expected_type(rule["field_type"]) if rule.get("field_type") is not None else None
    values = []
    for each in findings.of(lambda: blocks_of(rule, "field_value"), _NONE, place):
        with findings.part(place):
            values.append(_value_rule(each))
    if kind == pa.null():  # checked with the values, as in SeaTunnel: the column may be of any type
        values.insert(0, ValueRule(kind="NULL"))
    return FieldRule(name=name, type=kind, values=tuple(values))


def _value_rule(rule: Mapping[str, Any]) -> ValueRule:
    kind = str(rule["rule_type"]).upper() if "rule_type" in rule else None
    compares = "equals_to" in rule
    known = (*_NO_VALUE, *_OF_NUMBERS, *_OF_LENGTHS)
    if kind not in known and not (kind is None and compares):
        raise ValueError(f"expected equals_to or one of these values of rule_type: {', '.join(known)}; found {kind}")
    if kind not in (*_OF_NUMBERS, *_OF_LENGTHS) and rule.get("rule_value") is not None:
        raise ValueError(
            f"{kind or 'equals_to'} does not use rule_value: remove rule_value, or set a rule_type that uses it"
        )
    number = None
    if kind in _OF_NUMBERS:
        number = limit(kind, rule.get("rule_value"))
    elif kind in _OF_LENGTHS:
        number = Decimal(count(kind, rule.get("rule_value")))
    return ValueRule(kind=kind, limit=number, compares=compares, expected=rule.get("equals_to"))


def _row_rule(rule: Mapping[str, Any]) -> RowRule:
    kind = str(rule.get("rule_type")).upper()
    if kind not in _ROW_RULES:
        raise ValueError(f"rules.row_rules: expected a rule_type of {' or '.join(_ROW_RULES)}, found {kind}")
    return RowRule(kind=kind, count=count(kind, rule.get("rule_value")))


_BROKEN: Mapping[str, Callable[[pa.Array, Any], pa.Array]] = {
    "NOT_NULL": lambda values, _: pc.is_null(values),
    "NULL": lambda values, _: pc.is_valid(values),
    "MIN": lambda values, limit: pc.fill_null(below(values, limit), True),
    "MAX": lambda values, limit: pc.fill_null(above(values, limit), True),
    "MIN_LENGTH": lambda values, limit: below(_lengths(values), limit),
    "MAX_LENGTH": lambda values, limit: above(_lengths(values), limit),
}


def _broken(rule: ValueRule, values: pa.Array) -> pa.Array:
    """Return a mask of the values that break a rule. As in SeaTunnel, null is not a number and has length 0."""
    assert rule.kind is not None
    return _BROKEN[rule.kind](values, rule.limit)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _lengths(values: pa.Array) -> pa.Array | None:
    """Return the lengths of values in bytes or characters, 0 for null; ``None`` for types without a string form."""
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return pc.fill_null(pc.binary_length(values), 0)
    texts = values if is_text(values.type) else java_texts(values)
    return None if texts is None else pc.fill_null(pc.utf8_length(texts), 0)


def _different(values: pa.Array, expected: Any) -> pa.Array:
    if expected is None:
        return pc.is_valid(values)
    wanted = _wanted(expected, values.type)
    if pa.types.is_nested(values.type):
        value = _sorted_maps(wanted.as_py())
        return pa.array([_sorted_maps(each) != value for each in values.to_pylist()], pa.bool_())
    if pa.types.is_floating(values.type) and math.isnan(wanted.as_py()):
        return pc.fill_null(pc.invert(pc.is_nan(values)), True)
    return pc.fill_null(pc.not_equal(values, wanted), True)


def _wanted(expected: Any, kind: pa.DataType) -> pa.Scalar:
    """Convert the value of ``equals_to`` to a column's type; raise ``ValueError`` or an Arrow error."""
    return pa.array([plain(expected, kind)], kind)[0]


def _shown(value: pa.Scalar) -> str:
    try:
        return cut(json_text(value.as_py(), value.type), _SHOWN)
    except ValueError:  # a map with a repeated key
        return cut(str(value.as_py()), _SHOWN)


def _sorted_maps(value: Any) -> Any:
    """Convert a nested value to a form that ``==`` can compare.

    Maps, which Arrow returns as lists of pairs, are sorted. NaN becomes a string, because it does not equal itself.
    """
    if isinstance(value, dict):
        return {key: _sorted_maps(part) for key, part in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(pair, tuple) for pair in value):
            return sorted(((_sorted_maps(key), _sorted_maps(part)) for key, part in value), key=repr)
        return [_sorted_maps(part) for part in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _first(broken: pa.Array) -> int | None:
    place = pc.index(pc.fill_null(broken, False), True).as_py()
    return None if place < 0 else int(place)
