"""Analysis of Spark's plan for a DataFrame transform: whether the plan works row by row or combines rows.

A plan works row by row if it consists only of known operators that derive each output row from a single input row,
regardless of the position of the row. All other plans count as combining rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from attrs import frozen

from seatunnel_core.errors import TransformError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_NOWHERE = "file:///seatunnel-has-no-rows-while-it-plans"
"""Path that cannot be read, so that a request for rows fails immediately in the driver."""

_SPARK = "org.apache.spark.sql."
_SUBQUERY = f"{_SPARK}catalyst.expressions.SubqueryExpression"

_ROW_BY_ROW = frozenset(
    {
        "CTERelationDef",
        "Expand",
        "Filter",
        "Generate",
        "LateralJoin",  # a joined subquery is judged like any subquery
        "PipeOperator",
        "Project",
        "RebalancePartitions",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "SubqueryAlias",
        "View",
        "WithCTE",
    }
)

_ONE_SIDE = {
    True: frozenset({"INNER", "CROSS", "LEFT OUTER", "LEFT SEMI", "LEFT ANTI"}),
    False: frozenset({"INNER", "CROSS", "RIGHT OUTER"}),
}
"""Join types that match each input row independently of other input rows, by whether the input is on the left."""

_CLAUSES = {
    "Aggregate": "GROUP BY or an aggregate function",
    "AttachDistributedSequence": "a row number",
    "CollectMetrics": "observe",
    "Deduplicate": "dropDuplicates",
    "Distinct": "DISTINCT",
    "Except": "EXCEPT",
    "GlobalLimit": "LIMIT",
    "Intersect": "INTERSECT",
    "LocalLimit": "LIMIT",
    "Offset": "OFFSET",
    "Sample": "a sample",
    "ScriptTransformation": "TRANSFORM … USING",
    "Tail": "tail",
    "UnionLoop": "WITH RECURSIVE",
    "Window": "a window function (OVER)",
}

_NO_INPUT = "a result that is not derived from the input's rows"

_PLAIN_PYTHON = (100, 101)
"""Spark's numbers for Python functions that receive the values of one row. Other functions receive batches or
groups."""


@frozen
class PlanScope:
    """Inputs that a plan reads, and its operations that combine rows."""

    clauses: tuple[str, ...]
    """Operations that combine rows, in the query's terms; empty if the plan works row by row."""

    unread: tuple[int, ...]
    """Indices of the inputs that the plan does not read."""


def plan_only(spark: "SparkSession", columns: "StructType") -> "DataFrame":
    """Return a frame for planning. A request for its rows raises an error that ``asked_for_rows`` recognizes."""
    nothing = spark.sparkContext.textFile(_NOWHERE).map(lambda line: line)
    return spark.createDataFrame(nothing, columns, verifySchema=False)


def asked_for_rows(error: BaseException | None) -> bool:
    """Return True if an error was caused by a request for rows of a ``plan_only`` frame."""
    while error is not None:
        if _NOWHERE.rpartition("/")[2] in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def judging(what: str) -> "Iterator[None]":
    """Raise TransformError with a remedy if a function calls a Spark action on a ``plan_only`` frame."""
    try:
        yield
    except Exception as error:
        if not asked_for_rows(error):
            raise
        raise TransformError(
            f"{what} calls a Spark action (count, collect, toPandas, isEmpty …) during planning, so the engine "
            "cannot determine whether it works row by row. Set scope = all to call it once with the rows of all "
            "splits (batch jobs only), or scope = unit to call it for each work unit with the rows of that unit"
        ) from None


def judge_plan(frame: "DataFrame", inputs: "Sequence[DataFrame]") -> PlanScope:
    """Analyze the plan of a frame that was derived from ``inputs``, which are ``plan_only`` frames."""
    ids = [_analysed(each).rdd().id() for each in inputs]
    plan = _Plan(frame.sparkSession, ids)
    if not plan.reads(_analysed(frame)):
        plan.clauses[_NO_INPUT] = None
    unread = tuple(number for number, each in enumerate(ids) if each not in plan.seen)
    return PlanScope(tuple(plan.clauses), unread)


def _analysed(frame: "DataFrame") -> Any:
    return frame._jdf.queryExecution().analyzed()


