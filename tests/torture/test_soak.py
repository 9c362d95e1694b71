"""A streaming job that is killed for minutes: its rows, its memory and its open files; and how growth is told."""

import sys
from itertools import pairwise

import pytest
from attrs import evolve

from tests.torture.soak import soak
from tests.torture.vitals import Vitals, grown

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are watched through /proc")

MIB = 1 << 20


def life(*, seconds: int = 600, **slopes: float) -> list[Vitals]:
    """A process of so many seconds; ``slopes`` say how much of what comes on top each second."""
    begin = Vitals(
        age_s=0, driver_bytes=200 * MIB, driver_files=40, jvm_bytes=MIB, jvm_files=90, worker_bytes=MIB, workers=2
    )
    return [
        evolve(begin, age_s=age, **{name: int(getattr(begin, name) + slope * age) for name, slope in slopes.items()})
        for age in range(0, seconds, 5)
    ]


@pytest.mark.parametrize(
    ("slopes", "said"),
    [
        ({}, []),
        ({"jvm_bytes": MIB}, []),
        ({"driver_bytes": MIB}, ["the memory of the driver grew"]),
        ({"worker_bytes": MIB}, ["the memory of a worker grew"]),
        ({"driver_files": 0.1}, ["the open files of the driver grew"]),
        ({"jvm_files": 0.1, "driver_files": 0.01}, ["the open files of the JVM grew"]),
    ],
)
def test_what_grows_in_one_life_is_named(slopes: dict[str, float], said: list[str]) -> None:
    found = grown([life(**slopes)])  # type: ignore[arg-type]
    assert len(found) == len(said)
    assert all(sentence.startswith(beginning) for sentence, beginning in zip(found, said, strict=True))


def test_what_grows_from_process_to_process_is_named_too() -> None:
    lives = [[evolve(each, driver_files=number * 30) for each in life(seconds=100)] for number in range(3)]
    assert grown(lives) == ["the open files of the driver grew from 0 to 60"]
    assert all(not grown([earlier]) for earlier, _ in pairwise(lives))


def test_what_comes_with_the_start_is_no_growth() -> None:
    begun = [evolve(each, driver_files=0) if each.age_s < 60 else each for each in life()]
    assert grown([begun]) == []


@LINUX
@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_five_minutes() -> None:
    """The short form of ``make soak``."""
    played = soak(5, seed=20_130_101)
    assert played.kills["driver"] + played.kills["jvm"] >= 2
    assert played.kills["worker"] >= 3
