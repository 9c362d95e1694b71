"""Bytes that somebody damaged or forged: refused, or read as what they are; nothing else follows from them.

``make test`` plays two thousand mutants, ``make fuzz`` a hundred for each of its EXAMPLES: 10^6 unless it is told
otherwise.
"""

import hmac
import os
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from seatunnel_core import stored
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.connectors.staging import committed
from seatunnel_core.connectors.staging.target import StagedFile, Target
from seatunnel_core.job import manifest
from seatunnel_core.work.committable import Committable
from tests.checkpoint.hostile.play import memory_of_a_lie, memory_taken, play
from tests.checkpoint.hostile.victim import Victim

EXAMPLES = int(os.environ.get("SEATUNNEL_EXAMPLES", "0"))
MUTANTS = EXAMPLES * 100 or 2_000
PARTS = 10


@pytest.fixture
def victim() -> Iterator[Victim]:
    """In memory where the system has such a folder: a disk would have to be written for every mutant."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        yield Victim(Path(folder))


@pytest.mark.fuzz
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("part", range(PARTS))
def test_hostile_bytes_are_refused_or_read_as_what_they_are(part: int, victim: Victim) -> None:
    ends: Counter[str] = Counter()
    for number in range(MUTANTS * part // PARTS, MUTANTS * (part + 1) // PARTS):
        try:
            ends[play(victim, number)] += 1
        except Exception as error:
            error.add_note(f"python -m tests.checkpoint.hostile {number} plays it again")
            raise
    for kind in ("ckpt", "manifest", "attachment"):
        assert ends[f"forged {kind}: read, and gone on from"], "a forger who never comes through proves nothing"
        assert ends[f"forged {kind}: refused"]
    assert ends["damaged: refused"] * 2 == pytest.approx(sum(ends.values()), rel=0.02)


@pytest.mark.parametrize("taken_by", [memory_taken, memory_of_a_lie], ids=["damaged or forged", "lying lengths"])
def test_memory_is_bounded_by_the_length_of_what_is_read(
    taken_by: Callable[[Victim, int], tuple[int, int]], victim: Victim
) -> None:
    """400 forged, 400 damaged, and 400 whose lengths are up to 2^64."""
    tracemalloc.start()
    try:
        for number in range(800 if taken_by is memory_taken else 400):
            taken, allowed = taken_by(victim, number)
            assert taken < allowed, f"{taken:,} bytes of memory for mutant {number}"
    finally:
        tracemalloc.stop()


def every_path(committable: Committable, _target: Target) -> list[StagedFile]:
    return [StagedFile(committable.epoch, name, folder) for name, folder in committable.body["files"]]


def any_number(block: Any, key: str, **_bounds: int) -> Any:
    return stored.member(block, key)


GUARDS: dict[str, Callable[[], Any]] = {
    "the digest is compared": lambda: patch.object(hmac, "compare_digest", lambda *_: True),
    "a committable names files of its own only": lambda: patch(
        "seatunnel_core.connectors.file.sink.staged_files", every_path
    ),
    "a folder that is a link stays inside": lambda: patch.object(committed, "_stays_inside", lambda *_: True),
    "numbers are numbers": lambda: patch.object(codec.stored, "number", any_number),  # type: ignore[attr-defined]
    "two vertices have two places": lambda: patch.object(manifest.stored, "below", stored.member),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_that_is_taken_away_is_missed(guard: str, victim: Victim) -> None:
    """The mutants are hostile enough: without any one of the guards, some of them do what they must not."""
    with GUARDS[guard]():
        assert any(breaks_out(victim, number) for number in range(10_000))


def breaks_out(victim: Victim, number: int) -> bool:
    try:
        play(victim, number)
    except Exception:  # an error of ours would have been an answer
        return True
    return False
