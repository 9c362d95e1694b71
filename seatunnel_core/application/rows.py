"""Output of a node, to which further nodes of the job are added."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seatunnel_core.application import outline
from seatunnel_core.config.job_file import Kind
from seatunnel_core.errors import UsageError
from seatunnel_core.transforms.row_function import RowFunction

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from seatunnel_core.application.job import Job

Options = Mapping[str, Any]


class Rows:
    """The output of a source or a transform, to which further nodes are added."""

    def __init__(self, job: "Job", name: str) -> None:
        self.job = job
        self.name = name

    def __repr__(self) -> str:
        return f"<Rows {self.name!r} of job {self.job.name!r}>"

    def _repr_html_(self) -> str:
        return outline.as_html(
            f"Rows {self.name} of job {self.job.name}", outline.leading_to(self.name, self.job._nodes)
        )

    def transform(
        self, identifier: str | RowFunction, options: Options | None = None, /, *, name: str = "", **more: Any
    ) -> "Rows":
        """Add a transform of these rows and return its output.

        The arguments are those of ``Job.source``; the identifier may also be a function with ``@st.transform``.
        """
        if isinstance(identifier, RowFunction):
            free = "" if identifier.name in self.job._names else identifier.name
            return self.transform("Python", {**(options or {}), **identifier.options()}, name=name or free, **more)
        if not isinstance(identifier, str):
            raise UsageError(
                f"a transform is the name of a plugin, or a function with @st.transform; found {identifier!r}. "
                "Functions of Arrow batches go to map_batches, and those of DataFrames to map_frame"
            )
        return self.job._add(Kind.TRANSFORM, identifier, {**(options or {}), **more}, name, (self,))

    def map_batches(
        self, function: "Callable[[pa.RecordBatch], pa.RecordBatch]", *, name: str = "", **options: Any
    ) -> "Rows":
        """Add a Python function from an Arrow record batch to another one, and return its output.

        It runs in Spark tasks and must return the same rows however the input is divided into batches.
        """
        return self.transform("Python", {"function": function}, name=name, **options)

    def map_frame(
        self, function: "Callable[..., DataFrame]", /, *others: "Rows", name: str = "", **options: Any
    ) -> "Rows":
        """Add a Python function from a Spark DataFrame, or from several, to another one, and return its output.

        Spark's plan determines the content of the frame: the rows of a work unit if the plan processes each row
        separately, otherwise all rows of the sources, in one query, which streaming jobs reject. Set ``scope="unit"``
        or ``scope="all"`` to override this; it is required for a function that reads rows while it builds its plan.
        """
        return self._transformed("DataFrame", {"function": function, **options}, name, others)

    def sql(self, query: str, /, *others: "Rows", name: str = "", **options: Any) -> "Rows":
        """Add a query of Spark SQL over these rows and ``others``, each a view named like its node; return the output.

        A query that combines rows runs once over all rows of the sources, as in ``map_frame``.
        """
        return self._transformed("SparkSql", {"query": query, **options}, name, others)

    def _transformed(self, identifier: str, options: Options, name: str, others: Sequence["Rows"]) -> "Rows":
        return self.job._add(Kind.TRANSFORM, identifier, dict(options), name, (self, *others))

    def collect(self, *others: "Rows", name: str = "", **options: Any) -> None:
        """Add a sink that keeps the rows in this process for ``JobHandle.collect``.

        The default maximum is 16 MB; set the option ``limit`` to change it.
        """
        self.sink("Memory", options, *others, name=name)

    def sink(
        self, identifier: str, options: Options | None = None, /, *others: "Rows", name: str = "", **more: Any
    ) -> None:
        """Add a sink of these rows, and of ``others`` if there are any; the arguments are those of ``Job.source``."""
        self.job._add(Kind.SINK, identifier, {**(options or {}), **more}, name, (self, *others))
