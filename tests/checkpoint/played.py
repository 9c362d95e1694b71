"""A pipeline's protocol, played by hand: tests say what happens and look at what is asked for."""

from typing import Any, TypeVar

from attrs import evolve

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.pipeline import PipelineProtocol
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import AttemptId
from seatunnel_storage_api.state import CheckpointInfo, CheckpointRef, CheckpointType, PipelineState

Kind = TypeVar("Kind")

ONE_TO_ONE = Topology(
    sources=(SourceSpec(name="in", ordinal=0, sinks=("out",), parallelism=2),), sinks=(SinkSpec(name="out", ordinal=0),)
)
ORDERED = Topology(
    sources=(SourceSpec(name="in", ordinal=0, sinks=("out",), parallelism=2, ordered=True),),
    sinks=(SinkSpec(name="out", ordinal=0),),
)
SERIAL = Topology(sources=tuple(evolve(each, serial=True) for each in ORDERED.sources), sinks=ORDERED.sinks)
"""Ordered, with a sink that writes directly."""

KEYED = Topology(sources=tuple(evolve(each, keyed=True, parallelism=4) for each in SERIAL.sources), sinks=SERIAL.sinks)
"""The same, and splits with different ordering keys commute."""

ENDLESS = Topology(
    sources=(SourceSpec(name="in", ordinal=0, sinks=("out",), bounded=False, parallelism=2),),
    sinks=(SinkSpec(name="out", ordinal=0),),
)
SPLIT_PER_UNIT = Limits(target_unit_rows=1, credits_per_source=4)
PASSING = Failure(kind=FailureKind.TRANSIENT, message="a worker is gone")
LASTING = Failure(kind=FailureKind.DATA, message="row 7 is bad")


def splits(count: int, *, rows: int = 1, weight_bytes: int = 10, keys: str = "") -> tuple[Split, ...]:
    """Splits whose ordering keys are the letters of ``keys``, in turn; ``-`` stands for none."""
    split = Split(index=0, weight_bytes=weight_bytes, rows=rows, body={})
    found = [None if key == "-" else key for key in keys] or [None]
    return tuple(
        evolve(split, index=index, body={"n": index}, ordering_key=found[index % len(found)]) for index in range(count)
    )


def info_of(state: PipelineState) -> CheckpointInfo:
    return CheckpointInfo(
        job_id=state.job_id,
        pipeline_id=state.pipeline_id,
        epoch=state.epoch,
        checkpoint_id=state.checkpoint_id,
        checkpoint_type=state.checkpoint_type,
        base=state.base,
        size_bytes=len(state.states),
        stored_at=None,
    )


