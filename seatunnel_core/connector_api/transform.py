"""Interface of transform plugins (entry-point group ``seatunnel.transform``)."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_core.config.option import ENUM, Option, Options
from seatunnel_core.errors import TransformError
from seatunnel_core.rows.batch import Batch, TableSchema

__all__ = ["ALL", "AUTO", "SCOPE", "UNIT", "DataFrameTransform", "Transform"]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Transform(ABC):
    """Transform of Arrow batches; must be picklable."""

    identifier: ClassVar[str]
    declared: ClassVar[tuple[Option[Any], ...]]
    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules, except pyarrow, that tasks import. Executors are checked for them before data moves."""

    keeps_absent: bool = False
    """True if ``apply`` keeps ``Batch.absent``: absent values stay marked. If False, rows with such values are rejected
    before they reach the transform."""

    keeps_columns: bool = False
    """True if each column of the output has the values of the input's column with the same name, if there is one."""

    needs_origins: bool = False
    """True if ``apply`` needs ``Batch.origins``, which only a source with ``has_origins`` provides."""

    drops_origins: bool = False
    """True if ``apply`` returns batches without ``Batch.origins``. Later transforms then cannot use origins."""

    example: ClassVar[str] = ""
    """Options of a valid block in HOCON, for help and documentation; by default generated from the required options."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @abstractmethod
    def output_schema(self, schema: TableSchema) -> TableSchema:
        """Return the schema of the output, without reading data.

        Raises:
            TransformError: The transform cannot be applied to the columns.
        """

    def output_schemas(self, schema: TableSchema) -> tuple[TableSchema, ...]:
        """Return the schemas of all output tables of an input table; by default, only ``output_schema``.

        Raises:
            TransformError: The transform cannot be applied.
        """
        return (self.output_schema(schema),)

    @abstractmethod
    def apply(self, batch: Batch) -> Iterator[Batch]:
        """Transform one batch in a Spark task. The result must not depend on how rows are divided into batches."""


AUTO, UNIT, ALL = "auto", "unit", "all"

SCOPE = Option(
    "scope",
    ENUM(AUTO, UNIT, ALL),
    default=AUTO,
    doc=(
        "Input rows of one query or function call. `all`: the rows of all splits of the sources, in one Spark "
        "query (batch jobs only). `unit`: the rows of one work unit, so a group may occur in several units. "
        "`auto`: depends on Spark's plan; operations across rows need `all`."
    ),
)


class DataFrameTransform(ABC):
    """Transform of a Spark ``DataFrame``; its operator chain uses the DataFrame path."""

    identifier: ClassVar[str]
    declared: ClassVar[tuple[Option[Any], ...]]
    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules, except pyarrow, that tasks import. Executors are checked for them before data moves."""

    example: ClassVar[str] = ""
    """Options of a valid block in HOCON, for help and documentation; by default generated from the required options."""

    scope: str = AUTO
    """Value of the option ``SCOPE``: ``auto``, ``unit`` or ``all``."""

    def __init__(self, options: Options) -> None:
        self.options = options
        if SCOPE.key in options:
            self.scope = options[SCOPE]

    @abstractmethod
    def apply(self, frame: "DataFrame", schema: TableSchema) -> "DataFrame":
        """Return the new frame. Runs in the driver: for planning, and then once per attempt of a work unit or query."""

    def apply_to_inputs(self, frames: Mapping[str, "DataFrame"], schema: TableSchema) -> "DataFrame":
        """Return the new frame of a transform with several inputs.

        Args:
            frames: The inputs by their ``plugin_output``, in the order of ``plugin_input``.
            schema: The schema of the first input.

        Raises:
            TransformError: The transform accepts only one input.
        """
        raise TransformError(f"{self.identifier} takes one input but receives {len(frames)}: {', '.join(frames)}")
