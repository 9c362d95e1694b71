"""What one seed stands for: a job file, an engine, and what goes wrong."""

import random
from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.config.job_file import Kind

Node = tuple[Kind, str, Mapping[str, Any]]


@frozen(kw_only=True)
class JobFaults:
    """How often what goes wrong, as probabilities per operation, until ``until_ms``; then everything works."""

    until_ms: int
    storage_fails: float
    storage_stalls: float
    storage_tears: float
    checkpoint_stalls: float = 0.0
    """The same for a checkpoint that is stored, and for the epoch of a start: these then take long."""

    outages: tuple[tuple[int, int], ...]
    """From when to when the storage is down."""

    spark_fails: float
    worker_dies: float
    unit_fails: float
    unit_fails_for_good: float
    unit_is_slow: float
    unit_hangs: float
    task_runs_twice: float
    line_is_down: float
    commit_fails: float
    place_fails: float
    disturbances: tuple[tuple[int, str], ...]
    """At which step of the whole run which process crashes, is paused, gets a rival, is asked for something."""


@frozen(kw_only=True)
class JobScenario:
    seed: int
    env: Mapping[str, Any]
    engine: Mapping[str, Any]
    nodes: tuple[Node, ...]
    added: tuple[Node, ...] = ()
    """What is added to the job file before its second start."""

    edits: tuple[str, ...] = ()
    """What else people change in the job file, one before some start after the other: an option of a sink, or which
    sinks there are."""

    sleeps: tuple[str, ...] = ()
    """Before which acts some process falls asleep, and another one is started: commands of the protocol, and acts of a
    sink."""

    retained: int
    spark_slots: int
    rewind_at_the_end: str | None
    """How somebody goes back when all is finished."""

    faults: JobFaults = field(repr=False)


def draw_job(seed: int) -> JobScenario:
    """The case of a seed."""
    rng, later = random.Random(seed * 31 + 7), random.Random(seed * 31 + 11)
    edits = _some(later, EDITS) if seed % 2 else ()
    sleeps = _some(later, SLEEPS) if seed % 5 < 2 else ()
    claims_late = seed % 15 in (9, 12)  # all sinks write into one target (``JobWorld.shares_target``)
    return JobScenario(
        seed=seed,
        env={
            "parallelism": rng.choice([1, 2, 4]),
            "job.retry.times": rng.choice([0, 1, 5]),
            "job.retry.interval.seconds": rng.choice([0, 1, 3]),
            **({} if rng.random() < 0.2 else {"checkpoint.interval": rng.choice([150, 500, 500, 2_000])}),
            "checkpoint.timeout": rng.choice([1_000, 5_000, 20_000]),
            **({} if rng.random() < 0.8 else {"read_limit.rows_per_second": 20}),
        },
        engine={
            "checkpoint.max-concurrent": rng.choice([1, 1, 3]),
            "checkpoint.tolerable-failure": rng.choice([0, 1, 5]),
            "task_execution_thread_share_mode": rng.choice(["ALL", "PART", "PART", "OFF"]),
            "slot-service.dynamic-slot": rng.random() < 0.6,
            "slot-service.slot-num": rng.choice([1, 2, 5]),
        },
        nodes=_nodes(rng),
        added=_added(rng),
        edits=edits,
        sleeps=(later.choice(LATE_CLAIMS),) if claims_late else sleeps,
        retained=rng.choice([1, 1, 2, 3]),
        spark_slots=rng.choice([1, 1, 2, 4]),
        rewind_at_the_end=rng.choice([None, None, None, "retracted", "refused", "accepted"]),
        faults=_with_rival(_with_losses(_with_starts(_faults(rng), later, len(edits)), seed), seed, claims_late),
    )


EDITS = ("path", "path", "staging", "staged", "plugin", "tuning", "swap", "swap", "rename", "rename", "drop")
SLEEPS = (
    *("ClaimEpoch", "StoreCheckpoint", "PrepareSinks", "prepare", "save mode", "save mode", "Commit", "commit"),
    *("Complete", "completion", "Sweep", "sweep", "Retract", "Enumerate", "EndPipeline"),
)
LATE_CLAIMS = ("claim of the job", "claim of an epoch")
_SINKS = ["Simulated", "SimulatedAtOnce"]


