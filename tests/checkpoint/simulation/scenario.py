"""What one seed stands for: a pipeline, a policy, and what goes wrong."""

import random

from attrs import evolve, field, frozen

from seatunnel_core.checkpoint.decisions.base import Rewind
from seatunnel_core.checkpoint.decisions.trigger import CheckpointPolicy
from seatunnel_core.checkpoint.state.topology import SinkSpec, SourceSpec, Topology
from seatunnel_core.checkpoint.vertices.limits import Limits


@frozen(kw_only=True)
class Faults:
    """How often what goes wrong, as probabilities per operation, until ``until_ms``; then everything works."""

    until_ms: int
    storage_fails: float
    storage_stalls: float
    unit_fails: float
    unit_fails_for_good: float
    unit_is_slow: float
    unit_is_lost: float
    unit_answers_twice: float
    whole_job_fails: float
    commit_fails: float
    place_fails: float
    late_timer: float
    disturbances: tuple[tuple[int, str], ...]
    """At which step of the whole run an engine crashes, is paused, gets a rival, is asked for something."""


@frozen(kw_only=True)
class Scenario:
    seed: int
    topology: Topology
    policy: CheckpointPolicy
    limits: Limits
    retained: int
    splits: dict[str, int]
    """How many splits each source has; of one that never ends, how many it ever finds."""

    reporting: frozenset[str] = frozenset()
    """Sources whose readers report a fact of each split (R17)."""

    delayed_messages: bool
    """Whether messages between vertices are delivered in a random order and late, not all before an event returns."""

    rewinds: tuple[tuple[int, Rewind], ...] = ()
    """At which step of the whole run somebody goes back to an older checkpoint, and what becomes of the rows."""

    rewind_at_the_end: Rewind | None = None
    """Whether somebody goes back when all is finished."""

    faults: Faults = field(repr=False)

    @property
    def bounded(self) -> bool:
        """Whether the pipeline ends by itself."""
        return all(source.bounded for source in self.topology.sources)


def draw(seed: int) -> Scenario:
    """The case of a seed."""
    rng = random.Random(seed)
    sinks = tuple(
        SinkSpec(name=f"sink{ordinal}", ordinal=ordinal, retracts=True) for ordinal in range(rng.randint(1, 3))
    )
    sources = _some_serial(seed, _some_endless(seed, _sources(rng, [sink.name for sink in sinks])))
    fed = {name for source in sources for name in source.sinks}
    endless = not all(source.bounded for source in sources)
    return Scenario(
        seed=seed,
        topology=Topology(sources=sources, sinks=tuple(sink for sink in sinks if sink.name in fed)),
        policy=CheckpointPolicy(
            interval_ms=rng.choice([None, 20, 100, 100, 500]) or (100 if endless else None),
            timeout_ms=(timeout_ms := rng.choice([150, 1_000, 5_000])),
            restore_timeout_ms=timeout_ms,
            min_pause_ms=rng.choice([0, 0, 50]),
            max_concurrent=rng.choice([1, 1, 2, 3]),
            tolerable_failures=rng.choice([0, 1, 5]),
        ),
        limits=_limits(rng, seed, sources),
        retained=rng.choice([1, 1, 2, 3]),
        splits={source.name: rng.choice([0, 1, 3, 6, 12]) + 6 * source.keyed for source in sources},
        reporting=_reporting(seed, sources),
        delayed_messages=rng.random() < 0.3,
        rewinds=_rewinds(seed),
        rewind_at_the_end=_rewind_at_the_end(seed),
        faults=_faults(rng),
    )


def _sources(rng: random.Random, sinks: list[str]) -> tuple[SourceSpec, ...]:
    return tuple(
        SourceSpec(
            name=f"source{ordinal}",
            ordinal=ordinal,
            ordered=rng.random() < 0.5,
            sinks=tuple(sorted(rng.sample(sinks, rng.randint(1, len(sinks))))),
            parallelism=rng.choice([1, 2, 4]),
            rows_per_second=rng.choice([None, None, None, 200]),
            bytes_per_second=rng.choice([None, None, None, 500]),
        )
        for ordinal in range(rng.randint(1, 3))
    )


