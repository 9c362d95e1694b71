"""Which runs there are: what each does with the options of its job, what it kills and when."""

import random
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.torture import moments
from tests.torture.databases.tables import Table
from tests.torture.job import SINKS, TorturedJob, make_job
from tests.torture.run import Run, Step

VICTIMS = {1: "jvm", 5: "worker"}
"""Who is killed while rows are on their way, by the number modulo 6; all others are drivers. A run ends with its killed
worker, so these are numbers without a restore, a zombie or a plain rename behind them."""


MORE_KILLS = 3
"""So many more drivers are killed while rows are on their way in a run that is there for its file formats, or for a
server."""


def plan(number: int, job: TorturedJob, rng: random.Random) -> Run:
    """The run with this number. The numbers go round the moments, so that many runs see all of them, and each victim
    is killed at several of them."""
    data, restores, ends, starts = (
        moments.with_data(rng),
        moments.in_restore(rng),
        moments.at_the_end(rng),
        moments.at_start(rng),
    )
    plain_rename = number % 6 == 4 and (job.sink == "file" or job.sink not in SINKS)
    steps = [Step(moment=data[number % len(data)], victim=VICTIMS.get(number % 6, "driver"))]
    if plain_rename:
        steps[0] = Step(moment=moments.with_plain_rename(rng), victim="driver")
    if job.sink not in ("file", "iceberg"):
        steps[:0] = [Step(moment=moment, victim="driver") for moment in rng.sample(data, MORE_KILLS)]
    if number % 2 == 0:
        steps.append(Step(moment=restores[number // 2 % len(restores)], victim="driver"))
    if number % 3 == 0:
        steps.insert(0, Step(moment=starts[number // 3 % len(starts)], victim="driver"))
    if number % 4 == 2:
        steps.append(Step(moment=ends[number // 4 % len(ends)], victim="driver"))
    if number % 7 == 5:
        steps.append(Step(moment=data[4], victim="driver"))
    if number % 6 == 3:
        steps[-1] = Step(moment=steps[-1].moment, victim="paused")
    return Run(number=number, job=job, plain_rename=plain_rename, steps=tuple(steps))


def play(number: int, seed: int, folder: Path, tables: Sequence[Table], sink: str = "file") -> Run:
    """Make the job of a run, play it, and clear up after it unless something is wrong."""
    rng = random.Random(f"{seed}-{number}")
    slower = 1 if sink in SINKS else 12
    job = make_job(
        folder / f"run-{number}",
        tables,
        job_id=f"torture-{seed}-{number}",
        rows_per_second=rng.choice((12_000, 20_000, 30_000)) // slower,
        interval_ms=rng.choice((150, 300, 600)),
        parallelism=rng.choice((1, 2, 4)),
        split_size=rng.choice((50_000, 150_000, 1_000_000)) // slower,
        on_frames=number % 5 == 3,
        sink=sink,
    )
    run = plan(number, job, rng).play()
    if not run.fault:
        shutil.rmtree(job.folder)
    return run