class _Plan:
    """Traversal of a Spark plan. Its nodes and expressions are JVM objects."""

    def __init__(self, spark: "SparkSession", inputs: Sequence[int]) -> None:
        self.clauses: dict[str, None] = {}
        self.seen: set[int] = set()
        self._gateway = spark.sparkContext._gateway
        self._inputs = frozenset(inputs)
        self._named: dict[int, bool] = {}
        """True for common table expressions (WITH) that read an input, by ID."""
        self._subqueries: dict[str, bool] = {}
        """True for expression classes that are subqueries, by class name."""

    def reads(self, plan: Any) -> bool:
        """Return True if a plan reads an input, and add its operations that combine rows to ``clauses``."""
        kind = _kind(plan)
        if kind in ("LogicalRDD", "ExternalRDD"):
            return self._comes_of_input(plan.rdd())
        if kind == "CTERelationRef":
            return self._named.get(plan.cteId(), True)
        sides = [self.reads(child) for child in _each(plan.children())]
        if kind == "CTERelationDef":
            self._named[plan.id()] = sides[0]
        found: dict[str, None] = {}
        asks = [self._asks(expression, found) for expression in _each(plan.expressions())]
        if not any(sides) and not any(asks):
            return False
        clause = self._clause(kind, plan, sides)
        self.clauses |= {clause: None, **found} if clause else found
        return True

    def _comes_of_input(self, rdd: Any) -> bool:
        """Return True if an RDD is an input or depends on one.

        A dependent RDD counts as combining rows, because the functions of RDDs cannot be analysed.
        """
        if rdd.id() in self._inputs:
            self.seen.add(rdd.id())
            return True
        above = {rdd.id(): rdd}
        known: set[int] = set()
        while above:
            number, each = above.popitem()
            if number in self._inputs:
                self.seen.add(number)
                self.clauses["an RDD of the input"] = None
                return True
            known.add(number)
            above |= {up.id(): up for up in (to.rdd() for to in _each(each.dependencies())) if up.id() not in known}
        return False

    def _clause(self, kind: str, plan: Any, sides: Sequence[bool]) -> str:
        """Return the operation with which an operator combines rows, in the query's terms; empty if it has none."""
        if kind in _ROW_BY_ROW:
            return ""
        if kind == "Union":
            return "" if all(sides) else "UNION ALL with rows that do not come from the input"
        if kind == "Join":
            return self._join(plan.joinType().sql(), sides)
        if kind == "Sort":
            return "ORDER BY" if getattr(plan, "global")() else "SORT BY"
        return _CLAUSES.get(kind) or f"{kind[:1].lower()}{kind[1:]}"

    def _join(self, joined: str, sides: Sequence[bool]) -> str:
        if all(sides):
            return "JOIN"
        return "" if joined in _ONE_SIDE[sides[0]] else f"{joined} JOIN"

    def _asks(self, expression: Any, found: dict[str, None]) -> bool:
        """Return True if an expression has a subquery that reads an input.

        Parts of the expression that depend on more than the current row are added to ``found``.
        """
        asks = False
        children = list(_each(expression.children()))
        if self._is_subquery(expression) and self.reads(expression.plan()):
            found["a subquery over the input"] = None
            asks = True
        clause = _beyond_the_row(expression, children)
        if clause:
            found[clause] = None
        return any([asks, *(self._asks(child, found) for child in children)])

    def _is_subquery(self, expression: Any) -> bool:
        from py4j.java_gateway import is_instance_of

        kind = expression.getClass().getName()
        if kind not in self._subqueries:
            self._subqueries[kind] = is_instance_of(self._gateway, expression, _SUBQUERY)
        return self._subqueries[kind]


def _beyond_the_row(expression: Any, children: Sequence[Any]) -> str:
    """Return the part of an expression that depends on more than its row, except random numbers; empty if none."""
    kind = _kind(expression)
    if kind == "PythonUDF":
        return (
            "" if expression.evalType() in _PLAIN_PYTHON else "a Python function that processes batches (pandas, Arrow)"
        )
    if "UDTF" in kind:
        return "a table function in Python or Hive"
    if expression.deterministic() or not all(child.deterministic() for child in children):
        return ""
    if kind in ("Uuid", "StaticInvoke", "Invoke", "ScalaUDF") or _drawn_anew(expression):
        return ""
    return f"{expression.prettyName().lower()}()"


def _drawn_anew(expression: Any) -> bool:
    """Return True if an expression generates random numbers without a fixed seed."""
    try:
        return bool(expression.hideSeed())
    except Exception:
        return False


def _kind(node: Any) -> str:
    """Return the class name of a node, without the package if it is Spark's. The lists contain only Spark's classes."""
    name: str = node.getClass().getName()
    return name.rpartition(".")[2] if name.startswith(_SPARK) else name


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(number) for number in range(sequence.size()))
