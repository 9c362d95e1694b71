"""Expected column types. As in SeaTunnel, which compares Java classes, precision and dimensions are ignored."""

from typing import Any

import pyarrow as pa

from seatunnel_core.rows.types import LARGEST_DIMENSION, VECTORS, arrow_type, type_name, vector_name

_ANY = dict.fromkeys(VECTORS, LARGEST_DIMENSION)
"""Placeholder for the dimension of expected vectors that are declared without a dimension."""


def expected_type(declaration: Any) -> pa.DataType:
    """Return the Arrow type for the type in a rule; raise ``ValueError`` if it is invalid."""
    return arrow_type(declaration, _ANY)


def fits(found: pa.DataType, expected: pa.DataType) -> bool:
    """Return True if a column has the expected type.

    For ``null``, every type matches, because only values are checked.
    """
    if found == expected or expected == pa.null():
        return True
    if pa.types.is_decimal(expected):
        return bool(pa.types.is_decimal(found))
    if _of_any_dimension(expected):
        return vector_name(found) == vector_name(expected) or found == pa.list_(expected.value_type)
    return False


def expected_name(expected: pa.DataType) -> str:
    """Return the name of an expected type for messages, without the dimension of vectors."""
    return (vector_name(expected) or "") if _of_any_dimension(expected) else type_name(expected)


def _of_any_dimension(expected: pa.DataType) -> bool:
    name = vector_name(expected)
    return name is not None and expected == arrow_type(name, _ANY)
