"""A failing case, made as small as it goes: with less of everything, and broken still by the same rule."""

import random
from collections.abc import Callable, Iterator

from attrs import evolve, fields, frozen

from seatunnel_core.checkpoint.state.topology import SourceSpec, Topology
from tests.checkpoint.simulation.invariants.invariant import ViolationError
from tests.checkpoint.simulation.scenario import Faults, Scenario
from tests.checkpoint.simulation.story import said
from tests.checkpoint.simulation.world import World

Prepare = Callable[[World], None]

LUCK = 12
"""A smaller case takes another course, so that the same fault may need another draw of chances to show."""

MOST_PLAYS = 2_000


@frozen
class Smallest:
    """What is left."""

    scenario: Scenario
    rule: str
    message: str
    story: str
    steps: int
    plays: int

    def __str__(self) -> str:
        return (
            f"{self.story}\n\n{self.message}\n\nthe smallest case of the rule {self.rule} that was found in "
            f"{self.plays} plays, {self.steps} steps long:\n{self.scenario}\n{broken(self.scenario.faults)}"
        )


def shrink(scenario: Scenario, rule: str, prepare: Prepare | None = None) -> Smallest:
    """Take away one thing after the other, again and again, until nothing can be taken away."""
    plays = 1
    best = _played(scenario, rule, prepare)
    if best is None:
        raise ValueError(f"the scenario of seed {scenario.seed} does not break {rule}")
    shrunk = True
    while shrunk:
        shrunk = False
        for smaller in _smaller(best.scenario):
            for luck in range(LUCK):
                if plays >= MOST_PLAYS:
                    return evolve(best, plays=plays)
                seed = smaller.seed if luck == 0 else _other_seed(smaller.seed, luck)
                plays += 1
                found = _played(evolve(smaller, seed=seed), rule, prepare)
                if found is not None:
                    best, shrunk = found, True
                    break
            if shrunk:
                break
    return evolve(_shortest(best, rule, prepare), plays=plays)


def _shortest(best: Smallest, rule: str, prepare: Prepare | None) -> Smallest:
    """Of the same case with other luck, the one that comes to the point in the fewest steps."""
    for luck in range(1, 4 * LUCK):
        found = _played(evolve(best.scenario, seed=_other_seed(best.scenario.seed, luck)), rule, prepare)
        if found is not None and found.steps < best.steps:
            best = found
    return best


def _other_seed(seed: int, luck: int) -> int:
    """The remainder by four decides whether there is a second visit, which is a part of the case."""
    return seed % 4 + 4 * random.Random(seed * 1_000 + luck).randrange(1_000_000)


def _played(scenario: Scenario, rule: str, prepare: Prepare | None) -> Smallest | None:
    """``None`` when the case does not break ``rule``."""
    world = World(scenario)
    if prepare is not None:
        prepare(world)
    try:
        world.run()
    except Exception as error:
        found = error.rule if isinstance(error, ViolationError) else type(error).__name__
        if found == rule:
            return Smallest(scenario, rule, str(error), said(world.trace), world.clock.steps, 1)
    return None


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Every way to take away one thing, the larger ones first."""
    topology, faults = scenario.topology, scenario.faults
    for source in topology.sources if len(topology.sources) > 1 else ():
        yield _with_sources(scenario, tuple(each for each in topology.sources if each != source))
    for source in topology.sources:
        for sink in source.sinks if len(source.sinks) > 1 else ():
            fewer = evolve(source, sinks=tuple(each for each in source.sinks if each != sink))
            yield _with_sources(scenario, tuple(fewer if each is source else each for each in topology.sources))
    for at in range(len(faults.disturbances)):
        left = faults.disturbances[:at] + faults.disturbances[at + 1 :]
        yield evolve(scenario, faults=evolve(faults, disturbances=left))
    for at in range(len(scenario.rewinds)):
        yield evolve(scenario, rewinds=scenario.rewinds[:at] + scenario.rewinds[at + 1 :])
    if scenario.rewind_at_the_end is not None:
        yield evolve(scenario, rewind_at_the_end=None)
    for name in _probabilities():
        if getattr(faults, name):
            yield evolve(scenario, faults=evolve(faults, **{name: 0.0}))  # type: ignore[arg-type]
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
        yield evolve(source, ordered=False)
    if source.parallelism > 1:
        yield evolve(source, parallelism=1)


def _with_sources(scenario: Scenario, sources: tuple[SourceSpec, ...]) -> Scenario:
    fed = {sink for source in sources for sink in source.sinks}
    sinks = tuple(sink for sink in scenario.topology.sinks if sink.name in fed)
    splits = {source.name: scenario.splits[source.name] for source in sources}
    return evolve(scenario, topology=Topology(sources=sources, sinks=sinks), splits=splits)


def _probabilities() -> list[str]:
    return [field.name for field in fields(Faults) if field.type in (float, "float")]


def broken(faults: Faults) -> str:
    """What goes wrong in a case, in words."""
    often = [
        f"{name.replace('_', ' ')} ({getattr(faults, name):.0%})" for name in _probabilities() if getattr(faults, name)
    ]
    often += [f"{kind} at step {at}" for at, kind in faults.disturbances]
    return f"goes wrong: {', '.join(often) or 'nothing'}"
