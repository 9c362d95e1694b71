"""A streaming job for minutes or hours, killed at random and resumed: ``python -m tests.torture.soak --minutes 60``.

One pipeline makes rows up, one watches a folder to which a writer keeps adding files. The driver, its JVM and Python
workers are killed. At the end the job is drained, and every row has to be there once; meanwhile neither memory nor open
files may grow.
"""

import argparse
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import define, field

from seatunnel_core.quantity import count, size
from tests.torture.process import Engine
from tests.torture.soak_job import Reader, SoakJob, Writer
from tests.torture.vitals import Vitals, grown, vitals

POLL_S = 5.0
PATIENCE_S = 180.0
HEAVY = ("driver", "jvm")
EARLY = 0.03
"""The chance, every few seconds, that a process is killed before it has published anything."""

DRAINED = (0, 130)
"""The exit codes of a process that was asked to stop."""


class SoakError(Exception):
    """What the job did wrong."""


@define
class Soak:
    """One soak, from the first process to the judgement."""

    job: SoakJob
    seconds: float
    rng: random.Random
    tell: Callable[[str], None]
    kills: Counter[str] = field(factory=Counter)
    lives: list[list[Vitals]] = field(factory=list)
    """By process: what it held, every few seconds."""

    _engines: list[Engine] = field(factory=list)
    _published_before: int = 0

    def play(self) -> None:
        """Run to the end.

        Raises:
            SoakError: something was lost, doubled, grew, or did not end.
        """
        self.job.write()
        made_up, watched = (Reader(self.job.folder / "out" / name) for name in ("made-up", "watched"))
        writer = Writer(self.job.folder / "in", self.rng)
        self._begin()
        writer.start()
        try:
            self._live_and_die(writer, made_up, watched)
            writer.stop()
            self._catch_up(writer, watched)
            self._drain()
        finally:
            for engine in self._engines:
                engine.end()
        self._judge(writer, made_up, watched)

    @property
    def _engine(self) -> Engine:
        return self._engines[-1]

    def _begin(self) -> None:
        self._engines.append(self.job.start(len(self._engines)))
        self.lives.append([])

    def _live_and_die(self, writer: Writer, made_up: Reader, watched: Reader) -> None:
        began = said = time.monotonic()
        pause_s = max(30.0, self.seconds / 12)
        heavy_at, light_at = math.inf, began + self._about(pause_s / 4)
        while (now := time.monotonic()) < began + self.seconds:
            time.sleep(POLL_S)
            self._require_alive()
            self.lives[-1].append(vitals(self._engine))
            for reader in (made_up, watched):
                reader.read_published()
            writer.remove_read(watched.ids)
            moves = self._has_moved(made_up, watched)
            if moves and heavy_at == math.inf:
                heavy_at = now + self._about(pause_s)
            if now >= heavy_at or (not moves and self.rng.random() < EARLY):
                self._kill(self.rng.choice(HEAVY))
                heavy_at = math.inf
            elif now >= light_at:
                self._kill("worker")
                light_at = now + self._about(pause_s / 4)
            if now >= said + 60:
                said = now
                self.tell(self._line(now - began, writer, made_up, watched))

    def _has_moved(self, *readers: Reader) -> bool:
        """Whether the process that runs now has published anything."""
        rows = sum(reader.ids.total() for reader in readers)
        if not self.lives[-1][1:]:
            self._published_before = rows
        moved = rows > self._published_before
        if not moved and self._engine.age_s > PATIENCE_S:
            raise SoakError(f"published nothing in {PATIENCE_S:.0f} s:\n{self._engine.output[-6000:]}")
        return moved

    def _about(self, seconds: float) -> float:
        return self.rng.uniform(0.7, 1.3) * seconds

    def _line(self, age_s: float, writer: Writer, made_up: Reader, watched: Reader) -> str:
        kills = ", ".join(f"{number} {victim}" for victim, number in sorted(self.kills.items())) or "none"
        return (
            f"{age_s / 60:5.1f} min  {count(made_up.ids.total())} rows made up; {count(watched.ids.total())} of "
            f"{count(writer.rows)} rows of {count(writer.files)} files, {count(writer.files_there)} there; "
            f"checkpoint {size(self.job.state_bytes())}; {self.lives[-1][-1] if self.lives[-1] else 'just begun'}; "
            f"killed: {kills}"
        )

    def _kill(self, victim: str) -> None:
        """A driver that is killed, or whose JVM is, is followed by another one; a worker's death is nobody's end."""
        engine = self._engine
        others = {"worker": engine.workers, "jvm": engine.jvms}.get(victim, list)()
        if victim != "driver" and not others:
            return
        self.kills[victim] += 1
        engine.kill(self.rng.choice(others).pid if others else None)
        if victim in HEAVY:
            self._require_code(engine, (1, -9))
            self._begin()

    def _require_alive(self) -> None:
        if self._engine.exit_code is not None:
            raise SoakError(f"ended by itself with {self._engine.exit_code}:\n{self._engine.output[-6000:]}")

    def _require_code(self, engine: Engine, codes: tuple[int, ...]) -> None:
        try:
            code = engine.wait(PATIENCE_S)
        except TimeoutError as error:
            raise SoakError(f"hangs: {error}") from error
        if code not in codes or "Traceback" in engine.output:
            raise SoakError(f"ended with exit code {code}:\n{engine.output[-6000:]}")

    def _catch_up(self, writer: Writer, watched: Reader) -> None:
        """Until all that was written is published."""
        deadline = time.monotonic() + PATIENCE_S
        while watched.ids.total() < writer.rows:
            if time.monotonic() > deadline:
                raise SoakError(f"{watched.ids.total():,} of {writer.rows:,} rows came within {PATIENCE_S:.0f} s")
            time.sleep(1)
            self._require_alive()
            watched.read_published()

    def _drain(self) -> None:
        asking = self.job.drain()
        self._engines.append(asking)
        self._require_code(asking, (0,))
        self._require_code(self._engines[-2], DRAINED)

    def _judge(self, writer: Writer, made_up: Reader, watched: Reader) -> None:
        faults = grown(self.lives)
        for name, reader in (("made-up", made_up), ("watched", watched)):
            reader.read_published()
            if twice := reader.twice():
                faults.append(f"{len(twice)} {name} rows came twice, the first are {twice[:5]}")
        if watched.ids.keys() != set(range(1, writer.rows + 1)):
            faults.append(f"of {writer.rows:,} rows that were written {len(watched.ids):,} came")
        faults += [fault for fault in [self.job.judge_made_up(made_up.ids)] if fault]
        if faults:
            raise SoakError("\n".join(faults))
        self.tell(
            f"every row once: {count(made_up.ids.total())} made up, {count(writer.rows)} of {count(writer.files)} "
            f"files, in {count(made_up.files + watched.files)} files; {len(self.lives)} processes, "
            f"killed: {dict(self.kills)}; largest checkpoint {size(self.job.state_bytes())}"
        )


def soak(minutes: float, *, seed: int) -> Soak:
    """Play one. The folder stays when something went wrong.

    Raises:
        SoakError: says what.
    """
    folder = Path(tempfile.mkdtemp(prefix="seatunnel-soak-"))
    print(f"{minutes:g} minutes with seed {seed} in {folder}", flush=True)
    job = SoakJob(folder=folder, splits=int(minutes * 60) * 2 + 600)
    played = Soak(job, minutes * 60, random.Random(seed), lambda line: print(line, flush=True))
    played.play()
    shutil.rmtree(folder)
    return played


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    asked = parser.parse_args(arguments)
    try:
        soak(asked.minutes, seed=asked.seed)
    except SoakError as error:
        print(f"WRONG: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
