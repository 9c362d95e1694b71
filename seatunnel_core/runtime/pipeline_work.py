"""What a pipeline's commands amount to outside the loop: blocking calls to the checkpoint storage, sinks and sources.

Each method is called from a pool's thread, returns plain values and raises what went wrong; it knows no events.
"""

import uuid
from collections.abc import Mapping, Sequence

from attrs import define, evolve, field

from seatunnel_core.checkpoint import codec
from seatunnel_core.checkpoint.progress import PipelineProgress
from seatunnel_core.checkpoint.retraction import Retraction
from seatunnel_core.checkpoint.split import Committable, Split
from seatunnel_core.connectors.sink import FrameSink, Sink, SinkPlace
from seatunnel_core.connectors.source import Enumeration, FrameSource, Item, News, Planning, Source
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.runtime.chain import program_of
from seatunnel_core.runtime.claim import claim_epoch
from seatunnel_core.runtime.enumeration import freeze, thaw
from seatunnel_core.runtime.planned import PlannedPipeline, PlannedSink, PlannedSource
from seatunnel_core.runtime.upstream import Upstream
from seatunnel_core.spark.plane import SparkPlane
from seatunnel_core.spark.program import Program
from seatunnel_storage_api.errors import CheckpointCorruptedError, CheckpointStorageError, StaleEpochError
from seatunnel_storage_api.state import CheckpointRef, PipelineListing, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage


