"""The transform ``DataFrame``: applies a function to a Spark ``DataFrame``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import TransformError
from seatunnel_core.connector_api.option import FUNCTION, Option, Options
from seatunnel_core.connector_api.transform import SCOPE, DataFrameTransform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FUNCTION_OPTION = Option(
    "function",
    FUNCTION,
    required=True,
    doc='Function, as a callable in code or as "package.module:name" in a file. It receives one DataFrame per input '
    "and returns one.",
)


class DataFrameFunction(DataFrameTransform):
    """The function is called in the driver; Spark runs the resulting plan.

    If the plan works row by row, each DataFrame contains the rows of one work unit. If it combines rows (an aggregate,
    a window, a join of inputs), one DataFrame contains the rows of all splits; streaming jobs reject that. A function
    that calls a Spark action (``count``, ``collect``) cannot be analysed: it needs the option ``scope``.
    """

    identifier: ClassVar[str] = "DataFrame"
    declared = (FUNCTION_OPTION, SCOPE)
    example = 'function = "my_package.cleaning:enrich"'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._function: Any = options[FUNCTION_OPTION]

    def apply(self, frame: "DataFrame", schema: TableSchema) -> "DataFrame":
        return self._called(frame)

    def apply_to_inputs(self, frames: Mapping[str, "DataFrame"], schema: TableSchema) -> "DataFrame":
        return self._called(*frames.values())

    def _called(self, *frames: "DataFrame") -> "DataFrame":
        name = f"{self._function.__module__}:{getattr(self._function, '__qualname__', type(self._function).__name__)}"
        try:
            changed = self._function(*frames)
        except Exception as error:
            raise TransformError(f"DataFrame: {name} failed with {type(error).__name__}: {error}") from error
        if not hasattr(changed, "toArrow") or not hasattr(changed, "sparkSession"):
            raise TransformError(f"DataFrame: {name} returned a {type(changed).__name__}, not a Spark DataFrame")
        return changed
