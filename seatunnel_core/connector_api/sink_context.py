"""Identity of a writer's work unit, and of a sink in the driver."""

from collections.abc import Mapping, Sequence, Set

from attrs import field, frozen

__all__ = ["SinkContext", "WriterContext"]


@frozen(kw_only=True)
class WriterContext:
    """Context of a writer in a task: the attempt and its work unit.

    Names of staged and target files must contain every field of the context.
    """

    job_id: str
    pipeline_id: int
    sink_ordinal: int
    source_ordinal: int
    epoch: int
    unit: int
    attempt: str
    """Unique attempt number, composed of the engine's attempt and Spark's task attempt, such as ``"1-37"``."""


@frozen(kw_only=True)
class SinkContext:
    """Context of sink calls in the driver: the sink, its pipeline and the epoch."""

    job_id: str
    pipeline_id: int
    sink_ordinal: int
    epoch: int
    process: int = 0
    """Process number: the same for all pipelines of a process, and larger than that of any earlier process of the
    job."""

    prepared_in: int = field(default=0, eq=False)
    """Latest earlier epoch in which the target was prepared, or 0. A target without traces of that epoch is a different
    target, which ``prepare`` must reject."""

    published_to: Mapping[str, str] = field(factory=dict, eq=False)
    """Tables to which this sink has published rows, each with its identity from ``Staged.tables``. If a table is
    missing or has another identity, its rows are lost: ``create_tables`` and ``commit`` must reject it."""

    published_by_job: Set[str] = field(factory=frozenset, eq=False)
    """Tables to which any sink of the job with the same target has published rows. If such a table is missing, its rows
    are lost, even if this sink has published none of them."""

    increment: str = field(default="", eq=False)
    """Description of the increment that the job reads, such as ``the source 'a' reads only rows after 7``; empty if the
    job reads everything. A newly created target would lack the rows of earlier jobs."""

    recognised_before: Sequence[Mapping[str, str]] = field(factory=tuple, eq=False, repr=False)
    """Results of ``recognises_by`` in each process of the job since its options changed, oldest first. Only set for
    ``published``; otherwise empty."""

    def has_published_to(self, table: str) -> bool:
        """Return True if this sink, or another sink of the job with the same target, has published rows to a table."""
        return table in self.published_to or table in self.published_by_job
