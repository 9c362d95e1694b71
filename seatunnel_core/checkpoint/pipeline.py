"""Checkpoint protocol of one pipeline as a single state machine that receives events and returns commands.

The path of an event, for example a stored checkpoint::

    runtime/epoch_run.py     a thread has stored it; ``deliver`` passes the event ``CheckpointStored`` to ``handle``
    transitions.py           checks that it is legal in this phase
    _handler_table, below    the coordinator's or a vertex's method for this class of event
    vertices/wiring.py       ``Channel.send``: messages between coordinator and vertices, all delivered before
                             ``handle`` returns; ``Wiring.do``: commands, which ``handle`` returns
    runtime/epoch_run.py     ``_action_table`` has the method that executes each command, for example ``Commit``

A *task* in this package is a vertex in the driver. The command ``RunUnit`` starts the Spark task that reads a unit.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from seatunnel_core.checkpoint import events
from seatunnel_core.checkpoint.commands import Command
from seatunnel_core.checkpoint.context import PipelineContext
from seatunnel_core.checkpoint.coordinator import Coordinator
from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.errors import IllegalEventError
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.checkpoint.progress import Moved, PipelineProgress
from seatunnel_core.checkpoint.state.topology import Topology
from seatunnel_core.checkpoint.state.vertex_id import VertexId, VertexKind
from seatunnel_core.checkpoint.transitions import BEFORE_RUNNING, Phase, require_legal
from seatunnel_core.checkpoint.vertices.limits import Limits
from seatunnel_core.checkpoint.vertices.sink import SinkVertex
from seatunnel_core.checkpoint.vertices.source import SourceVertex
from seatunnel_core.checkpoint.vertices.task import TaskVertex
from seatunnel_core.checkpoint.vertices.wiring import Channel, Wiring
from seatunnel_storage_api.state import CheckpointType

Vertex = TypeVar("Vertex", SourceVertex, TaskVertex, SinkVertex)


class PipelineProtocol:
    """Connected coordinator, vertices and channels of one pipeline.

    Each instance serves one start; a restart creates a new one with a larger ``epoch_minimum``. It is not thread-safe,
    and the same events always produce the same commands.
    """

    def __init__(
        self,
        *,
        job_id: str,
        pipeline_id: int,
        epoch_minimum: int,
        topology: Topology,
        policy: CheckpointPolicy,
        limits: Limits,
        restore: RestoreRequest,
        wiring: Wiring | None = None,
    ) -> None:
        """Create and connect the coordinator and the vertices. ``wiring`` delivers their messages."""
        self._wiring = wiring or Wiring()
        self._sources = {spec.name: SourceVertex(spec, limits, self._wiring) for spec in topology.sources}
        self._tasks = {spec.name: TaskVertex(spec, limits, self._wiring) for spec in topology.sources}
        self._sinks = {
            spec.name: SinkVertex(spec, topology.inputs_of(spec.name), limits, self._wiring) for spec in topology.sinks
        }
        self._context = PipelineContext(job_id=job_id, pipeline_id=pipeline_id, topology=topology, wiring=self._wiring)
        self._coordinator = Coordinator(
            self._context, epoch_minimum=epoch_minimum, policy=policy, restore=restore, doing=self._doing
        )
        self._connect(topology)
        self._handlers = self._handler_table()

    def handle(self, event: Event) -> tuple[Command, ...]:
        """Handle one event, and return the commands to execute, in order.

        After ``EndPipeline``, events are ignored; only the result of a commit in progress is still counted.

        Raises:
            IllegalEventError: The event is not legal now; nothing has changed.
        """
        if self._context.phase is Phase.ENDED:
            if isinstance(event, events.CommitSucceeded) and event.sink in self._sinks:
                self._sinks[event.sink].succeeded_late(event)
            return ()
        require_legal(self._context.phase, event)
        self._require_sound(event)
        self._wiring.now_ms = max(self._wiring.now_ms, event.now_ms)
        self._handlers[type(event)](event)
        self._wiring.deliver()
        return self._wiring.take_commands()

    @property
    def phase(self) -> Phase:
        """Current phase of the pipeline."""
        return self._context.phase

    def progress(self) -> PipelineProgress:
        """Return the current counters of the pipeline."""
        coordinator = self._coordinator
        sources, tasks, sinks = self._sources.values(), self._tasks.values(), self._sinks.values()
        totals = [source.splits_total for source in sources]
        by_sink = self._moved_to_sinks()
        return PipelineProgress(
            phase=self._context.phase,
            epoch=self._context.epoch or None,
            rows_read=sum(task.rows_read for task in tasks),
            rows_written=sum(task.rows_written for task in tasks),
            bytes_read=sum(task.bytes_read for task in tasks),
            bytes_written=sum(moved.bytes_written for moved in by_sink.values()),
            rows_skipped=sum(task.rows_skipped for task in tasks),
            rows_committed=sum(sink.rows_committed for sink in sinks),
            bytes_committed=sum(sink.bytes_committed for sink in sinks),
            by_source={
                task.spec.name: Moved(
                    rows_read=task.rows_read, bytes_read=task.bytes_read, rows_skipped=task.rows_skipped
                )
                for task in tasks
            },
            by_sink=by_sink,
            table_rows_by_sink={sink.spec.name: sink.table_rows for sink in sinks},
            units_in_flight=sum(task.units_in_flight for task in tasks),
            units_running=sum(task.units_running for task in tasks),
            units_done=sum(task.units_done for task in tasks),
            splits_done=sum(task.splits_done for task in tasks),
            splits_total=None if None in totals else sum(total or 0 for total in totals),
            uncommitted=sum(sink.uncommitted for sink in sinks),
            last_completed_id=self._context.last_completed_id,
            last_completed_ms=self._context.last_completed_ms,
            pending=len(coordinator.pending),
            degraded=coordinator.health.degraded,
            full_sinks=tuple(sorted(coordinator.health.full_sinks)),
        )

    def _moved_to_sinks(self) -> dict[str, Moved]:
        rows, octets = Counter[str](), Counter[str]()  # committables held by tasks, by sink
        for task in self._tasks.values():
            for name, held in task.held:
                rows[name] += held.rows
                octets[name] += held.bytes
        return {
            name: Moved(
                rows_written=sink.rows_committed + sink.uncommitted_rows + rows[name],
                bytes_written=sink.bytes_committed + sink.uncommitted_bytes + octets[name],
                rows_committed=sink.rows_committed,
                bytes_committed=sink.bytes_committed,
            )
            for name, sink in self._sinks.items()
        }

    def _connect(self, topology: Topology) -> None:
        channel: Callable[[Callable[[Any], None]], Channel] = partial(Channel, self._wiring)
        to_coordinator = {name: channel(self._coordinator.receive) for name in (*self._sources, *self._sinks)}
        for spec in topology.sources:
            source, task = self._sources[spec.name], self._tasks[spec.name]
            source.connect(task=channel(task.receive), coordinator=to_coordinator[spec.name])
            task.connect(
                source=channel(source.receive),
                sinks={name: channel(partial(self._sinks[name].receive_from, spec.name)) for name in spec.sinks},
                coordinator=channel(self._coordinator.receive),
            )
        for sink in self._sinks.values():
            inputs = topology.inputs_of(sink.spec.name)
            sink.connect(
                tasks=tuple(channel(self._tasks[name].receive) for name in inputs),
                coordinator=channel(self._coordinator.receive),
            )
        self._context.connect(
            sources={name: channel(source.receive) for name, source in self._sources.items()},
            tasks={name: channel(task.receive) for name, task in self._tasks.items()},
            sinks={name: channel(sink.receive) for name, sink in self._sinks.items()},
        )

    def _handler_table(self) -> dict[type[Event], Callable[..., None]]:
        coordinator = self._coordinator
        return {
            events.Started: coordinator.start.started,
            events.EpochClaimed: coordinator.start.epoch_claimed,
            events.CheckpointsListed: coordinator.start.checkpoints_listed,
            events.CheckpointLoaded: coordinator.start.checkpoint_loaded,
            events.CheckpointDamaged: coordinator.start.checkpoint_damaged,
            events.PublishedListed: coordinator.start.published_listed,
            events.CheckpointStored: coordinator.checkpoint_stored,
            events.FenceLost: coordinator.fence_lost,
            events.StorageFailed: coordinator.storage_failed,
            events.SinksPrepared: coordinator.start.sinks_prepared,
            events.Completed: coordinator.completed,
            events.Swept: coordinator.swept,
            events.Retracted: coordinator.start.retracted,
            events.ConnectorFailed: coordinator.start.connector_failed,
            events.TriggerRequested: coordinator.trigger_requested,
            events.SavepointRequested: coordinator.savepoint_requested,
            events.StopRequested: coordinator.stop_requested,
            events.TimerFired: lambda event: self._wiring.fire(event.key),
            events.Enumerated: lambda event: self._sources[event.source].enumerated(event),
            events.Found: lambda event: self._sources[event.source].found(event),
            events.PollFailed: lambda event: self._sources[event.source].poll_failed(event),
            events.UnitFinished: lambda event: self._tasks[event.task].finished(event),
            events.UnitFailed: lambda event: self._tasks[event.task].failed(event),
            events.CommitSucceeded: lambda event: self._sinks[event.sink].succeeded(event),
            events.CommitFailed: lambda event: self._sinks[event.sink].failed(event),
        }

    def _require_sound(self, event: Event) -> None:
        """Raise ``IllegalEventError`` for an event with impossible content, before anything changes."""
        match event:
            case events.UnitFinished(task=task):
                self._known(self._tasks, task, "task").require_sound(event)
            case events.UnitFailed(task=task):
                self._known(self._tasks, task, "task")
            case events.CommitSucceeded(sink=sink) | events.CommitFailed(sink=sink):
                self._known(self._sinks, sink, "sink").require_in_flight(event)
            case events.Enumerated(source=source):
                self._known(self._sources, source, "source").require_awaited(event)
            case events.Found(source=source) | events.PollFailed(source=source):
                self._known(self._sources, source, "source").require_polling(event)
            case events.EpochClaimed():
                self._coordinator.start.require_large_enough(event)
            case events.CheckpointLoaded():
                self._coordinator.start.require_asked_for(event)
            case events.CheckpointStored():
                self._coordinator.require_own(event)
            case events.StorageFailed(ref=None) if self.phase not in BEFORE_RUNNING:
                raise IllegalEventError(
                    "a storage failure of a running pipeline must name the checkpoint that could not be stored"
                )
            case events.TriggerRequested(checkpoint_type=kind) if kind is not CheckpointType.CHECKPOINT:
                raise IllegalEventError(f"cannot request {kind}, only {CheckpointType.CHECKPOINT}")

    @staticmethod
    def _known(vertices: dict[str, Vertex], name: str, kind: str) -> Vertex:
        if name not in vertices:
            raise IllegalEventError(f"the pipeline has no {kind} {name!r}; it has {', '.join(sorted(vertices))}")
        return vertices[name]

    def _doing(self, vertex: VertexId) -> tuple[str, int]:
        if vertex.kind is VertexKind.SOURCE:
            return self._sources[vertex.name].doing()
        if vertex.kind is VertexKind.TASK:
            return self._tasks[vertex.name].doing()
        return self._sinks[vertex.name].doing()
