"""When something is killed: moments that the folders show from outside, and stops for those that they cannot show.

Each moment has a phase, under which its kills are counted.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from tests.torture.job import TorturedJob
from tests.torture.process import Engine

Reached = Callable[[Engine, TorturedJob], bool]


@frozen(kw_only=True)
class Moment:
    """One moment in the life of a ``seatunnel`` process."""

    name: str
    phase: str
    reached: Reached
    """Looks from outside; asked every few milliseconds."""

    stop: tuple[Any, ...] | None = None
    """Where the process has to stand still, when the moment cannot be seen otherwise (``stops.py``)."""


def _seen(name: str, phase: str, reached: Reached) -> Moment:
    return Moment(name=name, phase=phase, reached=reached)


def _stop(name: str, phase: str, call: str, pattern: str, nth: int, side: str) -> Moment:
    return Moment(
        name=f"{name} ({nth})" if nth > 1 else name,
        phase=phase,
        reached=lambda engine, _job: engine.stopped,
        stop=(call, pattern, nth, side),
    )


def _after(seconds: float) -> Reached:
    return lambda engine, _job: engine.age_s >= seconds


# What names look like: see seatunnel_storage_api/layout.py and seatunnel_core/connectors/staging/target.py.
CHECKPOINT = r"\.checkpoint\.base-[^/]*\.ckpt$"
FINAL = r"\.completed-point\.base-[^/]*\.ckpt$"
RESTORE_POINT = r"\.(restore|completed)-point\.base-[^/]*\.ckpt$"
EPOCH = r"\.epoch$"
MANIFEST = r"\.manifest$"
TARGET = r"/out/(?!.*/\.seatunnel/)"
STAGING = r"/\.seatunnel/"


def at_start(rng: random.Random) -> Sequence[Moment]:
    """Before the first checkpoint, in the job's first process."""
    return (
        _stop("job claimed, no epoch yet", "before the first checkpoint", "link", MANIFEST, 1, "after"),
        _stop("epoch claimed, no restore point", "before the first checkpoint", "link", EPOCH, 2, "after"),
        _stop("restore point stored", "before the first checkpoint", "link", RESTORE_POINT, rng.randint(1, 3), "after"),
        _seen("Spark is starting", "before the first checkpoint", _after(rng.uniform(0.5, 3))),
        _stop("job not claimed yet", "before the first checkpoint", "link", MANIFEST, 1, "before"),
    )


def with_data(rng: random.Random) -> Sequence[Moment]:
    """While rows are on their way."""
    few, some, many = rng.randint(1, 4), rng.randint(2, 6), rng.randint(2, 10)
    return (
        _seen(f"{few} files staged", "staging", lambda _engine, job: len(job.staged()) >= few),
        _stop("checkpoint written, not stored", "store", "link", CHECKPOINT, some, "before"),
        _stop("checkpoint stored, nothing committed", "between store and commit", "link", CHECKPOINT, some, "after"),
        _stop("some files renamed, some not", "commit", "rename", TARGET, many, "after"),
        _seen(f"{many} files published", "staging", lambda _engine, job: len(job.published()) >= many),
        _stop("checkpoint pruned", "prune", "unlink", CHECKPOINT, rng.randint(1, 6), "after"),
        _stop("about to rename", "commit", "rename", TARGET, many, "before"),
        _stop("commit begins", "between store and commit", "commit", TARGET, some, "before"),
        _stop("all renamed, nobody told", "commit", "commit", TARGET, some, "after"),
        _seen("checkpoints stored", "store", lambda _engine, job: len(job.stored(".checkpoint.")) >= 3),
        _stop("about to prune", "prune", "unlink", CHECKPOINT, rng.randint(1, 6), "before"),
        _seen("any time", "any time", _after(rng.uniform(5, 11))),
        _stop("final checkpoint stored, not committed", "between store and commit", "link", FINAL, 1, "after"),
    )


def with_plain_rename(rng: random.Random) -> Moment:
    """Where a rename is a link and the removal of the old name: between the two."""
    return _stop("linked, old name still there", "commit", "link", TARGET, rng.randint(1, 6), "after")


def in_restore(rng: random.Random) -> Sequence[Moment]:
    """While a process goes on with a job that has a past."""
    which = rng.randint(1, 3)
    return (
        _stop("restore: job claimed", "restore", "link", MANIFEST, 1, "after"),
        _stop("restore: epoch claimed", "restore", "link", EPOCH, which, "after"),
        _stop("restore: restore point not stored", "restore", "link", RESTORE_POINT, which, "before"),
        _stop("restore: restore point stored", "restore", "link", RESTORE_POINT, which, "after"),
        _stop("restore: base committed", "restore", "commit", TARGET, which, "after"),
        _stop("restore: in the sweep", "restore", "unlink", STAGING, 1, "after"),
        _stop("restore: some of the base renamed", "restore", "rename", TARGET, 1, "after"),
        _stop("restore: old marker pruned", "restore", "unlink", EPOCH, 1, "after"),
        _seen("restore: Spark is starting", "restore", _after(rng.uniform(0.8, 4))),
    )


def at_the_end(rng: random.Random) -> Sequence[Moment]:
    """After the last commit of a pipeline, before the manifest's end, and just after it."""
    return (
        _stop("all committed, end not recorded", "after the last commit", "link", MANIFEST, 2, "before"),
        _stop("end recorded, not told", "after the last commit", "link", MANIFEST, 2, "after"),
        _stop("a pipeline's last commit done", "after the last commit", "commit", TARGET, rng.randint(1, 5), "after"),
    )
