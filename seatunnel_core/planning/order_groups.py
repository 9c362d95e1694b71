"""Groups of tables of a source that may have one target, so that the order of their rows matters."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.operator_chain import OperatorChain, Schemas, Step
from seatunnel_core.work.row_order import OrderGroup, RowOrder, TargetOrder

Target = tuple[str, str]
"""Name of a sink and key of one of its targets."""


def order_groups(chain: OperatorChain) -> dict[str, OrderGroup]:
    """Return the group of each table that may share a target with another table of the source."""
    if len(chain.schemas) < 2 or not chain.source.ordered:
        return {}
    tables: dict[Target, set[str]] = {}
    orders: dict[Target, list[RowOrder]] = {}
    for schema in chain.schemas:
        for target, order in _targets_of(chain, schema):
            tables.setdefault(target, set()).add(schema.table)
            orders.setdefault(target, []).append(order)
    replacing = {target.name for target in chain.targets if target.sink.replaces_rows}
    shared = {target: members for target, members in tables.items() if len(members) > 1}
    found: dict[str, OrderGroup] = {}
    for number, members in enumerate(_united(shared.values())):
        needed = [order for target, some in shared.items() if some <= members for order in orders[target]]
        keys = {_folded(schema.primary_key) for schema in chain.schemas if schema.table in members}
        reached = {name for (name, _), some in tables.items() if some & members}
        group = OrderGroup(
            name=f"\0{number}",
            order=_strictest(needed, has_one_key=len(keys) == 1),
            replaces_rows=reached <= replacing,
        )
        found |= dict.fromkeys(members, group)
    return found


def _united(groups: Collection[set[str]]) -> list[set[str]]:
    """Return the groups with those that have a table in common united."""
    found: list[set[str]] = []
    for group in groups:
        touched = [each for each in found if each & group]
        found = [each for each in found if not each & group] + [group.union(*touched)]
    return found


def _strictest(orders: Sequence[RowOrder], *, has_one_key: bool) -> RowOrder:
    if RowOrder.ALL in orders:
        return RowOrder.ALL
    if RowOrder.KEY in orders:
        return RowOrder.KEY if has_one_key else RowOrder.ALL
    return RowOrder.NONE


def _targets_of(chain: OperatorChain, schema: TableSchema) -> Iterator[tuple[Target, RowOrder]]:
    """Yield each target of a table of the source, and the order that it needs."""
    known: dict[str, Schemas] = {chain.source_name: (schema,)}
    changing: set[str] = set()  # steps after which the key may have other values
    for step in chain.steps:
        known[step.name] = _output(step, _arriving(known, step.inputs))
        keeps = isinstance(step.transform, Transform) and step.transform.keeps_columns
        if not keeps or not changing.isdisjoint(step.inputs):
            changing.add(step.name)
    for target in chain.targets:
        for name in target.inputs:
            for each in known.get(name, ()):
                wanted = target.sink.order_of(each)
                # Some databases and file systems ignore case.
                yield (target.name, wanted.target.casefold()), _order(wanted, schema, is_changed=name in changing)


def _order(wanted: TargetOrder, schema: TableSchema, *, is_changed: bool) -> RowOrder:
    if wanted.order is RowOrder.KEY and (is_changed or _folded(wanted.key) != _folded(schema.primary_key)):
        return RowOrder.ALL
    return wanted.order


def _folded(names: Collection[str]) -> frozenset[str]:
    return frozenset(map(str.casefold, names))


def _output(step: Step, arriving: Schemas) -> Schemas:
    if isinstance(step.transform, Transform):
        return tuple(each for one in arriving for each in step.transform.output_schemas(one))
    return step.schemas if arriving else ()  # Spark combines the rows of its inputs in one table.


def _arriving(known: Mapping[str, Schemas], inputs: tuple[str, ...]) -> Schemas:
    return tuple(each for name in inputs for each in known.get(name, ()))
