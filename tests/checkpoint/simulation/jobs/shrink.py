"""Smaller jobs."""

from collections.abc import Iterator

from attrs import evolve

from seatunnel_core.config.job_file import Kind
from tests.checkpoint.simulation.jobs.scenario import JobScenario, Node
from tests.checkpoint.simulation.jobs.world import JobWorld
from tests.checkpoint.simulation.smallest import Shrinking, Smallest, calmer, surer


def shrink_job(scenario: JobScenario, rule: str) -> Smallest[JobScenario]:
    """Return the smallest job that breaks the rule."""
    shrinking = Shrinking(
        world=JobWorld,
        described=lambda world: (world.story(10_000), world.stage.clock.steps),
        smaller=_smaller,
        luck=6,
        most_plays=600,
    )
    return shrinking.shrink(scenario, rule)


def _smaller(scenario: JobScenario) -> Iterator[JobScenario]:
    faults = scenario.faults
    for node in scenario.nodes:
        without = _without(scenario.nodes, node)
        if without is not None:
            yield evolve(scenario, nodes=without)
    yield from calmer(scenario)
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
    yield from surer(scenario)
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
