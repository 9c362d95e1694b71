"""An engine that lost its job while it slept: how it falls asleep, how tests wait for it, and what it may do after it
wakes up (R6). The same for every storage."""

import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.runtime.command import Command, fake_source, file_sink, ids, job, published, staged
from tests.torture.moments import CHECKPOINT, FINAL, TARGET
from tests.torture.process import Engine

PATIENCE_S = 240
"""A process that has not ended by then hangs; a busy machine is much slower than this one."""

ROWS = 2_400
EPOCHS_PER_PROCESS = 100_000
"""The epochs of a job's n-th process begin with n times this."""


@frozen
class Moment:
    """Where the older engine falls asleep."""

    name: str
    stop: tuple[Any, ...] | None = None
    """``None``: anywhere, as soon as something is published."""

    whole_machine: bool = False
    """With its JVM and its Python workers, as when a laptop is closed."""


def moments(put: str) -> tuple[Moment, ...]:
    """``put`` is the call by which a checkpoint gets its name, for ``stops.py``."""
    return (
        Moment("rows flow"),
        Moment("rows flow, and the whole machine sleeps", whole_machine=True),
        Moment("checkpoint stored, not looked at yet", (put, CHECKPOINT, 2, "after", True)),
        Moment("looked, about to commit", ("commit", TARGET, 3, "before")),
        Moment("some files renamed, some not", ("rename", TARGET, 3, "after")),
    )


def a_job(
    folder: Path,
    *,
    pipelines: int = 1,
    format: str = "parquet",
    storage: Mapping[str, str] | None = None,
    between: bool = True,
) -> Command:
    """Rows flow for about three seconds, with a checkpoint every fifth of a second; without ``between`` only at the
    start and at the end."""
    env = "job.mode = BATCH, parallelism = 2, read_limit.rows_per_second = 800"
    env += ", checkpoint.interval = 200" if between else ""
    names = [f"in{number}" for number in range(1, pipelines + 1)]
    sources = [fake_source(name, rows=ROWS, splits=24) for name in names]
    sinks = [file_sink(name, folder / "out" / name, format, more="batch_size = 40") for name in names]
    return Command.of(folder, job(env, sources, sinks), storage=storage)


def wakes_up_while_another_works(command: Command, moment: Moment, *, put: str) -> None:
    """The second engine waits before its last checkpoint until the first has ended, so that what both do overlaps."""
    out = command.folder / "out"
    with _asleep(command, moment) as first:
        before = published(out)
        with ending(command.resume("--take-over", stop=[put, FINAL, 1, "before"])) as second:
            until(lambda: second.stopped or len(published(out)) > len(before), second)
            first.signal_all(signal.SIGCONT)
            ends_as_zombie(first)
            until(lambda: second.stopped, second)
            second.signal(signal.SIGCONT)
            assert second.wait(PATIENCE_S) == 0, second.output
    show(f"first, asleep when {moment.name}", first)
    show("second", second)
    every_row_once(command)


def wakes_up_after_the_end(command: Command, moment: Moment, stored: Callable[[], set[str]]) -> None:
    """R6: it may have stored one more checkpoint, which is orphaned, and finish a deletion. It publishes nothing.

    Args:
        stored: the names of all that lies in the checkpoint storage.
    """
    out = command.folder / "out"
    with _asleep(command, moment) as first:
        second = command.resume("--take-over")
        assert second.wait(PATIENCE_S) == 0, second.output
        files, objects = published(out), stored()
        first.signal_all(signal.SIGCONT)
        ends_as_zombie(first)
    show(f"first, asleep when {moment.name}", first)
    show("second", second)
    assert published(out) == files
    more, less = stored() - objects, objects - stored()
    print(f"what the first left in the storage after it woke up: {sorted(more) or 'nothing'}")
    assert all(epoch_of(name) // EPOCHS_PER_PROCESS == 1 and name.endswith(".ckpt") for name in more)
    assert len(more) <= 1
    assert all(epoch_of(name) // EPOCHS_PER_PROCESS == 1 for name in less)
    every_row_once(command)
    again = command.resume()
    assert again.wait(PATIENCE_S) == 0, again.output
    assert "nothing was moved" in again.output


@contextmanager
def _asleep(command: Command, moment: Moment) -> Iterator[Engine]:
    with ending(command.begin(stop=moment.stop)) as engine:
        until(lambda: engine.stopped or (moment.stop is None and published(command.folder / "out")), engine)
        (engine.signal_all if moment.whole_machine else engine.signal)(signal.SIGSTOP)
        yield engine


@contextmanager
def ending(engine: Engine) -> Iterator[Engine]:
    """Nothing of it is left after the block, also when the test fails amid it."""
    try:
        yield engine
    finally:
        engine.end()


def every_row_once(command: Command) -> None:
    for folder in sorted((command.folder / "out").iterdir()):
        assert ids(folder) == list(range(1, ROWS + 1)), folder.name
    assert not staged(command.folder / "out")


def epoch_of(name: str) -> int:
    """Of a checkpoint or a marker; the first number of its name."""
    found = re.match(r"0*(\d+)[-.]", name.rpartition("/")[2])
    assert found, name
    return int(found[1])


def until(condition: Callable[[], object], *engines: Engine, patience_s: float = PATIENCE_S) -> None:
    """Wait until it holds. An engine that ends before is a failure."""
    deadline = time.monotonic() + patience_s
    while not condition():
        for engine in engines:
            assert engine.exit_code is None, engine.output
        assert time.monotonic() < deadline, "\n".join(engine.output for engine in engines)
        time.sleep(0.005)


def ends_as_zombie(engine: Engine) -> None:
    """It has to notice, to say so, and to leave nothing running."""
    assert engine.wait(PATIENCE_S) == 1, engine.output
    assert "another engine" in engine.output, engine.output
    assert "Another process now runs this job" in engine.output
    assert "Traceback" not in engine.output
    assert "a bug in the engine" not in engine.output
    assert not engine.left_over()


def show(title: str, engine: Engine) -> None:
    """What a person saw."""
    print(f"--- {title}: exit code {engine.exit_code}\n{engine.output.strip()}")