class Played:
    """``tell`` hands an event in; ``said`` is what the last one brought, ``all_said`` everything so far."""

    def __init__(
        self,
        topology: Topology = ONE_TO_ONE,
        *,
        policy: CheckpointPolicy | None = None,
        limits: Limits = SPLIT_PER_UNIT,
        epoch: int = 1,
        restore: RestoreRequest | None = None,
    ) -> None:
        self.protocol = PipelineProtocol(
            job_id="job",
            pipeline_id=1,
            epoch_minimum=epoch,
            topology=topology,
            policy=policy or CheckpointPolicy(interval_ms=1_000, timeout_ms=5_000),
            limits=limits,
            restore=restore or RestoreRequest(),
        )
        self.topology = topology
        self.epoch = epoch
        self.now_ms = 0
        self.said: tuple[Command, ...] = ()
        self.all_said: list[Command] = []

    def deliver(self, event: Any) -> tuple[Command, ...]:
        """Hand in ``event``, stamped with the time of this test."""
        self.said = self.protocol.handle(evolve(event, now_ms=self.now_ms))
        self.all_said.extend(self.said)
        return self.said

    def get(self, kind: type[Kind]) -> list[Kind]:
        """What was said of this kind by the last event."""
        return [command for command in self.said if isinstance(command, kind)]

    def only(self, kind: type[Kind]) -> Kind:
        (command,) = self.get(kind)
        return command

    def ever(self, kind: type[Kind]) -> list[Kind]:
        return [command for command in self.all_said if isinstance(command, kind)]

    # The usual course of things.

    def begin(self, stored: PipelineState | None = None) -> PipelineState:
        """Up to the restore point, which is returned and not stored yet."""
        self.deliver(events.Started(now_ms=0))
        self.deliver(events.EpochClaimed(now_ms=0, epoch=self.epoch))
        known = () if stored is None else (info_of(stored),)
        self.deliver(events.CheckpointsListed(now_ms=0, checkpoints=known, newest_epoch=self.epoch))
        if stored is not None:
            self.deliver(events.CheckpointLoaded(now_ms=0, state=stored))
        return self.only(commands.StoreCheckpoint).state

    def run(self, count: int = 0, *, stored: PipelineState | None = None, **shape: Any) -> None:
        """Up to running, with ``count`` splits in every source that asks for them."""
        self.stored(self.begin(stored).checkpoint_id)
        self.deliver(events.SinksPrepared(now_ms=0))
        while self.get(commands.Commit):
            self.committed()
        self.deliver(events.Swept(now_ms=0, removed=0))
        for asked in self.get(commands.Enumerate):
            self.enumerated(count, source=asked.source, **shape)

    def enumerated(self, count: int, *, source: str = "in", **shape: Any) -> None:
        self.deliver(
            events.Enumerated(now_ms=0, source=source, splits=splits(count, **shape), attachment=f"frozen-{source}")
        )

    def stored(self, checkpoint_id: int) -> None:
        self.deliver(events.CheckpointStored(now_ms=0, ref=CheckpointRef(self.epoch, checkpoint_id)))

    def storage_failed(self, checkpoint_id: int | None = None, failure: Failure = PASSING) -> None:
        ref = None if checkpoint_id is None else CheckpointRef(self.epoch, checkpoint_id)
        self.deliver(events.StorageFailed(now_ms=0, failure=failure, ref=ref))

    def fire(self, key: str) -> None:
        self.deliver(events.TimerFired(now_ms=0, key=key))

    def at(self, now_ms: int) -> "Played":
        self.now_ms = now_ms
        return self

    def finish(
        self, unit: int, *, attempt: int = 1, task: str = "in", rows: int = 1, sinks: Any = ("out",), facts: Any = ()
    ) -> None:
        self.deliver(
            events.UnitFinished(
                now_ms=0,
                task=task,
                attempt=AttemptId(unit=unit, epoch=self.epoch, number=attempt),
                rows_read=rows,
                bytes_read=10,
                rows_skipped=1,
                committables={sink: committable(unit, epoch=self.epoch, source=task, rows=rows) for sink in sinks},
                facts=facts,
            )
        )

    def fail(
        self, unit: int, *, attempt: int = 1, failure: Failure = PASSING, task: str = "in", reading: str = ""
    ) -> None:
        self.deliver(
            events.UnitFailed(
                now_ms=0,
                task=task,
                attempt=AttemptId(unit=unit, epoch=self.epoch, number=attempt),
                failure=failure,
                reading=reading,
            )
        )

    def committed(self) -> None:
        """The oldest commit that the last event asked for succeeds."""
        asked = self.get(commands.Commit)[0]
        ids = tuple(each.id for each in asked.committables)
        self.deliver(events.CommitSucceeded(now_ms=0, sink=asked.sink, ids=ids))

    def checkpoint(self) -> PipelineState:
        """Ask for a checkpoint; its state is returned and not stored yet."""
        self.deliver(events.TriggerRequested(now_ms=0, checkpoint_type=CheckpointType.CHECKPOINT))
        return self.only(commands.StoreCheckpoint).state

    @property
    def running(self) -> list[int]:
        """The numbers of the units that were given to Spark by the last event."""
        return [command.attempt.unit.number for command in self.get(commands.RunUnit)]


def committable(unit: int, *, epoch: int = 1, source: str = "in", rows: int = 1) -> Committable:
    return Committable(
        id=f"0-{epoch}-{unit}", epoch=epoch, unit=unit, source=source, rows=rows, bytes=10, body={"staged": f"u{unit}"}
    )


def states(state: PipelineState) -> VertexStates:
    """The states of the vertices in a stored checkpoint."""
    return codec.decode(state.states)


def held(state: PipelineState) -> list[int]:
    """The numbers of the units in flight in a stored checkpoint."""
    return [unit.unit.number for unit in states(state).tasks["in"].units]


def one_source(**spec: int) -> Topology:
    return Topology(
        sources=(SourceSpec(name="in", ordinal=0, sinks=("out",), **spec),),  # type: ignore[arg-type]
        sinks=(SinkSpec(name="out", ordinal=0),),
    )
