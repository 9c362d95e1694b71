"""Compiler of a statement's expressions into DataFusion's SQL, with the types of the columns."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import reduce
from typing import Any

import pyarrow as pa
from sqlglot import exp

from seatunnel_core.transforms.sql import arithmetic, nested
from seatunnel_core.transforms.sql.call import Call
from seatunnel_core.transforms.sql.casts import cast, exactly
from seatunnel_core.transforms.sql.conditions import both, case, compared, either, negated
from seatunnel_core.transforms.sql.dialect import place, shown
from seatunnel_core.transforms.sql.engine_function import EngineFunctions
from seatunnel_core.transforms.sql.functions.catalog import find
from seatunnel_core.transforms.sql.functions.moment_texts import at_time_zone
from seatunnel_core.transforms.sql.kinds import cast_type, common, compared_as
from seatunnel_core.transforms.sql.literals import hexadecimal, literal, number
from seatunnel_core.transforms.sql.unit_names import with_unit_last
from seatunnel_core.transforms.sql.value import (
    BIGINT,
    BOOLEAN,
    STRING,
    TIMESTAMP,
    SqlError,
    Value,
    among,
    constant,
    engine_cast,
    nothing,
    quoted_name,
    standard,
)

_Chosen = Callable[[pa.DataType, pa.DataType, str], pa.DataType]
"""Function that returns the common type of two values; the last argument is their position in the statement."""

NO_PARENTHESES = ("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP")


class Expressions:
    """Compiler of expressions over the columns of one table."""

    def __init__(self, columns: pa.Schema, tables: Sequence[str]) -> None:
        self.columns = columns
        self.tables = tables
        self.functions = EngineFunctions()

    def value(self, node: exp.Expression) -> Value:
        """Compile one expression; raise ``SqlError`` if it is invalid for these columns."""
        compiled = _NODES.get(type(node))
        known = _PARTS.get(type(node), ()) + _USUAL_PARTS
        if compiled is None or any(part for name, part in node.args.items() if name not in known):
            raise SqlError(f"Sql: {place(node)}: {shown(node)} is not supported by the Sql transform")
        return compiled(self, node)

    def condition(self, node: exp.Expression) -> Value:
        """Compile a boolean expression."""
        return self.converted(self.value(node), BOOLEAN, node)

    def converted(self, value: Value, kind: pa.DataType, node: exp.Expression) -> Value:
        """Return a value cast to another type."""
        return cast(self.functions, value, kind, _what(node))

    def call(self, name: str, node: exp.Expression, args: Sequence[Value]) -> Value:
        """Compile a call; raise ``SqlError`` for a wrong number of arguments or for a function that is not allowed."""
        known = find(name)
        if known is None:
            raise SqlError(f"Sql: {name} at {place(node)} is allowed only after LATERAL VIEW")
        if not known.least <= len(args) <= known.most:
            wanted = f"{known.least}" if known.least == known.most else f"{known.least} to {known.most}"
            if known.most > 1000:
                wanted = f"at least {known.least}"
            raise SqlError(f"Sql: {name} at {place(node)} has {len(args)} arguments, expected {wanted}")
        return known.compiled(Call(name=name, at=place(node), args=tuple(args), functions=self.functions))

    def column(self, path: Sequence[exp.Expression], node: exp.Expression) -> Value:
        """Compile a column, or a part of one: ``a``, ``t.a``, ``a.b``, ``t.a.b.c``."""
        names = [part.name for part in path]
        first = self._named_table(names)
        alone = len(names) == 1 and names[0] not in self.columns.names
        if alone and names[0].upper() in NO_PARENTHESES and not path[0].args.get("quoted"):
            return self.call(names[0].upper(), node, ())
        at = self.columns.get_field_index(names[first])
        if at < 0:
            raise self._unknown(names[first], node)
        given = self.columns.field(at).type
        found = Value(sql=quoted_name(names[first]), type=given)
        if standard(given) != given:
            found = Value(sql=engine_cast(found.sql, standard(given)), type=standard(given))
        return self.part(found, path[first + 1 :], node)

    def _named_table(self, names: Sequence[str]) -> int:
        """Return the number of leading names that refer to the table: 1 for ``t.id``, even if a column is named t."""
        if len(names) == 1 or names[0] not in self.tables:
            return 0
        return int(names[0] not in self.columns.names or names[1] in self.columns.names)

    def part(self, value: Value, path: Sequence[exp.Expression], node: exp.Expression) -> Value:
        """Compile access to the part of a value at a path of names."""
        for name in path:
            value = nested.part(self.functions, value, constant(pa.scalar(name.name)), _what(node))
        return value

    def _unknown(self, name: str, node: exp.Expression) -> SqlError:
        near = get_close_matches(name.lower(), [each.lower() for each in self.columns.names], n=1)
        meant = [each for each in self.columns.names if near and each.lower() == near[0]]
        hint = f"did you mean {meant[0]}?" if meant else f"the columns are {', '.join(self.columns.names)}"
        return SqlError(f"Sql: {place(node)}: there is no column {name}; {hint}")

    def together(self, nodes: Sequence[exp.Expression], values: Sequence[Value]) -> list[Value]:
        """Convert the values to their common type."""
        return self._of_one_type(nodes, values, common, exactly)

    def comparable(self, nodes: Sequence[exp.Expression]) -> list[Value]:
        """Compile expressions to be compared, and convert them to a common type."""
        return self._of_one_type(nodes, [self.value(node) for node in nodes], compared_as, cast)

    def _of_one_type(
        self, nodes: Sequence[exp.Expression], values: Sequence[Value], chosen: _Chosen, turned: Callable[..., Value]
    ) -> list[Value]:
        values = among(values)
        kind = reduce(lambda one, other: chosen(one, other, place(nodes[0])), (each.type for each in values))
        return [turned(self.functions, value, kind, _what(node)) for node, value in zip(nodes, values, strict=True)]


def _what(node: exp.Expression) -> str:
    """Return a part of the statement and its position, for messages."""
    return f"{shown(node)} at {place(node)}"


def _column(own: Expressions, node: exp.Expression) -> Value:
    path: list[Any] = []
    while isinstance(node, exp.Dot):
        path.insert(0, node.expression)
        node = node.this
    if not isinstance(node, exp.Column):
        return own.part(own.value(node), path, node)
    if isinstance(node.this, exp.Star):
        raise SqlError(f"Sql: {place(node)}: * must be the only argument")
    parts: list[Any] = [*node.parts, *path]
    return own.column(parts, node)


def _bracket(own: Expressions, node: exp.Expression) -> Value:
    if len(node.expressions) != 1:
        raise SqlError(f"Sql: {place(node)}: {shown(node)}: use a single key or number in the brackets")
    return nested.part(own.functions, own.value(node.this), own.value(node.expressions[0]), _what(node))


def _chain(node: exp.Expression) -> list[Any]:
    """Split ``a AND b AND c`` into three conditions; nested pairs would double the SQL at each level."""
    parts: list[Any] = []
    rest: list[Any] = [node]
    while rest:
        each = rest.pop()
        if type(each) is type(node):
            rest += [each.expression, each.this]
        else:
            parts.append(each)
    return parts


def _negative(own: Expressions, node: exp.Expression) -> Value:
    if isinstance(node.this, exp.Literal) and not node.this.args["is_string"]:
        return number(f"-{node.this.this}")
    return arithmetic.negative(own.functions, own.value(node.this), _what(node))


def _arithmetic(own: Expressions, node: exp.Expression) -> Value:
    sign = _SIGNS[type(node)]
    if isinstance(node.expression, exp.Interval):
        return _with_interval(own, node, sign)
    return arithmetic.arithmetic(own.functions, sign, own.value(node.this), own.value(node.expression), _what(node))


def _with_interval(own: Expressions, node: exp.Expression, sign: str) -> Value:
    """Compile ``d + INTERVAL '1' DAY`` like a call of DATEADD."""
    interval = node.expression
    if sign not in "+-" or interval.this is None or interval.unit is None:
        raise SqlError(f"Sql: {place(node)}: {shown(node)}: an interval can only be added to or subtracted from a date")
    count = own.converted(own.value(interval.this), BIGINT, node)
    if sign == "-":
        count = arithmetic.negative(own.functions, count, shown(node))
    return own.call("DATEADD", node, (own.value(node.this), count, constant(pa.scalar(interval.unit.name))))


def _joined(own: Expressions, node: exp.Expression) -> Value:
    """Compile ``||`` like CONCAT: null is treated as an empty string."""
    return own.call("CONCAT", node, [own.value(each) for each in (node.this, node.expression)])


def _comparison(own: Expressions, node: exp.Expression) -> Value:
    return compared(_COMPARISONS[type(node)], *own.comparable((node.this, node.expression)))


def _between(own: Expressions, node: exp.Expression) -> Value:
    value, low, high = own.comparable((node.this, node.args["low"], node.args["high"]))
    return both(compared(">=", value, low), compared("<=", value, high))


def _in(own: Expressions, node: exp.Expression) -> Value:
    if not node.expressions:
        raise SqlError(f"Sql: {place(node)}: IN needs a list of values, such as (1, 2)")
    value, *others = own.comparable((node.this, *node.expressions))
    sql = f"({value.sql} IN ({', '.join(each.sql for each in others)}))"
    return Value(sql=sql, type=BOOLEAN, fails=value.fails or any(each.fails for each in others))


def _like(own: Expressions, node: exp.Expression, escape: str = "\\") -> Value:
    value, pattern = (own.converted(own.value(each), STRING, each) for each in (node.this, node.expression))
    if escape != "\\":
        if pattern.constant is None:
            raise SqlError(f"Sql: {place(node)}: the pattern of LIKE … ESCAPE must be a string literal")
        text = pattern.constant.as_py() or ""
        pattern = constant(pa.scalar(_with_backslashes(text, escape)))
    word = "NOT LIKE" if node.args.get("negate") else "LIKE"
    return Value(sql=f"({value.sql} {word} {pattern.sql})", type=BOOLEAN, fails=value.fails or pattern.fails)


def _with_backslashes(pattern: str, escape: str) -> str:
    """Return a LIKE pattern with DataFusion's escape character, the backslash."""
    written, signs = "", iter(pattern)
    for sign in signs:
        if sign == escape:
            following = next(signs, "")
            written += f"\\{following}" if following in "%_\\" else following
        else:
            written += sign.replace("\\", "\\\\")
    return written


