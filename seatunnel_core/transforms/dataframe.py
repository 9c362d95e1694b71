"""The transform ``DataFrame``: a function from a Spark ``DataFrame`` to a ``DataFrame``."""

from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_core.config.option import FUNCTION, Option, Options
from seatunnel_core.errors import TransformError
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.transforms.transform import DataFrameTransform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FUNCTION_OPTION = Option(
    "function",
    FUNCTION,
    required=True,
    doc='The function: a callable in code, "package.module:name" in a file. It gets a DataFrame and returns one.',
)


class DataFrameFunction(DataFrameTransform):
    """Calls a function once per work unit, in the driver; Spark runs what it plans."""

    identifier: ClassVar[str] = "DataFrame"
    declared = (FUNCTION_OPTION,)
    example = 'function = "my_package.cleaning:enrich"'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._function: Any = options[FUNCTION_OPTION]

    def apply(self, frame: "DataFrame", schema: TableSchema) -> "DataFrame":
        name = f"{self._function.__module__}:{getattr(self._function, '__qualname__', type(self._function).__name__)}"
        try:
            changed = self._function(frame)
        except Exception as error:
            raise TransformError(f"DataFrame: {name} failed with {type(error).__name__}: {error}") from error
        if not hasattr(changed, "toArrow") or not hasattr(changed, "sparkSession"):
            raise TransformError(f"DataFrame: {name} returned a {type(changed).__name__}, not a Spark DataFrame")
        return changed
