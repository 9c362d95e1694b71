"""The transform ``SparkSql``: runs a Spark SQL query."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import TransformError, UsageError
from seatunnel_core.connector_api.option import STRING, Option, Options
from seatunnel_core.connector_api.transform import SCOPE, DataFrameTransform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY = Option("query", STRING, required=True, aliases=("sql",), doc="SELECT over the views of the inputs.")


class SparkSql(DataFrameTransform):
    """The query has one view per input, named after ``plugin_input`` or, without it, the table.

    If the plan works row by row, the query runs over each work unit. If it combines rows (GROUP BY, DISTINCT, ORDER
    BY, LIMIT, a window, a join of inputs), it runs once over all splits; streaming jobs reject that.
    """

    identifier: ClassVar[str] = "SparkSql"
    declared = (QUERY, SCOPE)
    example = 'query = "SELECT id, upper(name) AS name FROM people"'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        if not options[QUERY].strip():
            raise UsageError("option 'query' is empty; set it to a SELECT")

    def apply(self, frame: "DataFrame", schema: TableSchema) -> "DataFrame":
        return self.apply_to_inputs({self.view(schema): frame}, schema)

    def apply_to_inputs(self, frames: Mapping[str, "DataFrame"], schema: TableSchema) -> "DataFrame":
        spark = next(iter(frames.values())).sparkSession
        try:
            with _views(spark, frames):
                return spark.sql(self.options[QUERY])
        except Exception as error:
            names = ", ".join(map(repr, frames))
            views = f"the view {names}" if len(frames) == 1 else f"the views {names}"
            raise TransformError(f"SparkSql: the query over {views} cannot be planned: {error}") from error

    def view(self, schema: TableSchema) -> str:
        """Return the name of the view for the transform's only input."""
        inputs = self.options.get("plugin_input") or ()
        named = inputs if isinstance(inputs, str) else next(iter(inputs), None)
        return named or schema.table.rpartition(".")[2]


@contextmanager
def _views(spark: "SparkSession", frames: Mapping[str, "DataFrame"]) -> "Iterator[None]":
    """Register the frames as views, and drop them afterwards so that later queries cannot refer to them."""
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(f"`{name}`")
        yield
    finally:
        for name in frames:
            spark.catalog.dropTempView(name)