@define
class PipelineWork:
    """The blocking side of one pipeline."""

    job_id: str
    planned: PlannedPipeline
    storage: CheckpointStorage = field(repr=False)
    plane: SparkPlane = field(repr=False)
    shares_disk: bool
    """Whether tasks run on this machine, so that there is nothing to prove about what they see."""

    settled_below: int = 0
    """All that checkpoints of smaller epochs name is published: the job had ended, and its staging folders are gone."""

    upstream: Upstream = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self.upstream = Upstream(self.planned)

    # -- checkpoint storage ---------------------------------------------------------------------------------------

    def claim_epoch(self, minimum: int) -> int:
        return claim_epoch(self.storage, self.job_id, self.planned.id, minimum)

    def require_own(self, epoch: int) -> None:
        """Look whether ``epoch`` still is the newest.

        Raises:
            StaleEpochError: another engine took the pipeline over, or the job was deleted.
        """
        newest = self.storage.newest_epoch(self.job_id, self.planned.id)
        if newest != epoch:
            reason = "its marker is gone" if newest is None else f"epoch {newest} was claimed since"
            raise StaleEpochError(
                f"another engine runs pipeline {self.planned.id} of job {self.job_id!r}, or the job was deleted: this "
                f"one has epoch {epoch}, and {reason}"
            )

    def list_checkpoints(self) -> PipelineListing:
        return self.storage.scan(self.job_id, self.planned.id)

    def load(self, ref: CheckpointRef) -> PipelineState:
        state = self.storage.get_checkpoint(self.job_id, self.planned.id, ref.checkpoint_id, epoch=ref.epoch)
        if state is None:
            raise CheckpointStorageError(f"checkpoint {ref} of pipeline {self.planned.id} was listed and is gone")
        if ref.epoch >= self.settled_below:
            return state
        return evolve(state, states=codec.encode(codec.decode(state.states).without_staged()))

    def newest_intact(self) -> CheckpointRef | None:
        """Of the live ones; ``None`` when all of them are damaged."""
        try:
            state = self.storage.get_latest_checkpoint(self.job_id, self.planned.id, on_corrupted="previous")
        except CheckpointCorruptedError:
            return None
        return state.ref if state is not None else None

    def store(self, state: PipelineState) -> None:
        self.storage.store_checkpoint(state)
        self.upstream.stored(state)

    # -- sinks ----------------------------------------------------------------------------------------------------

    def prepare_sinks(self, epoch: int, save_mode_pending: frozenset[str]) -> None:
        """Make the targets ready, and prove that what a task writes there is what the driver sees."""
        for sink in self.planned.sinks:
            sink.sink.prepare(self._place(sink, epoch))
        if not self.shares_disk:
            self._prove(epoch)
        for sink in self.planned.sinks:
            if sink.name in save_mode_pending:
                sink.sink.apply_save_mode(self._place(sink, epoch))

    def _prove(self, epoch: int) -> None:
        token = uuid.uuid4().hex
        places = [(sink.sink, self._place(sink, epoch)) for sink in self.planned.sinks]
        self.plane.probe(places, token)
        for sink, place in places:
            sink.prove(place, token)

    def commits_on_spark(self, sink_name: str) -> bool:
        return isinstance(self.planned.sink(sink_name).sink, FrameSink)

    def commit(self, sink_name: str, epoch: int, committables: Sequence[Committable], *, again: bool) -> None:
        planned = self.planned.sink(sink_name)
        sink, place = planned.sink, self._place(planned, epoch)
        if isinstance(sink, FrameSink):
            self.plane.publish(sink, committables, place, again=again)
        else:
            sink.commit(committables, place, again=again)

    def sweep(self, epoch: int, keep: frozenset[str], *, final: bool) -> int:
        return sum(sink.sink.sweep(self._place(sink, epoch), keep, final=final) for sink in self.planned.sinks)

    def retract(self, epoch: int, retractions: Mapping[str, Retraction]) -> int:
        return sum(sink.sink.retract(self._place(sink, epoch), retractions[sink.name]) for sink in self.planned.sinks)

    @property
    def concludes(self) -> bool:
        """Whether a sink has something to say in the end."""
        return any(type(each.sink).conclude is not Sink.conclude for each in self.planned.sinks)

    def conclude(self, progress: PipelineProgress) -> None:
        for sink_name, rows in progress.rows_committed_by_sink.items():
            self.planned.sink(sink_name).sink.conclude(rows, progress.table_rows_by_sink[sink_name])

    def clear(self, epoch: int) -> None:
        """After the job is recorded as ended: take away what came late, and what its sinks no longer need."""
        for sink in self.planned.sinks:
            sink.sink.clear(self._place(sink, epoch))

    # -- sources --------------------------------------------------------------------------------------------------

    @property
    def on_frames(self) -> bool:
        """Whether a source, a transform or a sink is planned by Spark."""
        return self.planned.on_frames

    def is_limited(self, source_name: str) -> bool:
        """Whether a speed limit holds for the source."""
        source = self.planned.source(source_name)
        return source.rows_per_second is not None or source.bytes_per_second is not None

    def discover(self, source_name: str) -> Sequence[Item]:
        """What tasks have to look into before the source can be enumerated."""
        source = self.planned.source(source_name)
        return source.source.discover(_planning(source))

    def enumerate(self, source_name: str, attachment: str | None, items: Sequence[Item]) -> tuple[Enumeration, str]:
        """The frozen enumeration of a source, and the name of the attachment that holds it (R12).

        Needs Spark when there are discovered ``items``.
        """
        source = self.planned.source(source_name)
        if attachment is not None:
            enumeration = thaw(self.storage.get_attachment(self.job_id, attachment))
            self.upstream.enumerated(source_name, enumeration.splits)
            return enumeration, attachment
        planning = _planning(source)
        inspected = self.plane.inspect(source.source, items, planning) if items else ()
        if isinstance(source.source, FrameSource):
            enumeration = _one_split(self.plane.source_schema(source.source))
        else:
            enumeration = source.source.enumerate(inspected, planning)
        self.upstream.enumerated(source_name, enumeration.splits)
        return enumeration, self.storage.store_attachment(self.job_id, freeze(enumeration))

    def open_source(self, source_name: str, *, restored: bool) -> None:
        """Let a source take hold of what its tasks share."""
        self.planned.source(source_name).source.open(restored=restored)

    @property
    def holds_sources(self) -> bool:
        """Whether a source has something to let go of."""
        return any(type(each.source).close is not Source.close for each in self.planned.sources)

    def close_sources(self) -> None:
        """The pipeline has ended, however it did."""
        for source in self.planned.sources:
            source.source.close()

    def look(self, source_name: str, memory: Item) -> News:
        """What an unbounded source has more than it remembers."""
        source = self.planned.source(source_name)
        return source.source.look(memory, _planning(source))

    def splits_of(self, source_name: str, news: News, next_index: int) -> tuple[Split, ...]:
        """The splits of what was found, numbered from ``next_index``. Needs Spark when tasks have to look into it."""
        if not news.items:
            return ()
        source = self.planned.source(source_name)
        planning = _planning(source)
        items = self.plane.inspect(source.source, news.items, planning) if news.inspect else news.items
        found = source.source.enumerate(items, planning).splits
        return tuple(evolve(split, index=next_index + split.index) for split in found)

    def program(self, source_name: str, schemas: Sequence[TableSchema], epoch: int) -> Program:
        """What the tasks of one source run, once its schemas are known; its sinks' tables are there then."""
        program = program_of(
            self.planned,
            source_name,
            schemas,
            job_id=self.job_id,
            frame_schema=lambda transform, schema: self.plane.frame_schema(transform, schema),
        )
        for target in program.targets:
            place = self._place(self.planned.sink(target.name), epoch)
            if isinstance(target.sink, FrameSink):
                self.plane.begin(target.sink, target.schemas, place)
            else:
                target.sink.create_tables(target.schemas, place)
        return program

    def _place(self, sink: PlannedSink, epoch: int) -> SinkPlace:
        return SinkPlace(job_id=self.job_id, pipeline_id=self.planned.id, sink_ordinal=sink.ordinal, epoch=epoch)


def _one_split(schema: TableSchema) -> Enumeration:
    """Of a source that Spark reads."""
    return Enumeration(schemas=(schema,), splits=(Split(index=0, weight_bytes=0, rows=1, body={}),))


def _planning(source: PlannedSource) -> Planning:
    return Planning(
        parallelism=source.parallelism,
        rows_per_second=source.rows_per_second,
        bytes_per_second=source.bytes_per_second,
    )
