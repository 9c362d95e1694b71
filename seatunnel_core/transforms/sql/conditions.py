"""Conditions with short-circuit evaluation, which DataFusion does not guarantee."""

from collections.abc import Sequence

from seatunnel_core.transforms.sql.value import BOOLEAN, Value


def compared(sign: str, one: Value, other: Value) -> Value:
    """Compile a comparison of two values of the same type."""
    return Value(sql=f"({one.sql} {sign} {other.sql})", type=BOOLEAN, fails=one.fails or other.fails)


def negated(value: Value) -> Value:
    """Compile ``NOT value``."""
    return Value(sql=f"(NOT {value.sql})", type=BOOLEAN, fails=value.fails)


def both(*values: Value) -> Value:
    """Compile a conjunction that evaluates its conditions in order until one is false."""
    return _connected("AND", "FALSE", values)


def either(*values: Value) -> Value:
    """Compile a disjunction that evaluates its conditions in order until one is true."""
    return _connected("OR", "TRUE", values)


def _connected(word: str, decided: str, values: Sequence[Value]) -> Value:
    fails = any(each.fails for each in values)
    if not any(each.fails for each in values[1:]):
        return Value(sql=f"({f' {word} '.join(each.sql for each in values)})", type=BOOLEAN, fails=fails)
    first = _number(decided)
    decisive = " ".join(f"WHEN {each.sql} IS {decided} THEN {first}" for each in values)
    unknown = " OR ".join(f"({each.sql} IS NULL)" for each in values)
    last = _number("TRUE" if decided == "FALSE" else "FALSE")
    return Value(sql=_lazy(f"CASE {decisive} WHEN {unknown} THEN NULL ELSE {last} END"), type=BOOLEAN, fails=fails)


def case(conditions: Sequence[Value], values: Sequence[Value], default: Value) -> Value:
    """Compile a CASE: the value of the first true condition, or the default, all with the same type."""
    kind = default.type
    guarded = kind == BOOLEAN and any(each.fails for each in (*conditions, *values, default))
    texts = [_number(each.sql) if guarded else each.sql for each in (*values, default)]
    whens = " ".join(f"WHEN {test.sql} THEN {text}" for test, text in zip(conditions, texts, strict=False))
    sql = f"CASE {whens} ELSE {texts[-1]} END"
    fails = any(each.fails for each in (*conditions, *values, default))
    return Value(sql=_lazy(sql) if guarded else f"({sql})", type=kind, fails=fails)


def _lazy(sql: str) -> str:
    """Return a condition as a CASE of numbers, because DataFusion turns a boolean CASE into eager AND and OR."""
    return f"arrow_cast({sql}, 'Boolean')"


def _number(sql: str) -> str:
    return f"arrow_cast({sql}, 'Int8')"
