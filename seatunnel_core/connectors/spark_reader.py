"""The source ``Spark``: any format that PySpark reads, including Python Data Sources."""

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import BOOLEAN, FUNCTION, MAP, STRING, Option, Options
from seatunnel_core.connector_api.schema import table_without_name
from seatunnel_core.connector_api.source import FrameSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = Option(
    "format", STRING, doc="Argument of spark.read.format: jdbc, avro, xml, or a registered Python Data Source."
)
DATA_SOURCE = Option(
    "data_source",
    FUNCTION,
    doc='Python Data Source to register: in the Python API its class, in a job file "package.module:Name". If format '
    "is unset, it is also the format to read.",
)
OPTIONS = Option("options", MAP, secret=True, doc="Options of the format.")
PATH = Option("path", STRING, doc="Argument of load, for formats that read files or tables by path.")
SCHEMA = Option(
    "schema",
    STRING,
    doc=("Columns in Spark's notation, such as id BIGINT, name STRING; by default the columns of the format."),
)
TABLE = Option("table", STRING, doc='Name of the table. If unset, the value of plugin_output, or "default".')
REPLAYABLE = Option(
    "replayable",
    BOOLEAN,
    default=False,
    doc=(
        "True to state that reading again returns the same rows; the engine cannot check this. If false, a failure "
        "may duplicate or lose rows."
    ),
)


class SparkSource(FrameSource):
    """Reads a table as a whole, in one split. If the pipeline fails, the table is read again from the beginning."""

    identifier: ClassVar[str] = "Spark"
    declared: ClassVar[tuple[Option[Any], ...]] = (FORMAT, DATA_SOURCE, OPTIONS, PATH, SCHEMA, TABLE, REPLAYABLE)
    example: ClassVar[str] = 'format = "json", path = "/data/people.json"'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.replayable = options[REPLAYABLE]  # set by the user for this table
        self._data_source: Any = options[DATA_SOURCE]
        if options[FORMAT] is None and self._data_source is None:
            raise UsageError(
                "the format is missing; set format (for example json or jdbc) or data_source (a Python class)"
            )
        check_data_source(self._data_source)

    def __getstate__(self) -> dict[str, Any]:
        """Omit the options, which may contain passwords, and the data source class: only the driver uses them."""
        return {**self.__dict__, "options": None, "_data_source": None}

    @property
    def table(self) -> str:
        return str(self.options[TABLE] or table_without_name(self.options))

    def frame(self, spark: "SparkSession") -> "DataFrame":
        if self._data_source is not None:
            spark.dataSource.register(self._data_source)
        reader = spark.read.format(self.options[FORMAT] or self._data_source.name())
        if self.options[SCHEMA] is not None:
            reader = reader.schema(self.options[SCHEMA])
        reader = reader.options(**(self.options[OPTIONS] or {}))
        path = self.options[PATH]
        return reader.load() if path is None else reader.load(path)


def check_data_source(found: Any) -> None:
    """Raise UsageError unless the value is a Python Data Source or ``None``."""
    if found is not None and not callable(getattr(found, "name", None)):
        raise UsageError(
            f"option 'data_source': {found!r} is not a Python Data Source: expected a subclass of "
            "pyspark.sql.datasource.DataSource"
        )
