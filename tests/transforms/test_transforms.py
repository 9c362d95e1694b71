"""The Arrow transforms, and what can be said of the two of the DataFrame path without Spark."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.rows.batch import Batch, ConstraintKey, TableSchema
from seatunnel_core.transforms.dataframe import DataFrameFunction
from seatunnel_core.transforms.field_mapper import FieldMapper
from seatunnel_core.transforms.field_rename import FieldRename
from seatunnel_core.transforms.filter import Filter
from seatunnel_core.transforms.python import PythonFunction
from seatunnel_core.transforms.spark_sql import SparkSql
from seatunnel_core.transforms.sql.transform import Sql

SCHEMA = TableSchema(
    table="shop.people",
    columns=pa.schema([("id", pa.int64()), ("name", pa.string()), ("age", pa.int32())]),
    primary_key=("id",),
)
ROWS = pa.RecordBatch.from_pylist(
    [{"id": 1, "name": "Ada", "age": 36}, {"id": 2, "name": "Bob", "age": 7}], SCHEMA.columns
)
KINDS = pa.array([0, 3], pa.int8())


def made(kind: type[Transform], **options: Any) -> Transform:
    return kind(options_of(kind, options))


def applied(transform: Transform) -> list[dict[str, Any]]:
    """The rows, after a check that they have the columns that were announced, and the kinds that they had."""
    announced = transform.output_schema(SCHEMA)
    batches = list(transform.apply(Batch(table=SCHEMA.table, rows=ROWS, kinds=KINDS)))
    assert all(batch.rows.schema.equals(announced.columns) and batch.kinds == KINDS for batch in batches)
    return [row for batch in batches for row in batch.rows.to_pylist()]


def test_filter_keeps_or_leaves_out_columns() -> None:
    assert applied(made(Filter, include_fields=["name", "id"])) == [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}]
    assert applied(made(Filter, exclude_fields="id, age")) == [{"name": "Ada"}, {"name": "Bob"}]
    assert made(Filter, include_fields=["name"]).output_schema(SCHEMA).primary_key == ()
    assert made(Filter, exclude_fields=["name"]).output_schema(SCHEMA).primary_key == ("id",)


def test_field_mapper_chooses_orders_and_renames() -> None:
    mapper = made(FieldMapper, field_mapper={"name": "who", "id": "number"})
    assert applied(mapper) == [{"who": "Ada", "number": 1}, {"who": "Bob", "number": 2}]
    assert mapper.output_schema(SCHEMA).primary_key == ("number",)


def test_other_keys_and_comments_follow_their_columns() -> None:
    columns = SCHEMA.columns.set(0, SCHEMA.columns.field("id").with_metadata({"comment": "from the till"}))
    one = ConstraintKey(name="u", kind="UNIQUE_KEY", columns=("id",))
    keyed = evolve(SCHEMA, columns=columns, comment="all", constraint_keys=(one, evolve(one, columns=("age", "id"))))

    def after(transform: Transform) -> tuple[Any, ...]:
        schema = transform.output_schema(keyed)
        return schema.comment, [key.columns for key in schema.constraint_keys], schema.columns.field(0).metadata

    comment = {b"comment": b"from the till"}
    assert after(made(Filter, exclude_fields=["name"])) == ("all", [("id",), ("age", "id")], comment)
    assert after(made(Filter, exclude_fields=["age"])) == ("all", [("id",)], comment)
    assert after(made(FieldMapper, field_mapper={"id": "number"})) == ("all", [("number",)], comment)
    assert after(made(FieldRename, prefix="x_")) == ("all", [("x_id",), ("x_age", "x_id")], comment)
    assert after(made(Sql, query="SELECT id AS n, age FROM t")) == ("all", [("n",), ("age", "n")], comment)
    assert after(made(Sql, query="SELECT id, age + 1 AS age FROM t")) == ("all", [("id",)], comment)
    assert after(made(Sql, query="SELECT * FROM t LATERAL VIEW EXPLODE(ARRAY(1, 2)) AS x")) == ("all", [], comment)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Filter, {"include_fields": ["nam"]}, "has no column nam; it has id, name, age"),
        (Filter, {"exclude_fields": ["id", "name", "age"]}, "removes all columns"),
        (FieldMapper, {"field_mapper": {"nam": "x"}}, "has no column nam"),
        (FieldMapper, {"field_mapper": {"id": "x", "name": "x"}}, "contains the new name x more than once"),
    ],
)
def test_columns_that_are_not_there_are_named(kind: type[Transform], options: dict[str, Any], message: str) -> None:
    with pytest.raises(TransformError, match=message):
        made(kind, **options).output_schema(SCHEMA)


@pytest.mark.parametrize("options", [{}, {"include_fields": ["id"], "exclude_fields": ["name"]}])
def test_filter_wants_one_of_its_options(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="either include_fields or exclude_fields"):
        made(Filter, **options)


def older(rows: pa.RecordBatch) -> pa.RecordBatch:
    return rows.set_column(2, "age", pc.add(rows.column("age"), pa.scalar(1, pa.int32())))


def in_halves(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    yield from (rows.slice(0, 1), rows.slice(1))


def broken(rows: pa.RecordBatch) -> pa.RecordBatch:
    if rows.num_rows:
        raise KeyError("wage")
    return rows


def test_a_python_function_changes_batches() -> None:
    assert [row["age"] for row in applied(made(PythonFunction, function=older))] == [37, 8]


def test_a_python_function_may_yield_several_batches() -> None:
    batches = made(PythonFunction, function=in_halves).apply(Batch(table="t", rows=ROWS))
    assert [batch.rows.num_rows for batch in batches] == [1, 1]


@pytest.mark.parametrize("fields", [{}, {"fields": {"age": "int", "id": "bigint"}}])
def test_a_function_may_say_keys_and_comment_of_what_it_returns(fields: dict[str, Any]) -> None:
    block = {"primaryKey": {"columnNames": ["age"]}, "comment": "older ones", **fields}
    found = made(PythonFunction, function=older, schema=block).output_schema(SCHEMA)
    assert (found.table, found.primary_key, found.comment) == ("shop.people", ("age",), "older ones")
    with pytest.raises((TransformError, UsageError), match="option 'schema': the primary key contains"):
        made(PythonFunction, function=older, schema={**block, "primaryKey": {"columns": ["zz"]}}).output_schema(SCHEMA)


def test_a_declared_schema_is_held() -> None:
    schema = {"fields": {"age": "bigint", "id": "bigint"}}
    assert applied(made(PythonFunction, function=older, schema=schema)) == [{"age": 37, "id": 1}, {"age": 8, "id": 2}]
    wrong = made(PythonFunction, function=older, schema={"fields": {"wage": "int"}})
    with pytest.raises(TransformError, match="returned columns that differ from its schema"):
        applied(wrong)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (broken, r"broken failed with KeyError: 'wage'"),
        (len, "returned|failed"),
        (in_halves, "row kinds are unknown"),
    ],
)
def test_a_python_function_that_fails_is_named(function: Any, message: str) -> None:
    with pytest.raises(TransformError, match=message):
        applied(made(PythonFunction, function=function))


class Frame:
    """What the two DataFrame transforms ask of Spark."""

    toArrow = None  # noqa: N815 - Spark's name

    def __init__(self) -> None:
        self.sparkSession = self.catalog = self
        self.views: list[str] = []
        self.queries: list[str] = []

    def createOrReplaceTempView(self, name: str) -> None:  # noqa: N802 - Spark's name
        self.views.append(name)

    def dropTempView(self, name: str) -> None:  # noqa: N802 - Spark's name
        self.views.remove(f"`{name}`")

    def sql(self, query: str) -> "Frame":
        if "FROM" not in query:
            raise ValueError("no FROM")
        self.queries.append(f"{query} with {self.views}")
        return self


def test_spark_sql_names_its_view_after_the_input_else_the_table() -> None:
    frame: Any = Frame()
    sql = SparkSql(options_of(SparkSql, {"query": "SELECT * FROM people"}))
    assert sql.apply(frame, SCHEMA) is frame
    assert frame.queries == ["SELECT * FROM people with ['`people`']"]
    assert frame.views == [], "the view outlived its query, and the next query would find it"
    with pytest.raises(TransformError, match="over the view 'people' cannot be planned: no FROM"):
        SparkSql(options_of(SparkSql, {"query": "SELECT"})).apply(frame, SCHEMA)


def test_a_data_frame_function_must_return_a_frame() -> None:
    frame: Any = Frame()
    keep = DataFrameFunction(options_of(DataFrameFunction, {"function": lambda given: given}))
    assert keep.apply(frame, SCHEMA) is frame
    drop = DataFrameFunction(options_of(DataFrameFunction, {"function": lambda given: None}))
    with pytest.raises(TransformError, match="returned a NoneType, not a Spark DataFrame"):
        drop.apply(frame, SCHEMA)
