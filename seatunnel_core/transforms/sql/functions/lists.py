"""Functions for arrays, maps and vectors, and LATERAL VIEW EXPLODE."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.rows.columns import put_fields
from seatunnel_core.transforms.sql.call import MANY, Call, function
from seatunnel_core.transforms.sql.casts import exactly
from seatunnel_core.transforms.sql.engine_function import by_row, rows
from seatunnel_core.transforms.sql.kinds import common
from seatunnel_core.transforms.sql.value import DOUBLE, INT, NULL, STRING, SqlError, Value, among, is_list, is_simple


@function("ARRAY", least=0, most=MANY)
def array(call: Call) -> Value:
    """Compile ARRAY with the common type of its arguments; if there are no arguments, an array of strings."""
    kind = NULL
    for each in among(call.args):
        kind = common(kind, each.type, call.at)
    kind = STRING if kind == NULL else kind
    values = [exactly(call.functions, each, kind, call.what) for each in call.args]
    sql = f"make_array({', '.join(each.sql for each in values)})"
    return Value(sql=sql, type=pa.list_(kind), fails=any(each.fails for each in values))


@function("MAP", least=2, most=MANY)
def map_of(call: Call) -> Value:
    """Compile MAP of alternating keys and values; if a key is duplicated, its last value applies."""
    if len(call.args) % 2:
        raise SqlError(
            f"Sql: {call.what}: argument {len(call.args)} is a key without a value; use MAP(key, value, key, value …)"
        )
    keys, values = (_of_one_type(call, first) for first in (0, 1))
    if keys[0].type == NULL:
        raise SqlError(f"Sql: {call.what}: a key of a map must not be NULL")
    kind = pa.map_(keys[0].type, values[0].type)
    return call.make(lambda *columns: pa.array(map(_pairs, rows(columns)), kind), kind, [*keys, *values])


def _of_one_type(call: Call, first: int) -> list[Value]:
    """Return every second argument from ``first`` on, converted to the common type of these arguments."""
    kind = NULL
    chosen = among(call.args[first::2])
    for each in chosen:
        kind = common(kind, each.type, call.at)
    return [exactly(call.functions, each, kind, call.what) for each in chosen]


def _pairs(row: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    half = len(row) // 2
    if None in row[:half]:
        raise ValueError("a key is null")
    return list(dict(zip(row[:half], row[half:], strict=True)).items())


function("ARRAY_MAX")(lambda call: _extreme(call, max))
function("ARRAY_MIN")(lambda call: _extreme(call, min))


def _extreme(call: Call, chosen: Callable[..., Any]) -> Value:
    """Compile a call that returns the largest or smallest non-null element of a list."""
    kind = call.args[0].type
    if not is_list(kind) or not is_simple(kind.value_type):
        raise call.wrong(0, "an array")
    order = _java_order if pa.types.is_floating(kind.value_type) else None

    def of_row(items: list[Any]) -> Any:
        return chosen((each for each in items if each is not None), default=None, key=order)

    return call.make(by_row(of_row, kind.value_type), kind.value_type, fails=False)


def _java_order(number: float) -> tuple[bool, float, float]:
    """Return a sort key with the order of ``Double.compare``: NaN above all others, -0.0 below 0.0."""
    if math.isnan(number):
        return True, 0.0, 0.0
    return False, number, math.copysign(1.0, number)


def _vectors(name: str, compute: Callable[..., Any], kind: pa.DataType, arguments: int) -> None:
    def make(call: Call) -> Value:
        for at in range(arguments):
            _check_vector(call, at)

        def of_row(*vectors: Any) -> Any:
            if len({len(each) for each in vectors}) > 1:
                raise ValueError("two vectors must have the same dimension")
            return compute(*map(_numbers, vectors))

        return call.make(by_row(of_row, kind), kind)

    function(name, least=arguments)(make)


def _check_vector(call: Call, at: int) -> None:
    kind = call.args[at].type
    if not is_list(kind) or not pa.types.is_floating(kind.value_type):
        raise call.wrong(at, "a vector of numbers")


def _numbers(vector: list[float | None]) -> Any:
    if None in vector:
        raise ValueError("a vector must not contain nulls")
    return np.asarray(vector, dtype="float64")


def _cosine_distance(one: Any, other: Any) -> float:
    """Return the cosine distance. A zero vector has no direction; its distance from any vector is 1."""
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return 1.0 - float(one @ other) / length if length else 1.0


_vectors("COSINE_DISTANCE", _cosine_distance, DOUBLE, 2)
_vectors("L1_DISTANCE", lambda one, other: float(np.abs(one - other).sum()), DOUBLE, 2)
_vectors("L2_DISTANCE", lambda one, other: float(np.linalg.norm(one - other)), DOUBLE, 2)
_vectors("INNER_PRODUCT", lambda one, other: float(one @ other), DOUBLE, 2)
_vectors("VECTOR_NORM", lambda one: float(np.linalg.norm(one)), DOUBLE, 1)
_vectors("VECTOR_DIMS", len, INT, 1)


@function("VECTOR_NORMALIZE")
def vector_normalize(call: Call) -> Value:
    """Compile VECTOR_NORMALIZE: the vector of length 1 in the same direction; a zero vector is unchanged."""
    _check_vector(call, 0)
    kind = call.args[0].type
    exact = kind.value_type.to_pandas_dtype()

    def of_row(vector: list[float | None]) -> Any:
        numbers = _numbers(vector)
        return list((numbers / (np.linalg.norm(numbers) or 1.0)).astype(exact))

    return call.make(by_row(of_row, kind), kind)


@function("VECTOR_REDUCE", least=3)
def vector_reduce(call: Call) -> Value:
    """Compile VECTOR_REDUCE: the first numbers of a vector; a shorter vector is unchanged."""
    _check_vector(call, 0)
    method = call.known(2, "'TRUNCATE'").upper()
    if method != "TRUNCATE":
        raise SqlError(
            f"Sql: {call.what}: {method} is not supported; use TRUNCATE. A random projection would return "
            "different numbers when a row is read again"
        )
    wanted = call.args[1].constant
    count = wanted.as_py() if wanted is not None and pa.types.is_integer(wanted.type) else None
    if not count or count < 1:
        raise SqlError(f"Sql: {call.what}: argument 2 must be a literal whole number above 0")
    kind = call.args[0].type
    if pa.types.is_fixed_size_list(kind):
        kind = pa.list_(kind.value_type, min(count, kind.list_size))
    return call.make(by_row(lambda vector: vector[:count], kind), kind, [call.args[0]], fails=False)


def exploded(
    rows: pa.RecordBatch, kinds: pa.Array | None, lists: pa.Array, output: pa.Field, *, outer: bool
) -> tuple[pa.RecordBatch, pa.Array | None]:
    """Return a row for each element, with the element in a new column.

    If ``outer`` is set, rows with an empty or null array are kept, with null as the element.
    """
    if outer:
        one_null = pa.scalar([None], pa.list_(lists.type.value_type))
        lists = pc.cast(lists, pa.list_(lists.type.value_type))
        has = pc.fill_null(pc.greater(pc.list_value_length(lists), 0), False)
        lists = pc.if_else(has, lists, one_null)
    parents = pc.list_parent_indices(lists)
    values = pc.list_flatten(lists).cast(output.type)
    return put_fields(rows.take(parents), [output], [values]), None if kinds is None else kinds.take(parents)
