"""Schema growth: existing tables get the columns that rows add, and types that fit the values of rows."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import frozen

from seatunnel_core.config import json_shape
from seatunnel_core.connector_api.option import Option, OptionType
from seatunnel_core.rows.inference.contract import EVOLVE, FREEZE, contract_of


@frozen(kw_only=True)
class TargetContract:
    """Handling of rows that do not fit an existing table."""

    columns: str = FREEZE
    """Handling of columns that the table lacks: ``evolve`` adds them, ``freeze`` raises an error."""

    data_type: str = FREEZE
    """Handling of types that do not fit a column: ``evolve`` widens the column, ``freeze`` raises an error."""

    @property
    def adds(self) -> bool:
        """True if columns are added."""
        return self.columns == EVOLVE

    @property
    def widens(self) -> bool:
        """True if types are widened."""
        return self.data_type == EVOLVE

    @classmethod
    def of(cls, written: Any) -> "TargetContract":
        """Parse a contract: one word for both rules, or a block; raise ``ValueError`` if it is invalid."""
        return contract_of(cls, written, (EVOLVE, FREEZE))


TARGET_CONTRACT = Option(
    "schema_contract",
    OptionType(
        name="word or block",
        parse=TargetContract.of,
        nested=True,
        keys=dict.fromkeys(("columns", "data_type")),
        shape={"anyOf": [json_shape.BLOCK, json_shape.TEXT]},
    ),
    default=TargetContract(),
    doc=(
        "Handling of rows with a column that an existing table lacks (columns), or with a type that the column of the "
        "table cannot store (data_type). freeze: fail before the first row. evolve: add the column, with null in "
        "existing rows, or widen its type if this changes no value; otherwise fail. A single word applies to both."
    ),
)

EXACT = 2**53
"""Largest value up to which a double represents every integer exactly."""

_RANGES: Mapping[pa.DataType, tuple[int, int]] = {
    pa.int8(): (-(2**7), 2**7 - 1),
    pa.int16(): (-(2**15), 2**15 - 1),
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint8(): (0, 2**8 - 1),
    pa.uint16(): (0, 2**16 - 1),
    pa.uint32(): (0, 2**32 - 1),
    pa.uint64(): (0, 2**64 - 1),
}
_MOST_DIGITS = 38
_EXACT_IN_FLOAT = (pa.int8(), pa.int16(), pa.uint8(), pa.uint16())


def wider(held: pa.DataType, come: pa.DataType) -> pa.DataType | None:
    """Return a type that fits the values of both types, if possible ``held``; ``None`` if there is none.

    For a 64-bit integer and a floating-point type, the result is ``double``; the caller must reject integers that would
    change.
    """
    if held == come or of.is_null(come):
        return held
    if of.is_list(held) and of.is_list(come):
        inner = wider(held.value_type, come.value_type)
        return None if inner is None else pa.list_(inner)
    if of.is_struct(held) and of.is_struct(come):
        return _struct(held, come)
    if held in _RANGES and come in _RANGES:
        return _whole(held, come)
    if (held in _RANGES or of.is_decimal(held)) and (come in _RANGES or of.is_decimal(come)):
        return _decimal(held, come)
    if of.is_floating(held) or of.is_floating(come):
        found = _floating(held, come)
        if found is not None:
            return found
    if of.is_date32(held) and of.is_timestamp(come) and come.tz is None:
        return come
    if of.is_timestamp(held) and held.tz is None and of.is_date32(come):
        return held
    if of.is_string(held):
        return held if _has_a_text(come) or of.is_timestamp(come) or of.is_time(come) else None
    return pa.string() if of.is_string(come) and _has_a_text(held) else None


def _struct(held: pa.DataType, come: pa.DataType) -> pa.DataType | None:
    """Return the struct with the fields of ``held``, followed by the other fields of ``come``."""
    arrives = {part.name: part.type for part in come}
    fields = {part.name: wider(part.type, arrives.get(part.name, part.type)) for part in held}
    fields |= {name: kind for name, kind in arrives.items() if name not in fields}
    return None if None in fields.values() else pa.struct(list(fields.items()))


def _whole(held: pa.DataType, come: pa.DataType) -> pa.DataType | None:
    low = min(_RANGES[held][0], _RANGES[come][0])
    high = max(_RANGES[held][1], _RANGES[come][1])
    for kind in (held, come, pa.int16(), pa.int32(), pa.int64()):
        if _RANGES[kind][0] <= low and high <= _RANGES[kind][1]:
            return kind
    return None


def _decimal(held: pa.DataType, come: pa.DataType) -> pa.DataType | None:
    (whole, scale), (other_whole, other_scale) = _digits(held), _digits(come)
    if other_whole <= whole and other_scale <= scale:
        return held
    scale = max(scale, other_scale)
    precision = max(whole, other_whole) + scale
    return pa.decimal128(precision, scale) if precision <= _MOST_DIGITS else None


def _digits(kind: pa.DataType) -> tuple[int, int]:
    """Return the number of digits of a type before and after the decimal point."""
    if kind in _RANGES:
        return len(str(_RANGES[kind][1])), 0
    return kind.precision - kind.scale, kind.scale


def _floating(held: pa.DataType, come: pa.DataType) -> pa.DataType | None:
    """Return the common floating-point type; ``None`` if a type is neither a floating-point nor an integer type."""
    if not all(of.is_floating(kind) or kind in _RANGES for kind in (held, come)):
        return None
    if of.is_float64(held):
        return held
    small = all(of.is_float32(kind) or of.is_float16(kind) or kind in _EXACT_IN_FLOAT for kind in (held, come))
    return pa.float32() if small else pa.float64()


def _has_a_text(kind: pa.DataType) -> bool:
    """Return True if each value of a type has exactly one string form."""
    return bool(
        of.is_boolean(kind) or kind in _RANGES or of.is_decimal(kind) or of.is_floating(kind) or of.is_date32(kind)
    )
