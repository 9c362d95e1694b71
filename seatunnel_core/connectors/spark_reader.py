"""The source ``Spark``: whatever PySpark reads, by the name of its format, data sources in Python included."""

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import BOOLEAN, FUNCTION, MAP, STRING, Option, Options
from seatunnel_core.connector_api.schema import table_without_name
from seatunnel_core.connector_api.source import FrameSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = Option(
    "format", STRING, doc="What spark.read.format takes: jdbc, avro, xml, or a registered Python Data Source."
)
DATA_SOURCE = Option(
    "data_source",
    FUNCTION,
    doc='A Python Data Source that is to be registered: its class in code, "package.module:Name" in a file. Without '
    "format, the one of its name is read.",
)
OPTIONS = Option("options", MAP, secret=True, doc="What the format takes as options.")
PATH = Option("path", STRING, doc="What load takes, for formats that read files or tables by a path.")
SCHEMA = Option(
    "schema", STRING, doc="The columns as Spark writes them, id BIGINT, name STRING; else the format's own."
)
TABLE = Option("table", STRING, doc="How the table is called; plugin_output, or default, when it is not set.")
REPLAYABLE = Option(
    "replayable",
    BOOLEAN,
    default=False,
    doc="Whether reading again gives the same rows. Only you can know; without it a failure may double or lose rows.",
)


class SparkSource(FrameSource):
    """Reads a table as a whole, in one split: a pipeline that fails reads it again from the beginning."""

    identifier: ClassVar[str] = "Spark"
    declared: ClassVar[tuple[Option[Any], ...]] = (FORMAT, DATA_SOURCE, OPTIONS, PATH, SCHEMA, TABLE, REPLAYABLE)
    example: ClassVar[str] = 'format = "json", path = "/data/people.json"'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.replayable = options[REPLAYABLE]  # type: ignore[misc]  # what the user says of this one table
        self._data_source: Any = options[DATA_SOURCE]
        if options[FORMAT] is None and self._data_source is None:
            raise UsageError("say what to read: format, such as json or jdbc, or data_source, a class in Python")
        check_data_source(self._data_source)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the options, which may hold passwords, and the class: only the driver reads."""
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
    """Raise ``UsageError`` for anything but a Python Data Source or ``None``."""
    if found is not None and not callable(getattr(found, "name", None)):
        raise UsageError(
            f"option 'data_source': {found!r} is no Python Data Source: it has to be a subclass of "
            "pyspark.sql.datasource.DataSource"
        )
