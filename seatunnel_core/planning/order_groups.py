"""Groups of tables of a source that may have one target, so that the order of their rows matters."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.spark.operator_chain import OperatorChain, Schemas, Step
from seatunnel_core.work.row_order import OrderGroup, RowOrder, TargetOrder, comparable_type

Target = tuple[str, str]
"""Name of a sink and name of one of its targets."""


@frozen
class _Written:
    """Rows of a table of the source in one of their targets."""

    table: str
    target: Target
    """Target without the case of its name, because some databases and file systems ignore it."""

    name: str
    order: RowOrder
    replaces_rows: bool
    """True if a row replaces the row with the same key."""

    one_row_per_key: bool
    """True if the target has at most one current row with a key."""


def order_groups(chain: OperatorChain) -> dict[str, OrderGroup]:
    """Return the group of each table that may share a target with another table of the source."""
    if len(chain.schemas) < 2 or not chain.source.ordered:
        return {}
    every = [each for schema in chain.schemas for each in _written(chain, schema)]
    tables: dict[Target, set[str]] = {}
    for each in every:
        tables.setdefault(each.target, set()).add(each.table)
    found: dict[str, OrderGroup] = {}
    for number, members in enumerate(_united([some for some in tables.values() if len(some) > 1])):
        own = [each for each in every if each.table in members]
        schemas = [schema for schema in chain.schemas if schema.table in members]
        same_columns = len({_folded(schema.columns.names) for schema in schemas}) == 1
        shared = [each.order for each in own if len(tables[each.target]) > 1]
        order = _strictest(shared, has_one_key=_have_one_key(schemas))
        group = OrderGroup(
            name=f"\0{number}",
            order=order,
            may_move=same_columns and order is RowOrder.KEY and _are_in_each_target(own, members),
            replaces_rows=same_columns and all(each.replaces_rows for each in own),
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


def _have_one_key(schemas: Sequence[TableSchema]) -> bool:
    """Return True if the tables have the same key, with types in which sources can compare its values."""
    first, *others = map(_key_types, schemas)
    return all(each == first for each in others)


def _key_types(schema: TableSchema) -> dict[str, pa.DataType]:
    types = {name: schema.columns.field(name).type for name in schema.primary_key}
    return {name.casefold(): comparable_type(type) for name, type in types.items()}


def _are_in_each_target(written: Sequence[_Written], members: set[str]) -> bool:
    """Return True if all targets have the rows of all members, by key. Names must be equal, including their case."""
    tables: dict[tuple[Target, str], set[str]] = {}
    for each in written:
        tables.setdefault((each.target, each.name), set()).add(each.table)
    by_key = all(each.order is RowOrder.KEY and each.one_row_per_key for each in written)
    return by_key and all(each == members for each in tables.values())


def _written(chain: OperatorChain, schema: TableSchema) -> Iterator[_Written]:
    """Yield the targets of a table of the source."""
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
                replaces = target.sink.replaces_rows and bool(each.primary_key) and wanted.order is not RowOrder.NONE
                place = target.name, wanted.target.casefold()
                order = _order(wanted, schema, is_changed=name in changing)
                yield _Written(schema.table, place, wanted.target, order, replaces, wanted.one_row_per_key)


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
