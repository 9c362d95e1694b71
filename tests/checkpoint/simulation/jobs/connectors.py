"""Sources and sinks of simulated jobs. They are planned like any others; what they do, they do to the world."""

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from seatunnel_core.checkpoint.retraction import Retraction
from seatunnel_core.checkpoint.split import Committable, Split
from seatunnel_core.config.option import LONG, STRING, Option
from seatunnel_core.connectors.sink import Sink, SinkPlace, SinkWriter, StagingPlace
from seatunnel_core.connectors.source import Enumeration, Item, Planning, ReadContext, Source, discovered
from seatunnel_core.errors import CommitError, SinkError, SourceError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.transforms.transform import Transform
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

    def discover(self, planning: Planning) -> Sequence[Item]:
        """Half of them want a task to look inside first."""
        self._act("a listing")
        return discovered(("a", "b")) if self.options["splits"] % 2 else ()

    def enumerate(self, inspected: Sequence[Item], planning: Planning) -> Enumeration:
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
            )
            for index in range(count if self.options["splits"] else 0)
        )
        return Enumeration(schemas=(SCHEMA,), splits=splits)

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


class PassingTransform(_InWorld, Transform):
    identifier = "Passing"
    declared = ()

    def output_schema(self, schema: TableSchema) -> TableSchema:
        return schema

    def apply(self, batch: Batch) -> Iterator[Batch]:
        raise NotImplementedError


class SimulatedSink(_InWorld, Sink):
    """Publishing consumes, as a rename does."""

    identifier = "Simulated"
    declared = (Option("title", STRING, required=True, doc="Its name."),)
    retracts = True

    @property
    def _name(self) -> str:
        name: str = self.options["title"]
        return name

    def open_writer(self, schemas: Sequence[TableSchema], place: StagingPlace) -> SinkWriter:
        raise NotImplementedError

    def prepare(self, place: SinkPlace) -> None:
        self._act(lambda: None, "a sink")

    def apply_save_mode(self, place: SinkPlace) -> None:
        sight = self._sight(place)
        self._act(lambda: sight.save_mode(place.epoch, self._name), "a save mode")

    def commit(self, committables: Sequence[Committable], place: SinkPlace, *, again: bool) -> None:
        """One after the other, each an atomic step; the process may die or sleep between two."""
        sight, fails = self._sight(place), self.world.scenario.faults.commit_fails
        for committable in committables:
            if self.world.chance(fails / 4):
                raise CommitError("the simulation broke a commit", retryable=True)
            try:
                self.world.stage.act(lambda each=committable: sight.publish(place.epoch, self._name, each, again=again))  # type: ignore[misc]
            except MissingError as error:
                raise CommitError(str(error)) from error
        if self.world.chance(fails):
            raise CommitError("the simulation broke a commit after all was published", retryable=True)

    def sweep(self, place: SinkPlace, keep: frozenset[str], *, final: bool) -> int:
        sight = self._sight(place)
        keys = self._act(lambda: sight.to_sweep(self._name, place.epoch, keep, final=final), "a sweep")
        self._act(lambda: sight.sweep(place.epoch, keys), "a sweep")
        return len(keys)

    def retract(self, place: SinkPlace, retraction: Retraction) -> int:
        sight = self._sight(place)
        listed: list[Published] = self._act(lambda: sight.to_take_back(self._name, retraction), "a retraction")
        for publication in listed:
            self._act(lambda each=publication: sight.take_back(place.epoch, each), "a retraction")  # type: ignore[misc]
        return len(listed)

    def _sight(self, place: SinkPlace) -> "Sight":
        return self.world.sights[place.pipeline_id]

    def _act(self, effect: Any, what: str) -> Any:
        fails = self.world.chance(self.world.scenario.faults.place_fails)
        answer = self.world.stage.act(effect)
        if fails:
            error = SinkError(f"the simulation broke {what}")
            error.retryable = True
            raise error
        return answer


class Plugins:
    """The registry of a world."""

    def __init__(self, world: "JobWorld") -> None:
        def bound(kind: type) -> Any:
            return type(kind.__name__, (kind,), {"world": world})

        sources = {kind.identifier: bound(kind) for kind in (SimulatedSource, OrderedSource)}
        self._sources, self._transform, self._sink = sources, bound(PassingTransform), bound(SimulatedSink)

    def source(self, identifier: str) -> Any:
        return self._sources[identifier]

    def transform(self, _identifier: str) -> Any:
        return self._transform

    def sink(self, _identifier: str) -> Any:
        return self._sink


def numbers() -> Iterator[int]:
    """Of whatever needs a name that nothing else has."""
    return itertools.count(1)