def _some(rng: random.Random, kinds: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(rng.choice(kinds) for _ in range(rng.choice([1, 1, 2, 3])))


def _with_starts(faults: JobFaults, rng: random.Random, number: int) -> JobFaults:
    """With so many more that make somebody start the job again."""
    more = ((rng.randint(30, 700), rng.choice(["crash", "crash", "pause", "rival"])) for _ in range(number))
    return evolve(faults, disturbances=tuple(sorted((*faults.disturbances, *more))))


def _with_losses(faults: JobFaults, seed: int) -> JobFaults:
    """With tables that are dropped, in some jobs to which nobody goes back."""
    kinds = {kind for _, kind in faults.disturbances}
    if seed % 3 != 1 or kinds & {"retracted", "refused", "accepted"}:
        return faults
    rng = random.Random(seed * 31 + 13)
    more = ((rng.randint(100, 1_000), "lose a table") for _ in range(rng.choice([1, 2, 3])))
    return evolve(faults, disturbances=tuple(sorted((*faults.disturbances, *more))))


def _with_rival(faults: JobFaults, seed: int, claims_late: bool) -> JobFaults:
    """With a process that finds the first one at its beginning, and falls asleep before it claims the job. Checkpoints
    may land when it has decided what is written to."""
    if not claims_late:
        return faults
    rng = random.Random(seed * 31 + 17)
    rivals = [(rng.randint(20, 100), "rival") for _ in range(2)]
    return evolve(
        faults, disturbances=tuple(sorted((*faults.disturbances, *rivals))), until_ms=max(faults.until_ms, 20_000),
        checkpoint_stalls=0.85,
    )  # fmt: skip


def _nodes(rng: random.Random) -> tuple[Node, ...]:
    """Sources, transforms and sinks, joined at random: the graph says what pipelines they are."""
    givers = [f"in{number}" for number in range(rng.choice([1, 2, 2, 3, 4]))]
    nodes: list[Node] = [
        (
            Kind.SOURCE,
            rng.choice(["Simulated", "SimulatedOrdered"]),
            {"title": name, "plugin_output": name, "splits": rng.choice([0, 1, 3, 6, 10])},
        )
        for name in givers
    ]
    used: set[str] = set()
    for number in range(rng.choice([0, 0, 1, 2])):
        inputs, name = rng.sample(givers, rng.choice([1, 1, min(2, len(givers))])), f"by{number}"
        used.update(inputs)
        givers.append(name)
        nodes.append((Kind.TRANSFORM, "Passing", {"plugin_output": name, "plugin_input": inputs}))
    feeds = [rng.sample(givers, rng.choice([1, 1, min(2, len(givers))])) for _ in range(rng.choice([1, 2, 2, 3, 4]))]
    used.update(name for inputs in feeds for name in inputs)
    feeds += [[name] for name in givers if name not in used]
    nodes += [(Kind.SINK, rng.choice(_SINKS), _sink(f"out{number}", inputs)) for number, inputs in enumerate(feeds)]
    return tuple(nodes)


def _added(rng: random.Random) -> tuple[Node, ...]:
    """Now and then another table: a pipeline of its own."""
    if rng.random() < 0.7:
        return ()
    source = {"title": "more", "plugin_output": "more", "splits": rng.choice([0, 2, 5])}
    return (Kind.SOURCE, "Simulated", source), (Kind.SINK, "Simulated", _sink("out-more", ["more"]))


def _sink(name: str, inputs: list[str]) -> dict[str, Any]:
    return {"title": name, "name": name, "path": f"/{name}", "plugin_input": inputs}


def _faults(rng: random.Random) -> JobFaults:
    def often(most: float) -> float:
        return rng.choice([0.0, 0.0, most / 4, most])

    kinds = ["crash", "crash", "crash", "pause", "pause", "rival", "rival", "stop", "kill"]
    kinds += ["savepoint", "savepoint", "savepoint and stop", "drain", "wall clock", "retracted", "refused", "accepted"]
    reach = rng.choice([100, 400, 1_500])
    disturbances = sorted((rng.randint(1, reach), rng.choice(kinds)) for _ in range(rng.choice([0, 1, 2, 3, 5])))
    begins = rng.randint(0, 10_000)
    return JobFaults(
        until_ms=rng.choice([0, 5_000, 20_000, 60_000]),
        storage_fails=often(0.3),
        storage_stalls=often(0.1),
        storage_tears=rng.choice([0.0, 0.0, 0.5]),
        outages=rng.choice([(), (), ((begins, begins + rng.choice([500, 5_000, 30_000])),)]),
        spark_fails=often(0.2),
        worker_dies=often(0.2),
        unit_fails=often(0.3),
        unit_fails_for_good=often(0.02),
        unit_is_slow=often(0.3),
        unit_hangs=often(0.4),
        task_runs_twice=often(0.3),
        line_is_down=often(0.2),
        commit_fails=often(0.4),
        place_fails=often(0.05),
        disturbances=tuple(disturbances),
    )
