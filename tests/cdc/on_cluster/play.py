"""Rounds of a campaign: each has a storm over a new database, a job on the cluster, faults, and a comparison."""

import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from tests.cdc.captured import COPY, Captured
from tests.cdc.comparison import difference
from tests.cdc.on_cluster.faults import FAULTS, Fault, Ground
from tests.cdc.storm import Storm
from tests.cdc.watcher import Watcher, beacon_arrived
from tests.server.nemesis.ground import Member
from tests.server.nodes import masters_and_workers

PATIENCE_S = 600.0
LASTS_S = (0.5, 8.0)
PAUSE_S = (2.0, 30.0)
"""Time between two faults: long enough to reach the target in most cases, short enough to hit recoveries."""

_JOB = """env {{
  job.name = copy, job.mode = STREAMING, parallelism = 2, checkpoint.interval = 500
  job.retry.times = 1000, job.retry.interval.seconds = 1
}}
source {{{source}
}}
sink {{{sink}
}}
"""


@define(kw_only=True)
class Round:
    """One storm and one job."""

    number: int
    captured: Captured
    ground: Ground
    seconds: float
    draw: random.Random
    faults: Counter[tuple[str, str]] = field(init=False, factory=Counter)
    """Number of faults by group and name."""

    fault: str = ""
    """What is wrong; empty if source and target are equal and the sum was always zero."""

    transactions: int = 0
    looks: int = 0

    def play(self) -> "Round":
        """Play the round to its end; an unexpected error of the job is a fault of the round."""
        database = f"cluster_{self.number}"
        storm = Storm(
            captured=self.captured, database=database, rows=600, per_second=40, seed=self.number, survives_restarts=True
        )
        watcher = Watcher(storm=storm, target=COPY)
        self.captured.release(database)
        storm.make_tables()
        self.captured.recreate(COPY)
        source = self.captured.source_block(database, storm.tables, database, "snapshot.split.size = 40")
        node, job_id = self.ground.leader().node, str(self.number + 1)
        node.submit(_JOB.format(source=source, sink=self.captured.sink_block(COPY)), job_id)
        try:
            storm.begin()
            watcher.begin()
            self._strike(storm)
            self._judge(storm, watcher, job_id)
        except Exception as error:
            self.fault = self.fault or f"{type(error).__name__}: {error}"
        finally:
            self.ground.mend()
            for end in (watcher.end, storm.end):
                try:
                    end()
                except Exception as error:
                    self.fault = self.fault or f"{type(error).__name__}: {error}"
            self._stop(job_id)
        self.transactions, self.looks = storm.committed, watcher.looks
        return self

    def line(self) -> str:
        """Return the round in one line."""
        return (
            f"round {self.number:3d}  {'WRONG' if self.fault else 'ok'}  {self.captured.name}  "
            f"{self.faults.total()} faults  {self.transactions:,} transactions  {self.looks:,} looks"
            + (f"\n{self.fault}" if self.fault else "")
        )

    def _strike(self, storm: Storm) -> None:
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            time.sleep(self.draw.uniform(*PAUSE_S))
            if storm.errors:
                raise storm.errors[0]
            fault = self._drawn()
            played = fault.play(self.ground, self.draw)
            try:
                next(played)
            except LookupError as error:
                print(f"  {fault.name}: not now: {error}", flush=True)
                continue
            self.faults[fault.of, fault.name] += 1
            print(f"  {time.strftime('%H:%M:%S')} killed: {fault.name}", flush=True)
            time.sleep(self.draw.uniform(*LASTS_S))
            next(played, None)

    def _drawn(self) -> Fault:
        of = self.draw.choice(("leader", "workers", "database"))
        return self.draw.choice([each for each in FAULTS if each.of == of])

    def _judge(self, storm: Storm, watcher: Watcher, job_id: str) -> None:
        self.ground.mend()
        self._wait(watcher.watching.is_set, "the end of the snapshot", job_id)
        storm.end()
        storm.light_beacon(1)
        self._wait(lambda: beacon_arrived(storm, COPY, 1), "the last row", job_id)
        found = (difference(self.captured, storm.database, COPY, table) for table in storm.tables)
        self.fault = "\n".join(filter(None, found))
        if watcher.broken:
            self.fault += f"\nthe sum was not zero {len(watcher.broken)} times: {watcher.broken[0]}"

    def _wait(self, condition: Any, what: str, job_id: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"{what} did not arrive in {PATIENCE_S:.0f} s; {self._job(job_id)}")
            time.sleep(0.2)

    def _job(self, job_id: str) -> dict[str, Any]:
        return self.ground.leader().node.job(job_id)

    def _stop(self, job_id: str) -> None:
        """Cancel the job, and remove its slot."""
        end = time.monotonic() + PATIENCE_S
        while not self._job(job_id).get("finishTime") and time.monotonic() < end:
            self.ground.leader().node.ask("POST", "/stop-job", {"jobId": job_id, "isStopWithSavePoint": False})
            time.sleep(1)
        self.captured.release(f"cluster_{self.number}")


@contextmanager
def running_cluster(folder: Path) -> Iterator[tuple[Sequence[Member], Sequence[Member]]]:
    """Start two masters and two workers; yield them, and kill them at the end."""
    with masters_and_workers(folder, 2, 2) as (leading, working):
        masters, workers = [Member(node) for node in leading], [Member(node) for node in working]
        for member in (*masters, *workers):
            member.start()
        for member in masters:
            member.node.wait_ready()
        yield masters, workers
        for member in (*masters, *workers):
            member.down = True


def rounds(
    folder: Path, databases: Sequence[Captured], minutes: float, seed: int, round_s: float = 420.0
) -> Iterator[Round]:
    """Play rounds on one cluster until the time is over, the databases in turn; yield each."""
    end = time.monotonic() + minutes * 60
    with running_cluster(folder) as (masters, workers):
        for number in itertools.count():
            captured = databases[number % len(databases)]
            left = end - time.monotonic()
            if number and left <= 0:
                return
            ground = Ground(masters, workers, captured.server)  # type: ignore[attr-defined]
            yield Round(
                number=number,
                captured=captured,
                ground=ground,
                seconds=min(round_s, max(left, 60.0)),
                draw=random.Random(f"{seed}-{number}"),
            ).play()
