"""Conditional functions and UUID."""

from functools import reduce

import pyarrow.compute as pc

from seatunnel_core.transforms.sql.call import MANY, Call, function
from seatunnel_core.transforms.sql.casts import cast, exactly
from seatunnel_core.transforms.sql.conditions import case, compared
from seatunnel_core.transforms.sql.kinds import common, compared_as
from seatunnel_core.transforms.sql.value import (
    BOOLEAN,
    NULL,
    STRING,
    Value,
    among,
    nothing,
)


@function("COALESCE", most=MANY)
def coalesce(call: Call) -> Value:
    """Compile COALESCE."""
    return _first_known(call)


@function("IFNULL", least=2)
def ifnull(call: Call) -> Value:
    """Compile IFNULL."""
    return _first_known(call)


def _first_known(call: Call) -> Value:
    """Compile a call that returns the first non-null value in the first argument's type; losing digits is an error."""
    kind = next((each.type for each in call.args if each.type != NULL), NULL)
    values = [exactly(call.functions, each, kind, call.what) for each in call.args]
    if len(values) == 1:
        return values[0]
    if kind == NULL:
        return nothing()
    if not any(each.fails for each in values[1:]):
        return call.make(pc.coalesce, kind, values, fails=False)
    known = [Value(sql=f"({each.sql} IS NOT NULL)", type=BOOLEAN, fails=each.fails) for each in values[:-1]]
    return case(known, values[:-1], values[-1])


@function("NULLIF", least=2)
def nullif(call: Call) -> Value:
    """Compile NULLIF: null if both arguments are equal, otherwise the first."""
    if NULL in (call.args[0].type, call.args[1].type):
        return call.args[0]
    one, other = among(call.args)
    kind = compared_as(one.type, other.type, call.at)
    same = compared("=", *(cast(call.functions, each, kind, call.what) for each in (one, other)))
    first = call.args[0]
    return case([same], [nothing(first.type)], first)


@function("MULTI_IF", least=3, most=MANY)
def multi_if(call: Call) -> Value:
    """Compile MULTI_IF: alternating conditions and values, and finally the default value."""
    pairs = len(call.args) // 2
    conditions = [call.cast(2 * at, BOOLEAN) for at in range(pairs)]
    default = call.args[-1] if len(call.args) % 2 else nothing()
    branches = among([default, *(call.args[2 * at + 1] for at in range(pairs))])
    kind = reduce(lambda one, other: common(other, one, call.at), (each.type for each in branches))
    default, *others = (exactly(call.functions, each, kind, call.what) for each in branches)
    return case(conditions, others, default)


@function("UUID", least=0)
def uuid(call: Call) -> Value:
    """Compile UUID, which returns a different value for each row."""
    return Value(sql="uuid()", type=STRING)
