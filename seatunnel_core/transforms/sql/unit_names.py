"""Units of time as arguments: ``TIMESTAMPADD(DAY, 1, at)`` and ``TIMESTAMPADD(at, 1, 'DAY')``."""

from collections.abc import Collection, Sequence

from sqlglot import exp

from seatunnel_core.transforms.sql.functions.moment_fields import OF_DATES, STEPS_US

_ORDERS = {"DATEADD": (2, 1), "TIMESTAMPADD": (2, 1), "DATEDIFF": (1, 2), "DATE_TRUNC": (1,)}
"""Functions with a unit, mapped to the order of the other arguments if the unit is the first argument."""


def with_unit_last(name: str, args: Sequence[exp.Expression], columns: Collection[str]) -> Sequence[exp.Expression]:
    """Return the arguments of a call with the quoted unit as the last argument.

    As in other databases, the unit may be the first argument, and it may be unquoted unless a column has this name.
    """
    order = _ORDERS.get(name, ())
    if not order or len(args) < 2:
        return args
    first, last = _unit(args[0], columns), _unit(args[-1], columns)
    if first is not None and last is None and len(args) == len(order) + 1:
        return [*(args[at] for at in order), first]
    return args if last is None else [*args[:-1], last]


def _unit(node: exp.Expression, columns: Collection[str]) -> exp.Expression | None:
    """Return the unit of an argument; ``None`` if it is not a unit."""
    if isinstance(node, exp.Literal) and node.args["is_string"]:
        return node if _is_unit(node.this) else None
    if not isinstance(node, exp.Column) or len(node.parts) > 1 or node.this.args.get("quoted"):
        return None
    if node.name in columns or not _is_unit(node.name):
        return None
    text = exp.Literal.string(node.name)
    text.meta.update(node.this.meta)
    return text


def _is_unit(name: str) -> bool:
    singular = name.upper().removesuffix("S")
    return singular in OF_DATES or singular in STEPS_US or singular == "DAYTIME"
