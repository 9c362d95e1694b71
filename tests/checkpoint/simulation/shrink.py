"""Smaller cases of the protocol."""

from collections.abc import Callable, Iterator

from attrs import evolve

from seatunnel_core.checkpoint.state.topology import SourceSpec, Topology
from tests.checkpoint.simulation.scenario import Scenario
from tests.checkpoint.simulation.smallest import Shrinking, Smallest, calmer, surer
from tests.checkpoint.simulation.story import said
from tests.checkpoint.simulation.world import World


def shrink(scenario: Scenario, rule: str, prepare: Callable[[World], None] | None = None) -> Smallest[Scenario]:
    """Return the smallest case that breaks the rule, told in the fewest steps."""

    def world(case: Scenario) -> World:
        made = World(case)
        if prepare is not None:
            prepare(made)
        return made

    shrinking = Shrinking(world=world, described=_described, smaller=_smaller, luck=12, most_plays=2_000)
    return shrinking.shortest(shrinking.shrink(scenario, rule))


def _described(world: World) -> tuple[str, int]:
    return said(world.trace), world.clock.steps


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    topology = scenario.topology
    for source in topology.sources if len(topology.sources) > 1 else ():
        yield _with_sources(scenario, tuple(each for each in topology.sources if each != source))
    for source in topology.sources:
        for sink in source.sinks if len(source.sinks) > 1 else ():
            fewer = evolve(source, sinks=tuple(each for each in source.sinks if each != sink))
            yield _with_sources(scenario, tuple(fewer if each is source else each for each in topology.sources))
    yield from calmer(scenario)
    for at in range(len(scenario.rewinds)):
        yield evolve(scenario, rewinds=scenario.rewinds[:at] + scenario.rewinds[at + 1 :])
    if scenario.rewind_at_the_end is not None:
        yield evolve(scenario, rewind_at_the_end=None)
    yield from surer(scenario)
    for name, count in scenario.splits.items():
        for fewer_splits in sorted({0, count // 2, count - 1} & set(range(count))):
            yield evolve(scenario, splits={**scenario.splits, name: fewer_splits})
    if scenario.delayed_messages:
        yield evolve(scenario, delayed_messages=False)
    for source in topology.sources:
        for plain in _plainer(source):
            yield _with_sources(scenario, tuple(plain if each is source else each for each in topology.sources))
    if scenario.policy.max_concurrent > 1:
        yield evolve(scenario, policy=evolve(scenario.policy, max_concurrent=1))
    if scenario.policy.interval_ms is not None:
        yield evolve(scenario, policy=evolve(scenario.policy, interval_ms=None))


def _plainer(source: SourceSpec) -> Iterator[SourceSpec]:
    if source.rows_per_second is not None or source.bytes_per_second is not None:
        yield evolve(source, rows_per_second=None, bytes_per_second=None)
    if not source.bounded:
        yield evolve(source, bounded=True)
    if source.ordered:
        yield evolve(source, ordered=False, serial=False, keyed=False)
    if source.keyed:
        yield evolve(source, keyed=False)
    if source.parallelism > 1:
        yield evolve(source, parallelism=1)


def _with_sources(scenario: Scenario, sources: tuple[SourceSpec, ...]) -> Scenario:
    fed = {sink for source in sources for sink in source.sinks}
    sinks = tuple(sink for sink in scenario.topology.sinks if sink.name in fed)
    splits = {source.name: scenario.splits[source.name] for source in sources}
    return evolve(scenario, topology=Topology(sources=sources, sinks=sinks), splits=splits)