def _some_endless(seed: int, sources: tuple[SourceSpec, ...]) -> tuple[SourceSpec, ...]:
    """In every fifth seed, sources that never end: a person drains the pipeline when all is published."""
    rng = random.Random(seed * 19 + 7)
    return tuple(evolve(source, bounded=seed % 5 != 4 or rng.random() < 0.3) for source in sources)


def _some_serial(seed: int, sources: tuple[SourceSpec, ...]) -> tuple[SourceSpec, ...]:
    """Of the ordered sources, some of which a sink writes directly; most of these by their ordering keys, and then with
    several readers."""
    rng, later = random.Random(seed * 29 + 11), random.Random(seed * 29 + 13)
    serial = [evolve(source, serial=rng.random() < 0.4 and source.ordered) for source in sources]
    return tuple(
        evolve(source, keyed=True, parallelism=later.choice([2, 4]))
        if later.random() < 0.7 and source.serial
        else source
        for source in serial
    )


def _limits(rng: random.Random, seed: int, sources: tuple[SourceSpec, ...]) -> Limits:
    """Where ordering keys count: mostly several units in flight, each with few keys."""
    limits = Limits(
        target_unit_bytes=rng.choice([10, 25, 40]),
        target_unit_rows=1_000,
        credits_per_source=rng.choice([1, 2, 4, 8]),
        max_units_in_flight=rng.choice([1, 2, 8]),
        max_uncommitted=rng.choice([1, 2, 5, 100]),
        max_uncommitted_bytes=rng.choice([30, 1_000]),
        unit_retries=rng.choice([0, 2, 5]),
        commit_retries=rng.choice([1, 5]),
        retry_pause_ms=10,
        close_unit_after_ms=rng.choice([1, 30]),
    )
    if not any(source.keyed for source in sources):
        return limits
    later = random.Random(seed * 29 + 17)
    smallest_unit_bytes, credits_per_source = later.choice([1, 10, 20]), later.choice([2, 6, 8])
    return evolve(
        limits, smallest_unit_bytes=smallest_unit_bytes, credits_per_source=credits_per_source, max_units_in_flight=8
    )


def _reporting(seed: int, sources: tuple[SourceSpec, ...]) -> frozenset[str]:
    """Most sources that never end; the others are not polled."""
    rng = random.Random(seed * 23 + 1)
    return frozenset(source.name for source in sources if rng.random() < 0.8 and not source.bounded)


def _faults(rng: random.Random) -> Faults:
    def often(most: float) -> float:
        return rng.choice([0.0, 0.0, most / 4, most])

    kinds = ["crash", "crash", "crash", "pause", "pause", "rival", "stop", "checkpoint"]
    kinds += ["savepoint", "savepoint", "savepoint and stop", "drain"]
    reach = rng.choice([60, 200, 600])
    disturbances = sorted((rng.randint(1, reach), rng.choice(kinds)) for _ in range(rng.choice([0, 1, 2, 3, 5])))
    return Faults(
        until_ms=rng.choice([0, 1_000, 5_000, 20_000]),
        storage_fails=often(0.2),
        storage_stalls=often(0.2),
        unit_fails=often(0.4),
        unit_fails_for_good=often(0.02),
        unit_is_slow=often(0.2),
        unit_is_lost=often(0.05),
        unit_answers_twice=often(0.4),
        whole_job_fails=often(0.1),
        commit_fails=often(0.4),
        place_fails=often(0.05),
        late_timer=often(0.3),
        disturbances=tuple(disturbances),
    )


def _rewinds(seed: int) -> tuple[tuple[int, Rewind], ...]:
    """In every third seed. What a seed was before there were rewinds, it stays in the two others."""
    if seed % 3 != 1:
        return ()
    rng = random.Random(seed * 13 + 5)
    often = rng.choice([0, 1, 1, 2, 3])
    reach = rng.choice([60, 200, 600])
    return tuple(sorted(((rng.randint(1, reach), _mode(rng)) for _ in range(often)), key=lambda pair: pair[0]))


def _rewind_at_the_end(seed: int) -> Rewind | None:
    rng = random.Random(seed * 17 + 3)
    return _mode(rng) if seed % 3 == 1 and rng.random() < 0.7 else None


def _mode(rng: random.Random) -> Rewind:
    return rng.choice([Rewind.REFUSED, Rewind.RETRACTED, Rewind.RETRACTED, Rewind.RETRACTED, Rewind.ACCEPTED])
