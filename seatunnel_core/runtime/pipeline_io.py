"""Blocking calls of one pipeline to the checkpoint storage, sinks and sources.

The methods run on a pool's thread, return plain values and raise exceptions; they do not use events of the protocol.
"""

import logging
import uuid
from collections.abc import Mapping, Sequence

from attrs import define, evolve, field

from seatunnel_core.checkpoint.commands import PrepareSinks
from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.progress import PipelineProgress
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.claiming.claim import EPOCHS_PER_VERSION, claim_epoch
from seatunnel_core.connector_api.capabilities import (
    SupportsComplete,
    SupportsConclude,
    SupportsProbe,
    SupportsPublishedQuery,
    can_roll_back,
)
from seatunnel_core.connector_api.sink import FrameSink, Sink, SinkContext
from seatunnel_core.connector_api.source import Enumeration
from seatunnel_core.errors import SinkError, UsageError
from seatunnel_core.planning.operator_chains import chain_of, chains_of, emitted_splits
from seatunnel_core.planning.plan import PlannedPipeline, PlannedSink
from seatunnel_core.rows.batch import TableSchema
from seatunnel_core.runtime.acknowledging import Acknowledgements
from seatunnel_core.runtime.job_tables import JobTables
from seatunnel_core.runtime.save_modes import SaveModes
from seatunnel_core.runtime.source_io import SourceIO
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.operator_chain import OperatorChain
from seatunnel_core.work.committable import Committable, with_tables
from seatunnel_core.work.retraction import Retraction
from seatunnel_core.work.split import Split
from seatunnel_storage_api import lineage, retention
from seatunnel_storage_api.errors import (
    CheckpointCorruptedError,
    CheckpointStorageError,
    StaleEpochError,
    UnsupportedFormatError,
)
from seatunnel_storage_api.state import CheckpointRef, PipelineListing, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage

logger = logging.getLogger("seatunnel.job")


