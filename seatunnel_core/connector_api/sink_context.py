"""Which unit a writer stages, and which sink of which pipeline the driver means."""

from collections.abc import Mapping, Sequence

from attrs import field, frozen

__all__ = ["SinkContext", "WriterContext"]


@frozen(kw_only=True)
class WriterContext:
    """One attempt of one work unit, for a writer in a task.

    Put every part into the names of staged and target files.
    """

    job_id: str
    pipeline_id: int
    sink_ordinal: int
    source_ordinal: int
    epoch: int
    unit: int
    attempt: str
    """Our attempt and Spark's task attempt, such as ``"1-37"``: no two attempts share it."""


@frozen(kw_only=True)
class SinkContext:
    """One sink of a pipeline in one epoch, as the driver knows it before any unit runs."""

    job_id: str
    pipeline_id: int
    sink_ordinal: int
    epoch: int
    process: int = 0
    """Equal for all pipelines of one process, and larger than in every earlier process of the job."""

    prepared_in: int = field(default=0, eq=False)
    """The newest epoch before this one that is known to have prepared the target; 0 if none is. A target that shows
    nothing of that epoch is another one: ``prepare`` has to refuse it."""

    published_to: Mapping[str, str] = field(factory=dict, eq=False)
    """The tables to which this sink has published rows by now, each with its identity as ``Staged.tables`` has it. One
    that is gone, or another one, was lost with rows: ``create_tables`` and ``commit`` have to refuse it."""

    increment: str = field(default="", eq=False)
    """A description of the increment that the job reads, such as ``source 'a' reads only rows behind 7``; empty if it
    reads everything. A target that does not exist yet will lack the rows of earlier jobs."""

    recognised_before: Sequence[Mapping[str, str]] = field(factory=tuple, eq=False, repr=False)
    """For ``published``: what ``recognises_by`` returned in each process of the job since its options changed, the
    newest last; empty in other calls."""