def _escaped(own: Expressions, node: exp.Expression) -> Value:
    escape = node.expression
    if not isinstance(node.this, exp.Like) or not isinstance(escape, exp.Literal) or len(escape.this) > 1:
        raise SqlError(f"Sql: {place(node)}: ESCAPE needs one character, and must follow LIKE")
    return _like(own, node.this, escape.this)


def _regexp(own: Expressions, node: exp.Expression) -> Value:
    return own.call("REGEXP_LIKE", node, (own.value(node.this), own.value(node.expression)))


def _is(own: Expressions, node: exp.Expression) -> Value:
    value = own.value(node.this)
    if isinstance(node.expression, exp.Null):
        return Value(sql=f"({value.sql} IS NULL)", type=BOOLEAN, fails=value.fails)
    if isinstance(node.expression, exp.Boolean):
        truth = own.converted(value, BOOLEAN, node.this)
        return Value(sql=f"({truth.sql} IS {str(node.expression.this).upper()})", type=BOOLEAN, fails=truth.fails)
    raise SqlError(f"Sql: {place(node)}: {shown(node)}: IS must be followed by NULL, TRUE or FALSE")


def _case(own: Expressions, node: exp.Expression) -> Value:
    branches = node.args["ifs"]
    default = node.args.get("default")
    if node.this is None:
        conditions = [own.condition(each.this) for each in branches]
    else:
        conditions = [compared("=", *own.comparable((node.this, each.this))) for each in branches]
    nodes = [each.args["true"] for each in branches] + ([default] if default else [])
    values = own.together(nodes, [own.value(each) for each in nodes])
    return case(conditions, values[: len(branches)], values[-1] if default else nothing(values[0].type))


