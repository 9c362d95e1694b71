"""The functions of arrays and vectors, and the rows that LATERAL VIEW EXPLODE makes of an array."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.transforms.columns import put_fields
from seatunnel_core.transforms.sql.call import MANY, Call, by_row, function
from seatunnel_core.transforms.sql.casts import cast
from seatunnel_core.transforms.sql.kinds import common
from seatunnel_core.transforms.sql.value import DOUBLE, INT, NULL, STRING, Value, is_list, is_simple


@function("ARRAY", most=MANY)
def array(call: Call) -> Value:
    kind = NULL
    for each in call.args:
        kind = common(kind, each.type, call.at)
    values = [cast(call.functions, each, kind, call.what) for each in call.args]
    sql = f"make_array({', '.join(each.sql for each in values)})"
    return Value(sql=sql, type=pa.list_(kind), fails=any(each.fails for each in values))


@function("SPLIT", least=2)
def split(call: Call) -> Value:
    """The separator is a text as it is, and no regular expression."""
    kind = pa.list_(STRING)
    slow = by_row(lambda text, sign: text.split(sign) if sign else list(text), kind)

    def run(texts: Any, sign: Any) -> Any:
        known = sign.as_py() if isinstance(sign, pa.Scalar) else None
        return pc.split_pattern(texts, pattern=known) if known else slow(texts, sign)

    return call.make(run, kind, [call.text(0), call.text(1)], fails=False)


@function("ARRAY_MAX")
def array_max(call: Call) -> Value:
    return _extreme(call, max)


@function("ARRAY_MIN")
def array_min(call: Call) -> Value:
    return _extreme(call, min)


def _extreme(call: Call, chosen: Callable[..., Any]) -> Value:
    """Null elements do not count."""
    kind = call.args[0].type
    if not is_list(kind) or not is_simple(kind.value_type):
        raise call.wrong(0, "an array")
    of_one = by_row(lambda items: chosen((each for each in items if each is not None), default=None), kind.value_type)
    return call.make(of_one, kind.value_type, fails=False)


def _vectors(name: str, compute: Callable[..., Any], kind: pa.DataType, arguments: int) -> None:
    def make(call: Call) -> Value:
        for at, each in enumerate(call.args):
            if not is_list(each.type) or not pa.types.is_floating(each.type.value_type):
                raise call.wrong(at, "a vector of numbers")

        def of_row(*rows: Any) -> Any:
            if any(None in row for row in rows) or len({len(row) for row in rows}) > 1:
                raise ValueError("vectors have no nulls, and two of them the same dimension")
            return compute(*(np.asarray(row, dtype="float64") for row in rows))

        return call.make(by_row(of_row, kind), kind)

    function(name, least=arguments)(make)


def _cosine_distance(one: Any, other: Any) -> float:
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    if not length:
        raise ValueError("a vector of zeros has no direction")
    return 1.0 - float(one @ other) / length


_vectors("COSINE_DISTANCE", _cosine_distance, DOUBLE, 2)
_vectors("L1_DISTANCE", lambda one, other: float(np.abs(one - other).sum()), DOUBLE, 2)
_vectors("L2_DISTANCE", lambda one, other: float(np.linalg.norm(one - other)), DOUBLE, 2)
_vectors("INNER_PRODUCT", lambda one, other: float(one @ other), DOUBLE, 2)
_vectors("VECTOR_NORM", lambda one: float(np.linalg.norm(one)), DOUBLE, 1)
_vectors("VECTOR_DIMS", len, INT, 1)


def exploded(
    rows: pa.RecordBatch, kinds: pa.Array | None, lists: pa.Array, output: pa.Field, *, outer: bool
) -> tuple[pa.RecordBatch, pa.Array | None]:
    """A row for each element, which becomes a column; with ``outer`` also one for a row without elements."""
    if outer:
        one_null = pa.scalar([None], pa.list_(lists.type.value_type))
        lists = pc.cast(lists, pa.list_(lists.type.value_type))
        has = pc.fill_null(pc.greater(pc.list_value_length(lists), 0), False)
        lists = pc.if_else(has, lists, one_null)
    parents = pc.list_parent_indices(lists)
    values = pc.list_flatten(lists).cast(output.type)
    return put_fields(rows.take(parents), [output], [values]), None if kinds is None else kinds.take(parents)
