"""A failing job, made as small as it goes: with less of everything, and broken still by the same rule."""

import random
from collections.abc import Callable, Iterator

from attrs import evolve, fields, frozen

from seatunnel_core.config.job_file import Kind
from tests.checkpoint.simulation.invariants.invariant import ViolationError
from tests.checkpoint.simulation.jobs.scenario import JobFaults, JobScenario, Node
from tests.checkpoint.simulation.jobs.world import JobWorld

Prepare = Callable[[JobWorld], None]

LUCK = 6
"""A smaller case takes another course, so that the same fault may need another draw of chances to show."""

MOST_PLAYS = 600


@frozen
class SmallestJob:
    """What is left."""

    scenario: JobScenario
    rule: str
    message: str
    story: str
    steps: int
    plays: int

    def __str__(self) -> str:
        return (
            f"{self.story}\n\n{self.message}\n\nthe smallest case of the rule {self.rule} that was found in "
            f"{self.plays} plays, {self.steps} steps long:\n{self.scenario}\n{self.scenario.faults}"
        )


def shrink_job(scenario: JobScenario, rule: str) -> SmallestJob:
    """Take away one thing after the other, again and again, until nothing can be taken away."""
    plays = 1
    best = _played(scenario, rule)
    if best is None:
        raise ValueError(f"the job of seed {scenario.seed} does not break {rule}")
    shrunk = True
    while shrunk:
        shrunk = False
        for smaller in _smaller(best.scenario):
            for luck in range(LUCK):
                if plays >= MOST_PLAYS:
                    return evolve(best, plays=plays)
                plays += 1
                seed = smaller.seed if luck == 0 else _other_seed(smaller.seed, luck)
                found = _played(evolve(smaller, seed=seed), rule)
                if found is not None:
                    best, shrunk = found, True
                    break
            if shrunk:
                break
    return evolve(best, plays=plays)


def _other_seed(seed: int, luck: int) -> int:
    """The remainder by four decides whether there is a second visit, which is a part of the case."""
    return seed % 4 + 4 * random.Random(seed * 1_000 + luck).randrange(1_000_000)


def _played(scenario: JobScenario, rule: str) -> SmallestJob | None:
    """``None`` when the case does not break ``rule``."""
    world = JobWorld(scenario)
    try:
        world.run()
    except Exception as error:
        found = error.rule if isinstance(error, ViolationError) else type(error).__name__
        if found == rule:
            return SmallestJob(scenario, rule, str(error), world.story(10_000), world.stage.clock.steps, 1)
    return None


def _smaller(scenario: JobScenario) -> Iterator[JobScenario]:
    """Every way to take away one thing, the larger ones first."""
    faults = scenario.faults
    for node in scenario.nodes:
        without = _without(scenario.nodes, node)
        if without is not None:
            yield evolve(scenario, nodes=without)
    for at in range(len(faults.disturbances)):
        fewer = faults.disturbances[:at] + faults.disturbances[at + 1 :]
        yield evolve(scenario, faults=evolve(faults, disturbances=fewer))
    for name in ("edits", "sleeps"):
        listed = getattr(scenario, name)
        for at in range(len(listed)):
            yield evolve(scenario, **{name: listed[:at] + listed[at + 1 :]})
    if scenario.added:
        yield evolve(scenario, added=())
    if scenario.rewind_at_the_end is not None:
        yield evolve(scenario, rewind_at_the_end=None)
    if faults.outages:
        yield evolve(scenario, faults=evolve(faults, outages=()))
    for name in (each.name for each in fields(JobFaults) if each.type in (float, "float")):
        if getattr(faults, name):
            yield evolve(scenario, faults=evolve(faults, **{name: 0.0}))  # type: ignore[arg-type]
    for at, (kind, identifier, options) in enumerate(scenario.nodes):
        count = options.get("splits", 0)
        for fewer_splits in sorted({0, count // 2, count - 1} & set(range(count))):
            node = (kind, identifier, {**options, "splits": fewer_splits})
            yield evolve(scenario, nodes=(*scenario.nodes[:at], node, *scenario.nodes[at + 1 :]))
    for option in ("checkpoint.interval", "read_limit.rows_per_second"):
        if option in scenario.env:
            yield evolve(scenario, env={key: each for key, each in scenario.env.items() if key != option})


def _without(nodes: tuple[Node, ...], gone: Node) -> tuple[Node, ...] | None:
    """Without a node and what only it feeds; ``None`` when nothing would be left."""
    names = {gone[2].get("plugin_output")}
    kept: list[Node] = []
    for kind, identifier, options in nodes:
        if (kind, identifier, options) == gone:
            continue
        inputs = [name for name in options.get("plugin_input", ()) if name not in names]
        if kind is not Kind.SOURCE and not inputs:
            names.add(options.get("plugin_output"))
            continue
        changed = options if kind is Kind.SOURCE else {**options, "plugin_input": inputs}
        kept.append((kind, identifier, changed))
    used = {name for _, _, options in kept for name in options.get("plugin_input", ())}
    unused = [node for node in kept if node[0] is not Kind.SINK and node[2]["plugin_output"] not in used]
    return tuple(kept) if kept and not unused else None
