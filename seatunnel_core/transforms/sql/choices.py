"""The functions that choose between values, and UUID."""

from typing import Any

import pyarrow.compute as pc

from seatunnel_core.transforms.sql.call import MANY, Call, function
from seatunnel_core.transforms.sql.casts import cast
from seatunnel_core.transforms.sql.conditions import case, compared
from seatunnel_core.transforms.sql.kinds import common, compared_as
from seatunnel_core.transforms.sql.value import (
    BOOLEAN,
    NULL,
    STRING,
    Value,
    is_number,
    nothing,
)


@function("COALESCE", most=MANY)
def coalesce(call: Call) -> Value:
    return _first_known(call)


@function("IFNULL", least=2)
def ifnull(call: Call) -> Value:
    return _first_known(call)


def _first_known(call: Call) -> Value:
    """Of the type of the first argument, as SeaTunnel has it; of numbers the wider type, so that no digit is lost."""
    kind = NULL
    for each in call.args:
        if kind == NULL or (is_number(kind) and is_number(each.type)):
            kind = common(kind, each.type, call.at)
    values = [cast(call.functions, each, kind, call.what) for each in call.args]
    if len(values) == 1:
        return values[0]
    if kind == NULL:
        return nothing()
    if not any(each.fails for each in values[1:]):
        return call.make(_coalesced, kind, values, fails=False)
    known = [Value(sql=f"({each.sql} IS NOT NULL)", type=BOOLEAN, fails=each.fails) for each in values[:-1]]
    return case(known, values[:-1], values[-1])


def _coalesced(*columns: Any) -> Any:
    return pc.coalesce(*columns)


@function("NULLIF", least=2)
def nullif(call: Call) -> Value:
    one, other = call.args
    if NULL in (one.type, other.type):
        return one
    kind = compared_as(one.type, other.type, call.at)
    same = compared("=", *(cast(call.functions, each, kind, call.what) for each in call.args))
    return case([same], [nothing(one.type)], one)


@function("MULTI_IF", least=3, most=MANY)
def multi_if(call: Call) -> Value:
    """Conditions and values in turns, and last the value for when none holds."""
    pairs = len(call.args) // 2
    conditions = [call.cast(2 * at, BOOLEAN) for at in range(pairs)]
    branches = [call.args[2 * at + 1] for at in range(pairs)]
    default = call.args[-1] if len(call.args) % 2 else nothing()
    kind = default.type
    for each in branches:
        kind = common(each.type, kind, call.at)
    values = [cast(call.functions, each, kind, call.what) for each in (*branches, default)]
    return case(conditions, values[:-1], values[-1])


@function("UUID", least=0)
def uuid(call: Call) -> Value:
    return Value(sql="uuid()", type=STRING)