@define
class PipelineIO:
    """Blocking calls of one pipeline."""

    job_id: str
    planned: PlannedPipeline
    storage: CheckpointStorage = field(repr=False)
    backend: SparkBackend = field(repr=False)
    shares_disk: bool
    """True if tasks run on this machine. If not, ``prepare_sinks`` checks that they can access the same targets as the
    driver."""

    settled_below: int = 0
    """Epoch below which all output is published: the job had ended and removed its staging folders."""

    increment: str = ""
    """Value of ``SinkContext.increment``."""

    recognised_before: Mapping[str, Sequence[Mapping[str, str]]] = field(factory=dict, repr=False)
    """Value of ``SinkContext.recognised_before``, by sink."""

    save_modes: SaveModes = field(factory=SaveModes, repr=False)
    job_tables: JobTables = field(factory=JobTables, repr=False)
    _saves_later: bool = field(default=False, init=False)
    """True if a save mode is deferred until the tables are known."""

    _published_to: dict[str, Mapping[str, str]] = field(factory=dict, init=False, repr=False)
    """Value of ``SinkContext.published_to`` by sink, including publications of this process."""

    _prepared_in: Mapping[str, int] = field(factory=dict, init=False, repr=False)
    """Value of ``SinkContext.prepared_in``, by sink."""

    upstream: Acknowledgements = field(init=False, repr=False)
    """Acknowledgements of published checkpoints to the sources."""

    sources: SourceIO = field(init=False, repr=False)
    _newest: CheckpointRef | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.upstream = Acknowledgements(self.planned, self._retained)
        self.sources = SourceIO(
            job_id=self.job_id, planned=self.planned, storage=self.storage, backend=self.backend, upstream=self.upstream
        )

    # -- checkpoint storage ---------------------------------------------------------------------------------------

    def claim_epoch(self, minimum: int) -> int:
        """Claim an epoch of at least ``minimum`` and return it."""
        return claim_epoch(self.storage, self.job_id, self.planned.id, minimum)

    def require_own(self, epoch: int) -> None:
        """Raise ``StaleEpochError`` unless ``epoch`` is still the newest."""
        newest = self.storage.newest_epoch(self.job_id, self.planned.id)
        if newest != epoch:
            reason = "its marker was removed" if newest is None else f"epoch {newest} has been claimed"
            raise StaleEpochError(
                f"another engine runs pipeline {self.planned.id} of job {self.job_id!r}, or the job was deleted: "
                f"this engine has epoch {epoch}, but {reason}"
            )

    def list_checkpoints(self) -> PipelineListing:
        """Return the stored checkpoints; raise an error if the last one that this process stored is missing."""
        listing = self.storage.scan(self.job_id, self.planned.id)
        latest = lineage.latest(listing.checkpoints)
        if self._newest is not None and (latest is None or latest.ref < self._newest):
            raise CheckpointStorageError(
                f"checkpoint {self._newest} of pipeline {self.planned.id}, which this process stored, was "
                "removed by another program. Output published since the previous checkpoint would be published again"
            )
        return listing

    def load(self, ref: CheckpointRef) -> PipelineState:
        """Return a stored checkpoint, without staged output if the job had ended after it."""
        state = self.storage.get_checkpoint(self.job_id, self.planned.id, ref.checkpoint_id, epoch=ref.epoch)
        if state is None:
            raise CheckpointStorageError(
                f"checkpoint {ref} of pipeline {self.planned.id} was listed but no longer exists"
            )
        if ref.epoch >= self.settled_below:
            return state
        return codec.without_staged(state)

    def newest_intact(self) -> CheckpointRef | None:
        """Return the newest live checkpoint that can be read; ``None`` if all of them are damaged."""
        try:
            state = self.storage.get_latest_checkpoint(self.job_id, self.planned.id, on_corrupted="previous")
        except CheckpointCorruptedError:
            return None
        return state.ref if state is not None else None

    def _retained(self) -> Sequence[int]:
        """Return the IDs of the stored checkpoints that will expire, except savepoints and their checkpoints."""
        infos = self.storage.list_checkpoints(self.job_id, self.planned.id)
        return [info.checkpoint_id for info in retention.counted(infos)]

    def store(self, state: PipelineState, content: VertexStates) -> None:
        """Store a checkpoint; ``content`` is its state before encoding."""
        self.storage.store_checkpoint(state)
        self._newest = max(state.ref, self._newest or state.ref)
        self.upstream.stored(state.checkpoint_id, content)

    # -- sinks ----------------------------------------------------------------------------------------------------

    def prepare_sinks(self, command: PrepareSinks) -> None:
        """Prepare the targets, verify that tasks write to the same ones, and apply pending save modes."""
        epoch, pending_names = command.epoch, command.save_mode_pending
        self._prepared_in = {sink: known for sink, known in command.prepared_in.items() if known >= self.settled_below}
        self._published_to = dict(command.published_to)
        for sink in self.planned.sinks:
            self.job_tables.add(sink, self._published_to.get(sink.name, ()))
            sink.sink.prepare(self._context(sink, epoch))
        if not self.shares_disk:
            self._prove(epoch)
        pending = [sink for sink in self.planned.sinks if sink.name in pending_names]
        acting = [sink.sink for sink in pending if (mode := sink.sink.save_mode) is not None and mode.does]
        if acting:
            self.require_own(epoch)  # after the fencing of targets, before they change
        self._saves_later = any(sink.defers_save_mode for sink in acting)
        for sink in pending:
            self.save_modes.apply(sink.sink, self._context(sink, epoch))

    def _prove(self, epoch: int) -> None:
        token = uuid.uuid4().hex
        contexts = [(sink.sink, self._context(sink, epoch)) for sink in self.planned.sinks]
        self.backend.probe(contexts, token)  # all of them: before save modes act, tasks have to load each sink
        for sink, context in contexts:
            if isinstance(sink, SupportsProbe):
                sink.prove(context, token)

    def commits_on_spark(self, sink_name: str) -> bool:
        """Return True if the sink publishes with Spark."""
        return isinstance(self.planned.sink(sink_name).sink, FrameSink)

    def commit(
        self, sink_name: str, epoch: int, committables: Sequence[Committable], *, may_be_committed: bool
    ) -> None:
        """Publish committables of one sink. With ``may_be_committed``, they may already be published."""
        planned = self.planned.sink(sink_name)
        sink, context = planned.sink, self._context(planned, epoch)
        if isinstance(sink, FrameSink):
            self.backend.publish(sink, committables, context, may_be_committed=may_be_committed)
        else:
            sink.commit(committables, context, may_be_committed=may_be_committed)
        self._published_to[sink_name] = with_tables(context.published_to, committables)
        self.job_tables.add(planned, self._published_to[sink_name])

    def show(self, shown: Mapping[str, Sequence[str]]) -> None:
        """Pass the values that a finished unit displays to its sinks."""
        for name, texts in shown.items():
            self.planned.sink(name).sink.show(texts)

    def published(self, epoch: int) -> Mapping[str, frozenset[str]]:
        """Return the IDs of the committables that are published according to the targets, keyed by sink (R10)."""
        return {
            sink.name: frozenset(
                sink.sink.published(
                    evolve(self._context(sink, epoch), recognised_before=self.recognised_before.get(sink.name, ()))
                )
                if isinstance(sink.sink, SupportsPublishedQuery)
                else ()
            )
            for sink in self.planned.sinks
        }

    def complete(self, epoch: int) -> None:
        """Make the sinks publish the output that they hold back until the last row (R16)."""
        for planned in self.planned.sinks:
            sink = planned.sink
            if isinstance(sink, SupportsComplete):
                sink.complete(self._context(planned, epoch))

    def sweep(self, epoch: int, keep: frozenset[str], *, final: bool) -> int:
        """Remove staged output except the committables in ``keep``; return the number of removed outputs (R9).

        Sinks that expire their commit records also keep the committables of older live checkpoints. If one of these
        checkpoints cannot be read, such sinks are not swept.
        """
        sinks = [sink for sink in self.planned.sinks if final or not _forgets(sink.sink)]
        removed = sum(sink.sink.sweep(self._context(sink, epoch), keep, final=final) for sink in sinks)
        forgetting = [sink for sink in self.planned.sinks if sink not in sinks]
        named = self._named_by_live() if forgetting else None
        if named is not None:
            removed += sum(
                sink.sink.sweep(self._context(sink, epoch), keep | named, final=False) for sink in forgetting
            )
        return removed

    def _named_by_live(self) -> frozenset[str] | None:
        """Return the committables in all live checkpoints; ``None`` if one of them cannot be read."""
        infos = self.list_checkpoints().checkpoints
        alive = lineage.live(infos)
        try:
            states = [self.storage.load(info) for info in infos if info.ref in alive]
            return codec.committable_ids(state for state in states if state is not None)
        except (CheckpointCorruptedError, UnsupportedFormatError, StateFormatError) as error:
            logger.warning("earlier staged output could not be removed yet: %s", error, extra={"job": self.job_id})
            return None

    def retract(self, epoch: int, retractions: Mapping[str, Retraction]) -> int:
        """Roll back the output published after the restored checkpoint; return the number of removed outputs (R10)."""
        removed = 0
        for planned in self.planned.sinks:
            sink = planned.sink
            if not can_roll_back(sink):
                raise SinkError(f"sink {planned.sink.identifier} cannot roll back published output")
            removed += sink.roll_back(self._context(planned, epoch), retractions[planned.name])
        return removed

    @property
    def concludes(self) -> bool:
        """True if a sink acts at the end of the pipeline, for example to check the number of rows."""
        return any(isinstance(each.sink, SupportsConclude) for each in self.planned.sinks)

    def conclude(self, progress: PipelineProgress) -> None:
        """Call the sinks that act at the end of the pipeline, with the number of committed rows."""
        for sink_name, moved in progress.by_sink.items():
            sink = self.planned.sink(sink_name).sink
            if isinstance(sink, SupportsConclude):
                sink.conclude(moved.rows_committed, progress.table_rows_by_sink[sink_name])

    def clear(self, epoch: int) -> None:
        """Remove late staged output and unneeded state of sinks, after the end of the job has been recorded."""
        for sink in self.planned.sinks:
            sink.sink.clear(self._context(sink, epoch))

    # -- chains -------------------------------------------------------------------------------------------------

    def chain(self, source_name: str, schemas: Sequence[TableSchema], epoch: int) -> OperatorChain:
        """Return the operator chain of a source with these schemas, and create the tables of its sinks."""
        chain = chain_of(self.planned, source_name, schemas, job_id=self.job_id)
        self._create_tables(chain, epoch)
        return chain

    def chains(
        self, enumerations: Mapping[str, Enumeration], frozen: Mapping[str, int], epoch: int
    ) -> tuple[dict[str, OperatorChain], dict[str, tuple[Split, ...]]]:
        """Create the tables of the sinks; return the operator chains and the splits to emit, by source.

        The first source of a query that combines rows emits all splits as one. ``frozen`` is the number of splits of
        each source that an earlier start enumerated.
        """
        chains = chains_of(
            self.planned,
            enumerations,
            job_id=self.job_id,
            frame_plan=lambda transform, arriving: self.backend.frame_plan(transform, arriving),
        )
        emitted = emitted_splits(chains, enumerations)
        for chain in chains:
            if chain.splits is not None:
                self.upstream.read_together(chain.source_name, chain.splits)
                _refuse_new(chain, frozenset(frozen))
        for name, splits in emitted.items():
            require_same_splits(name, frozen.get(name), splits)
        for chain in chains:
            self._create_tables(chain, epoch)
        return {chain.source_name: chain for chain in chains}, emitted

    def _create_tables(self, chain: OperatorChain, epoch: int) -> None:
        if self._saves_later:
            self.require_own(epoch)
        for target in chain.targets:
            context = self._context(self.planned.sink(target.name), epoch)
            if isinstance(target.sink, FrameSink):
                self.backend.begin(target.sink, target.schemas, context)
            else:
                target.sink.create_tables(target.schemas, context)

    def _context(self, sink: PlannedSink, epoch: int) -> SinkContext:
        return SinkContext(
            job_id=self.job_id,
            pipeline_id=self.planned.id,
            sink_ordinal=sink.ordinal,
            epoch=epoch,
            process=epoch // EPOCHS_PER_VERSION,
            prepared_in=self._prepared_in.get(sink.name, 0),
            increment=self.increment,
            published_to=self._published_to.get(sink.name, {}),
            published_by_job=self.job_tables.of(sink),
        )


def _forgets(sink: Sink) -> bool:
    return sink.expires_commit_records and type(sink).sweep is not Sink.sweep


def _refuse_new(query: OperatorChain, restored: frozenset[str]) -> None:
    """Reject a source that an earlier start did not include in the query, because its rows would be missing."""
    names = [reader.name for reader in query.readers]
    new = [name for name in names if name not in restored]
    if new and len(new) < len(names):
        raise UsageError(
            f"the query over {', '.join(names)} started without {', '.join(new)}, which may therefore never be "
            "read: remove the new source, or start a new job"
        )


def require_same_splits(source: str, frozen: int | None, splits: Sequence[Split]) -> None:
    """Raise ``UsageError`` if a source would emit splits that differ from those at the first start of the job.

    This happens if a query that combines all rows has been added to the job or removed from it.
    """
    if frozen in (None, len(splits)):
        return
    raise UsageError(
        f"source {source!r} started with {frozen} splits and would continue with {len(splits)}, because a transform "
        "that combines rows, and therefore reads all splits in one query, was added, changed or removed. Restore "
        "the transforms, or start a new job"
    )
