"""The interface of a transform plugin (entry-point group ``seatunnel.transform``)."""

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
    """An entry of a job's ``transform`` block that works on Arrow batches; it must be picklable."""

    identifier: ClassVar[str]
    declared: ClassVar[tuple[Option[Any], ...]]
    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that its Spark tasks import beyond pyarrow; probed on the executors before data moves."""

    example: ClassVar[str] = ""
    """Options of a block in HOCON that works, for help and documentation; empty: one is made of the required ones."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @abstractmethod
    def output_schema(self, schema: TableSchema) -> TableSchema:
        """Return the schema after the transform, computed without data.

        Raises:
            TransformError: the transform cannot be applied to the columns.
        """

    def output_schemas(self, schema: TableSchema) -> tuple[TableSchema, ...]:
        """Return all tables that the rows of one become; for most transforms the one of ``output_schema``.

        Raises:
            TransformError: the transform cannot be applied.
        """
        return (self.output_schema(schema),)

    @abstractmethod
    def apply(self, batch: Batch) -> Iterator[Batch]:
        """Change the rows of one batch. Runs in a Spark task. Must give the same rows however batches are cut."""


AUTO, UNIT, ALL = "auto", "unit", "all"

SCOPE = Option(
    "scope",
    ENUM(AUTO, UNIT, ALL),
    default=AUTO,
    doc="Which rows are one table. `all`: those of all splits of its sources, in one query of Spark (batch jobs only). "
    "`unit`: those of each work unit by itself, so a group comes once per unit. `auto`: Spark's plan decides; what "
    "looks across rows needs `all`.",
)


class DataFrameTransform(ABC):
    """An entry that Spark itself runs, from ``DataFrame`` to ``DataFrame``; its chain takes the DataFrame path."""

    identifier: ClassVar[str]
    declared: ClassVar[tuple[Option[Any], ...]]
    task_modules: ClassVar[tuple[str, ...]] = ()
    """Top-level modules that its Spark tasks import beyond pyarrow; probed on the executors before data moves."""

    example: ClassVar[str] = ""
    """Options of a block in HOCON that works, for help and documentation; empty: one is made of the required ones."""

    scope: str = AUTO
    """``auto``, ``unit`` or ``all``, as the option ``SCOPE`` has it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        if SCOPE.key in options:
            self.scope = options[SCOPE]

    @abstractmethod
    def apply(self, frame: "DataFrame", schema: TableSchema) -> "DataFrame":
        """Build the new frame.

        Called in the driver: to learn the plan, and then once per attempt of a work unit, or of the query over all
        splits.
        """

    def apply_to_inputs(self, frames: Mapping[str, "DataFrame"], schema: TableSchema) -> "DataFrame":
        """Build the new frame of a transform that has several inputs, as ``apply`` does of one.

        Args:
            frames: by the name that each input has as ``plugin_output``, in the order of ``plugin_input``.
            schema: of the first.

        Raises:
            TransformError: it takes one input.
        """
        raise TransformError(f"{self.identifier} takes one input and gets {len(frames)}: {', '.join(frames)}")