def _cast(own: Expressions, node: exp.Expression) -> Value:
    tolerant = isinstance(node, exp.TryCast)
    if _written_moment(node):
        _refuse_inside(node, "TIMESTAMPTZ")
    value, kind = own.value(node.this), cast_type(node.args["to"], place(node))
    return cast(own.functions, value, kind, _what(node), tolerant=tolerant)


def _extract(own: Expressions, node: exp.Expression) -> Value:
    """Compile EXTRACT; a literal with a time zone is evaluated in that zone."""
    field, inner = node.this.name, node.expression
    if _written_moment(inner):
        kind = cast_type(inner.args["to"], place(inner)) if field.upper() == "EPOCH" else TIMESTAMP
        value = cast(own.functions, own.value(inner.this), kind, _what(inner), tolerant=False)
    else:
        value = own.value(inner)
    return own.call("EXTRACT", node, (constant(pa.scalar(field)), value))


def _written_moment(node: exp.Expression) -> bool:
    """Return True if a node is a literal with a time zone: ``TIMESTAMPTZ '…'``."""
    if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
        return False
    kind = cast_type(node.args["to"], place(node))
    return bool(pa.types.is_timestamp(kind) and kind.tz)


_LOOKS_INSIDE: tuple[type[exp.Expression], ...] = (
    exp.Anonymous,
    exp.Cast,
    exp.TryCast,
    exp.Extract,
    exp.DPipe,
    exp.Add,
    exp.Sub,
)


