"""Literals of a statement: strings, numbers and bytes."""

import decimal

import pyarrow as pa
from attrs import evolve
from sqlglot import exp

from seatunnel_core.transforms.sql.dialect import place
from seatunnel_core.transforms.sql.value import BIGINT, BYTES, INT, STRING, SqlError, Value, constant, exact_number


def literal(node: exp.Expression) -> Value:
    """Compile a string or number literal."""
    return constant(pa.scalar(node.this, STRING)) if node.args["is_string"] else number(node.this)


def hexadecimal(node: exp.Expression) -> Value:
    """Compile ``X'…'``, which sqlglot keeps as a number or as the original digits."""
    text = str(node.this)
    try:
        return constant(pa.scalar(bytes.fromhex(text), BYTES))
    except ValueError:
        raise SqlError(f"Sql: {place(node)}: X'{text}' must consist of pairs of hexadecimal digits") from None


def number(text: str) -> Value:
    """Return a number literal: an integer, or a double if it has a decimal point or an exponent."""
    if text.lstrip("-").isdigit():
        whole = int(text)
        for kind in (INT, BIGINT):
            if -(2 ** (kind.bit_width - 1)) <= whole < 2 ** (kind.bit_width - 1):
                return constant(pa.scalar(whole, kind))
        exact = _exact(text)
        if exact is None:
            raise SqlError(f"Sql: {text} has more than 38 digits")
        return constant(exact)
    return evolve(constant(pa.scalar(float(text))), written=_exact(text))


def _exact(text: str) -> pa.Scalar | None:
    """Return a number with all its digits as written; ``None`` if there are more than 38."""
    value = decimal.Decimal(text)
    _, figures, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(figures) + max(exponent, 0), scale)
    return pa.scalar(value, exact_number(precision, scale)) if max(precision, scale) <= 38 else None
