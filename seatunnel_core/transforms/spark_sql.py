"""The transform ``SparkSql``: a query of Spark SQL over the rows of a work unit."""

from typing import TYPE_CHECKING, ClassVar

from seatunnel_core.config.option import STRING, Option, Options
from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.transforms.transform import DataFrameTransform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY = Option("query", STRING, required=True, aliases=("sql",), doc="A SELECT over the view that holds the input.")


class SparkSql(DataFrameTransform):
    """The query's view has the name of ``plugin_input``, else of the table.

    Each work unit is a table of its own: a query that sums or joins sees one unit's rows, never all of them.
    """

    identifier: ClassVar[str] = "SparkSql"
    declared = (QUERY,)
    example = 'query = "SELECT id, upper(name) AS name FROM people"'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        if not options[QUERY].strip():
            raise UsageError("option 'query': it is empty; write a SELECT")

    def apply(self, frame: "DataFrame", schema: TableSchema) -> "DataFrame":
        view = self.view(schema)
        try:
            frame.createOrReplaceTempView(view)
            return frame.sparkSession.sql(self.options[QUERY])
        except Exception as error:
            raise TransformError(f"SparkSql: the query over the view {view!r} cannot be planned: {error}") from error

    def view(self, schema: TableSchema) -> str:
        """The name under which the query finds its input."""
        inputs = self.options.get("plugin_input") or ()
        named = inputs if isinstance(inputs, str) else next(iter(inputs), None)
        return named or schema.table.rpartition(".")[2]
