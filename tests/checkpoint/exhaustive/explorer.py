"""Breadth-first through all worlds, each visited once."""

import time

from attrs import frozen

from tests.checkpoint.exhaustive.model import Model
from tests.checkpoint.exhaustive.properties import BrokenError
from tests.checkpoint.exhaustive.worlds import Step, World


class FoundError(Exception):
    """A shortest way to a world that breaks a rule."""

    def __init__(self, rule: str, message: str, story: str, exploration: "Exploration") -> None:
        super().__init__(f"{story}\n\n{message}\n({exploration})")
        self.rule = rule
        self.exploration = exploration


@frozen(kw_only=True)
class Exploration:
    """How much was visited."""

    states: int
    transitions: int
    depth: int
    """The number of steps of the longest of all shortest ways."""

    local_states: int
    """Of the real protocol objects, and how many steps they were made to take."""

    local_steps: int
    seconds: float
    complete: bool = True

    def __str__(self) -> str:
        whole = "" if self.complete else "; not all of them: the number was bounded"
        return (
            f"{self.states:,} states, {self.transitions:,} transitions, {self.depth} steps deep, in "
            f"{self.seconds:.1f} s; real protocol: {self.local_states:,} states, {self.local_steps:,} steps{whole}"
        )


Came = dict[int, tuple[int, Step] | None]
"""By the hash of a world: from where, by which step. Two worlds of one 64-bit hash would count as one."""


def explore(model: Model, most_states: int | None = None) -> Exploration:
    """Visit all worlds, or the first ``most_states``.

    Raises:
        FoundError: a rule is broken in one of them; there is no shorter way to a broken one.
    """
    began = time.perf_counter()
    first = model.first()
    came: Came = {hash(first): None}
    frontier, transitions, depth, complete = [first], 0, 0, True

    def so_far() -> Exploration:
        automaton = model.engines.automaton
        return Exploration(
            states=len(came),
            transitions=transitions,
            depth=depth,
            local_states=automaton.states,
            local_steps=automaton.steps,
            seconds=time.perf_counter() - began,
            complete=complete,
        )

    while frontier and complete:
        following: list[World] = []
        for world in frontier:
            at, final = hash(world), True
            try:
                for step in model.steps(world):
                    final = False
                    transitions += 1
                    after = model.take(world, step)
                    name = hash(after)
                    if name not in came:
                        came[name] = (at, step)
                        following.append(after)
                if final:
                    model.require_end(world)
            except BrokenError as error:
                way = way_to(came, at) + ([] if final else [step])
                raise FoundError(error.rule, str(error), said(model, way), so_far()) from error
        frontier = following
        depth += bool(frontier)
        complete = most_states is None or len(came) < most_states
    return so_far()


def way_to(came: Came, name: int) -> list[Step]:
    steps: list[Step] = []
    while (before := came[name]) is not None:
        name, step = before
        steps.append(step)
    return steps[::-1]


def said(model: Model, way: list[Step]) -> str:
    """A numbered story."""
    return "\n".join(f"{number:>3}. {sentence(model, step)}" for number, step in enumerate(way, 1))


def sentence(model: Model, step: Step) -> str:
    word, *rest = step.op
    states = model.engines.states
    match word, rest:
        case "claim", asked:
            what = f"starts{f', to go back to {asked[0]},' if asked else ''} and claims epoch {step.engine + 1}"
        case "put" | "check" | "prune", [number, *_]:
            state = states[number]
            does = {"put": "puts", "check": "checks the fence after", "prune": "removes what was too much after"}
            what = f"{does[word]} {state.ref} ({state.checkpoint_type.value})"
        case "load", [ref]:
            what = f"loads {ref}"
        case "run", [unit, rows, attempt]:
            verb = "writes" if model.bounds.keys else "stages"
            what = f"{verb} unit {unit} with rows {', '.join(map(str, rows))}" + (", again" if attempt > 1 else "")
        case "commit", [committables, done, again]:
            key = committables[done][1]
            what = f"publishes unit {key.unit} of epoch {key.epoch}" + (", perhaps again" if again else "")
        case "delete", [keys]:
            what = "sweeps " + ", ".join(f"unit {key.unit} of epoch {key.epoch}" for key in keys)
        case "take back", [keys]:
            what = f"takes back unit {keys[0].unit} of epoch {keys[0].epoch}"
        case "fire", [key, _]:
            what = f"hears the timer {key}"
        case _:
            what = {
                "list": "lists",
                "complete": "completes its sinks",
                "list published": "lists what is published",
                "sweep": "lists what to sweep",
                "retract": "lists what to take back",
                "look for more": "looks for more rows",
                "trigger": "is asked for a checkpoint",
            }[word]
    return f"engine {step.engine + 1} {what}" + (f", and that {step.how}" if step.how else "")