def _refuse_inside(node: exp.Expression, what: str) -> None:
    """Raise ``SqlError`` for a literal with a time zone inside an expression that would evaluate it in UTC."""
    around = node.find_ancestor(*_LOOKS_INSIDE)
    if around is not None:
        raise SqlError(
            f"Sql: {place(node)}: {shown(around)} is not possible: a timestamp_tz does not keep its time zone, so the "
            f"expression would be evaluated in UTC; {what} is allowed only as a result column or in a comparison"
        )


def _at_time_zone(own: Expressions, node: exp.Expression) -> Value:
    _refuse_inside(node, "AT TIME ZONE")
    args = own.value(node.this), own.value(node.args["zone"])
    return at_time_zone(Call(name="AT TIME ZONE", at=place(node), args=args, functions=own.functions))


def _function(own: Expressions, node: exp.Expression) -> Value:
    name = node.name.upper()
    args = with_unit_last(name, node.expressions, own.columns.names)
    return own.call(name, node, [own.value(each) for each in args])


_SIGNS: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_COMPARISONS: dict[type, str] = {
    exp.EQ: "=",
    exp.NEQ: "IS DISTINCT FROM",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}

_USUAL_PARTS = ("this", "expression", "expressions")
_PARTS: dict[type, tuple[str, ...]] = {
    exp.Column: ("table", "db", "catalog"),
    exp.Identifier: ("quoted",),
    exp.Literal: ("is_string",),
    exp.Like: ("negate",),
    exp.DPipe: ("safe",),
    exp.Div: ("typed", "safe"),
    exp.Between: ("low", "high"),
    exp.Case: ("ifs", "default"),
    exp.AtTimeZone: ("zone",),
    exp.Cast: ("to",),
    exp.TryCast: ("to", "safe"),
}
"""Additional arguments that are allowed for a node; others would change its meaning."""

_NODES: dict[type, Callable[[Expressions, Any], Value]] = {
    exp.Column: _column,
    exp.Dot: _column,
    exp.Bracket: _bracket,
    exp.Literal: lambda own, node: literal(node),
    exp.HexString: lambda own, node: hexadecimal(node),
    exp.Null: lambda own, node: nothing(),
    exp.Boolean: lambda own, node: constant(pa.scalar(bool(node.this))),
    exp.Paren: lambda own, node: own.value(node.this),
    exp.Neg: _negative,
    exp.DPipe: _joined,
    exp.And: lambda own, node: both(*map(own.condition, _chain(node))),
    exp.Or: lambda own, node: either(*map(own.condition, _chain(node))),
    exp.Not: lambda own, node: negated(own.condition(node.this)),
    exp.Between: _between,
    exp.In: _in,
    exp.Like: _like,
    exp.Escape: _escaped,
    exp.RegexpLike: _regexp,
    exp.Is: _is,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Extract: _extract,
    exp.AtTimeZone: _at_time_zone,
    exp.Anonymous: _function,
    **dict.fromkeys(_SIGNS, _arithmetic),
    **dict.fromkeys(_COMPARISONS, _comparison),
}
