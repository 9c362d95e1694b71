"""Sources and sinks of simulated jobs. They are planned like any others; what they do, they do to the world."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seatunnel_core.config.option import BOOLEAN, LONG, STRING, Option, Options
from seatunnel_core.connector_api.sink import Guarantee, SaveMode, Sink, SinkContext, SinkWriter, WriterContext
from seatunnel_core.connector_api.source import (
    DiscoveredObject,
    Enumeration,
    PlanningContext,
    ReadContext,
    Source,
    discovered,
)
from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.connector_api.written_options import written_options
from seatunnel_core.connectors.staging.lost_table import require_same_table
from seatunnel_core.errors import CommitError, SinkError, SourceError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.retraction import Retraction
from seatunnel_core.work.split import Split
from tests.checkpoint.simulation.target import MissingError, Published

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.sight import Sight
    from tests.checkpoint.simulation.jobs.world import JobWorld

SCHEMA = TableSchema(table="rows", columns=pa.schema([("id", pa.int64())]))
BYTES_PER_WEIGHT = 1_500_000


class _InWorld:
    world: "JobWorld"


class SimulatedSource(_InWorld, Source):
    identifier = "Simulated"
    declared = (
        Option("title", STRING, required=True, doc="Its name."),
        Option("splits", LONG, required=True, doc="How many splits it has."),
    )

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.waits = {"0": False, "1": True}.get(options["title"][-1])

    def discover(self, planning: PlanningContext) -> Sequence[DiscoveredObject]:
        """Half of them want a task to look inside first."""
        self._act("a listing")
        return discovered(("a", "b")) if self.options["splits"] % 2 else ()

    def enumerate(self, inspected: Sequence[DiscoveredObject], planning: PlanningContext) -> Enumeration:
        """A later enumeration of the same source finds something else (R12)."""
        self._act("a source")
        rng, name = self.world.rng, self.options["title"]
        count = self.options["splits"] + rng.randint(0, 2)
        sinks = self.world.sinks_of(name)
        label = f"{name}-{next(self.world.numbers)}"
        splits = tuple(
            Split(
                index=index,
                weight_bytes=rng.randint(1, 6) * BYTES_PER_WEIGHT,
                rows=rng.randint(1, 10),
                body={"enumeration": label, "filtered": [sink for sink in sinks if rng.random() < 0.1]},
                ordering_key=self.ordering_key_of(index),
            )
            for index in range(count if self.options["splits"] else 0)
        )
        return Enumeration(schemas=(SCHEMA,), splits=splits)

    def ordering_key_of(self, index: int) -> str | None:
        return None

    def read(self, split: Split, context: ReadContext) -> Iterator[Batch]:
        raise NotImplementedError

    def _act(self, what: str) -> None:
        fails = self.world.chance(self.world.scenario.faults.place_fails)
        self.world.stage.act(lambda: None)
        if fails:
            error = SourceError(f"the simulation broke {what}")
            error.retryable = True
            raise error


class OrderedSource(SimulatedSource):
    identifier = "SimulatedOrdered"
    ordered = True

    def ordering_key_of(self, index: int) -> str | None:
        """Two keys in turn, as a topic with two partitions; and now and then a split that has none."""
        return None if index % 5 == 4 else "ab"[index % 2]


class PassingTransform(_InWorld, Transform):
    identifier = "Passing"
    declared = ()

    def output_schema(self, schema: TableSchema) -> TableSchema:
        return schema

    def apply(self, batch: Batch) -> Iterator[Batch]:
        raise NotImplementedError


class SimulatedSink(_InWorld, Sink):
    """Publishing consumes, as a rename does. It stages and publishes where it is told, and finds again what it is told
    the same for."""

    identifier = "Simulated"
    declared = (
        Option("title", STRING, required=True, doc="Its name."),
        Option("path", STRING, required=True, doc="Where it publishes."),
        Option("staging", STRING, default="", doc="Where it stages, if not there."),
        Option("staged", BOOLEAN, default=True, doc="Whether it stages."),
        Option("tuning", LONG, default=0, doc="What changes nothing."),
    )
    bound_by = declared[1:4]
    tables: Mapping[str, str] = {}
    """Its table, with its identity."""

    @property
    def bound_to(self) -> Mapping[str, str]:
        return written_options(self.options, *self.bound_by)

    @property
    def destination(self) -> str:
        """Where rows of this sink belong, and what becomes of them there."""
        where = (f"{option.key}={self.options[option.key]}" for option in self.bound_by)
        return ", ".join((f"plugin={self.identifier}", *where))

    @property
    def _name(self) -> str:
        name: str = self.options["title"]
        return name

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        raise NotImplementedError

    @property
    def save_mode(self) -> SaveMode:
        """In some jobs all sinks write into one target."""
        return SaveMode(target="shared" if self.world.shares_target else self.options["path"], does="DROP_DATA")

    def prepare(self, context: SinkContext) -> None:
        """Leaves a fence, and takes away those of earlier processes."""

        def fence() -> None:
            fences = self.world.fences.setdefault(self.save_mode.target, set())
            fences.difference_update([fence for fence in fences if fence.process < context.process])
            fences.add(context)

        self._act(fence, "prepare")

    def apply_save_mode(self, context: SinkContext) -> None:
        sight, target = self._sight(context), self.save_mode.target

        def empty() -> None:
            if context not in self.world.fences[target]:
                raise SinkError("another engine has taken over the job")
            self.world.empties(target)
            sight.save_mode(context.epoch, self._name)

        self._act(empty, "save mode")

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        """Create the table, unless it is lost; what has the fence creates it."""
        table = self._table
        if context not in self.world.fences[self.save_mode.target]:
            raise SinkError("another engine has taken over the job")
        require_same_table(context, self._name, table, self.world.tables.existing.get(table))
        if table not in self.world.tables.existing:
            self.world.create_table(table, self.identifier, self._sight(context))
        self.tables = {table: self.world.tables.existing[table]}

    @property
    def _table(self) -> str:
        """The table of this sink alone, also where sinks have exchanged their paths."""
        return f"{self._name} in {self.options['path']}"

    def commit(self, committables: Sequence[Committable], context: SinkContext, *, may_be_committed: bool) -> None:
        """One after the other, each an atomic step; the process may die or sleep between two."""
        require_same_table(context, self._name, self._table, self.world.tables.existing.get(self._table), CommitError)
        sight, fails = self._sight(context), self.world.scenario.faults.commit_fails
        for committable in committables:
            if self.world.chance(fails / 4):
                raise CommitError("the simulation broke a commit", retryable=True)
            self.world.tables.written.add(self.save_mode.target)
            self.world.may_fall_asleep("commit")
            try:
                self.world.stage.act(
                    lambda each=committable: sight.publish(
                        context.epoch, self._name, self.destination, each, may_be_committed=may_be_committed
                    )  # type: ignore[misc]
                )
            except MissingError as error:
                raise CommitError(str(error)) from error
            self.world.tables.filled[self._table] = self.identifier
        if self.world.chance(fails):
            raise CommitError("the simulation broke a commit after all was published", retryable=True)

    def complete(self, context: SinkContext) -> None:
        """Refused, as by a real target, if a newer process has prepared it (R16)."""
        sight, target = self._sight(context), self.save_mode.target

        def finish() -> None:
            if context not in self.world.fences[target]:
                raise SinkError("another engine has taken over the job")
            sight.complete(context.epoch)

        self._act(finish, "completion")

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        sight = self._sight(context)
        keys = self._act(
            lambda: sight.to_sweep(self._name, self.destination, context.epoch, keep, final=final), "sweep"
        )
        self._act(lambda: sight.sweep(context.epoch, keys), "sweep")
        return len(keys)

    def roll_back(self, context: SinkContext, retraction: Retraction) -> int:
        sight = self._sight(context)
        listed: list[Published] = self._act(
            lambda: sight.to_take_back(self._name, self.destination, retraction), "retraction"
        )
        for publication in listed:
            self._act(lambda each=publication: sight.take_back(context.epoch, each), "retraction")
        return len(listed)

    def _sight(self, context: SinkContext) -> "Sight":
        return self.world.sights[context.pipeline_id]

    def _act(self, effect: Any, what: str) -> Any:
        fails = self.world.chance(self.world.scenario.faults.place_fails)
        self.world.may_fall_asleep(what)
        slow = what == "prepare" and self.world.chance(self.world.scenario.faults.unit_is_slow)
        answer = self.world.stage.act(effect, most_ms=8_000 if slow else 4)
        if fails:
            error = SinkError(f"the simulation broke the {what} of a sink")
            error.retryable = True
            raise error
        return answer


class SinkAtOnce(SimulatedSink):
    """One whose tasks write into the target, as far as the engine knows."""

    identifier = "SimulatedAtOnce"
    guarantee = Guarantee.AT_LEAST_ONCE


class Plugins:
    """The registry of a world."""

    def __init__(self, world: "JobWorld") -> None:
        def bound(kind: type) -> Any:
            return type(kind.__name__, (kind,), {"world": world})

        sources = {kind.identifier: bound(kind) for kind in (SimulatedSource, OrderedSource)}
        self._sources, self._transform = sources, bound(PassingTransform)
        self._sinks = {kind.identifier: bound(kind) for kind in (SimulatedSink, SinkAtOnce)}

    def source(self, identifier: str) -> Any:
        return self._sources[identifier]

    def transform(self, _identifier: str) -> Any:
        return self._transform

    def sink(self, identifier: str) -> Any:
        return self._sinks[identifier]


def numbers() -> Iterator[int]:
    """Of whatever needs a name that nothing else has."""
    return itertools.count(1)
