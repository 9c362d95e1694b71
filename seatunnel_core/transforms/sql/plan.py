"""Execution plan of a statement that was compiled for its input columns."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import field, frozen
from sqlglot import exp

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.findings import Findings
from seatunnel_core.rows.columns import with_fields, with_names
from seatunnel_core.transforms.sql.dialect import Statement, place, shown
from seatunnel_core.transforms.sql.engine import KINDS, TABLE, Engine, Query
from seatunnel_core.transforms.sql.expression import Expressions
from seatunnel_core.transforms.sql.functions.lists import exploded
from seatunnel_core.transforms.sql.value import NOW, SqlError, Value, is_list, quoted_name
from seatunnel_core.work.names import repeated


@frozen(kw_only=True)
class Explode:
    """A lateral view: the engine that computes its array, and the column of elements."""

    engine: Engine = field(repr=False)
    output: pa.Field
    outer: bool
    """True to keep a row with an empty or null array, with null as the element."""


@frozen(kw_only=True)
class Plan:
    """A statement compiled for one table."""

    columns: pa.Schema
    """Columns of the result."""

    passed: Mapping[str, str]
    """Output names of unchanged columns, keyed by input name."""

    explodes: tuple[Explode, ...]
    engine: Engine = field(repr=False)

    def run(self, rows: pa.RecordBatch, kinds: pa.Array | None) -> tuple[pa.RecordBatch, pa.Array | None]:
        """Return the rows and kinds of the result; raise ``RowError`` if the statement fails for a row."""
        for each in self.explodes:
            lists, _ = each.engine.run(rows, None)
            rows, kinds = exploded(rows, kinds, lists.column(0), each.output, outer=each.outer)
        return self.engine.run(rows, kinds)

    def announced(self, schema: TableSchema) -> TableSchema:
        """Return the output schema. It has no key if a key column is omitted or changed, or rows may be exploded."""
        return with_names(schema, self.columns, {} if self.explodes else self.passed)


def planned(statement: Statement, columns: pa.Schema) -> Plan:
    """Compile a statement for a table; raise ``SqlError`` if it is invalid for the columns."""
    explodes = []
    for node in statement.explodes:
        explodes.append(_explode(node, columns, statement.tables))
        columns = with_fields(columns, [explodes[-1].output])
    expressions = Expressions(columns, statement.tables)
    findings = Findings(SqlError)
    outputs, passed = _outputs(statement, expressions, findings)
    where = None
    with findings.part():
        where = expressions.condition(statement.where) if statement.where is not None else None
    findings.raise_all()
    _check_names([name for name, *_ in outputs])
    schema = pa.schema([_field(columns, name, value, source) for name, value, source in outputs])
    engine = _engine(expressions, [(name, value) for name, value, _ in outputs], where, schema)
    return Plan(columns=schema, passed=passed, explodes=tuple(explodes), engine=engine)


def _engine(
    expressions: Expressions, outputs: Sequence[tuple[str, Value]], where: Value | None, schema: pa.Schema
) -> Engine:
    selected = [f"{value.sql} AS {quoted_name(name)}" for name, value in outputs]
    sql = f"SELECT {', '.join([*selected, quoted_name(KINDS)])} FROM {TABLE}"
    if where is not None:
        sql += f" WHERE {where.sql}"
    functions = tuple(expressions.functions.made)
    return Engine(Query(sql=sql, functions=functions, columns=schema, timed=quoted_name(NOW) in sql))


def _explode(node: exp.Expression, columns: pa.Schema, tables: Sequence[str]) -> Explode:
    call, alias = node.this, node.args.get("alias")
    names = [each.name for each in alias.args.get("columns") or ()] if alias else []
    if not isinstance(call, exp.Anonymous) or call.name.upper() != "EXPLODE" or len(call.expressions) != 1:
        raise SqlError(f"Sql: {place(node)}: LATERAL VIEW must be followed by [OUTER] EXPLODE(array) AS name")
    if len(names) != 1:
        raise SqlError(f"Sql: {place(call)}: EXPLODE needs one column name: LATERAL VIEW {shown(call)} AS name")
    expressions = Expressions(columns, tables)
    value = expressions.value(call.expressions[0])
    if not is_list(value.type):
        raise SqlError(f"Sql: {place(call)}: EXPLODE needs an array, but {shown(call.expressions[0])} is not an array")
    engine = _engine(expressions, [("list", value)], None, pa.schema([("list", value.type)]))
    output = pa.field(names[0], value.type.value_type)
    return Explode(engine=engine, output=output, outer=bool(node.args.get("outer")))


_Output = tuple[str, Value, str | None]
"""Output column: its name, its value, and the input column if it is unchanged."""


def _outputs(
    statement: Statement, expressions: Expressions, findings: Findings
) -> tuple[list[_Output], dict[str, str]]:
    outputs: list[_Output] = []
    for node in statement.outputs:
        with findings.part():
            if _is_star(node, statement):
                outputs += [(name, _bare(expressions, name), name) for name in expressions.columns.names]
                continue
            inner = node.this if isinstance(node, exp.Alias) else node
            value = expressions.value(inner)
            name = node.alias if isinstance(node, exp.Alias) else _name(inner)
            source = _source(inner, statement, expressions.columns)
            outputs.append((name, _bare(expressions, source) if source else value, source))
    passed = {source: name for name, _, source in reversed(outputs) if source}
    return outputs, passed


def _is_star(node: exp.Expression, statement: Statement) -> bool:
    if isinstance(node, exp.Star):
        if any(node.args.values()):
            raise SqlError(f"Sql: {shown(node)} is not supported; name the columns, or use the Filter transform")
        return True
    return isinstance(node, exp.Column) and isinstance(node.this, exp.Star) and node.table in statement.tables


def _source(node: exp.Expression, statement: Statement, columns: pa.Schema) -> str | None:
    """Return the column if the whole expression is a column, otherwise ``None``."""
    if not isinstance(node, exp.Column) or node.name not in columns.names:
        return None
    *before, name = (part.name for part in node.parts)
    if not before:
        return name
    is_table = before[-1] in statement.tables and (len(before) == 1 or before[0] not in columns.names)
    return name if is_table else None


def _bare(expressions: Expressions, name: str) -> Value:
    return Value(sql=quoted_name(name), type=expressions.columns.field(name).type)


def _name(node: exp.Expression) -> str:
    return node.name if isinstance(node, exp.Column | exp.Dot) else shown(node)


def _field(columns: pa.Schema, name: str, value: Value, source: str | None) -> pa.Field:
    return pa.field(name, value.type) if source is None else columns.field(source).with_name(name)


def _check_names(names: Sequence[str]) -> None:
    twice = repeated(names)
    if twice:
        raise SqlError(f"Sql: two columns have the name {', '.join(twice)}; rename one with AS")
