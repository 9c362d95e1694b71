"""One job under a storm that is killed at named steps and resumed, and the judgement of its target."""

import time
from collections.abc import Sequence
from pathlib import Path

from attrs import define, field, frozen

from tests.cdc.captured import COPY, Captured
from tests.cdc.comparison import difference
from tests.cdc.job import CopyJob
from tests.cdc.keys import KEYS
from tests.cdc.steps import Step
from tests.cdc.storm import Storm
from tests.cdc.watcher import Watcher, beacon_arrived
from tests.torture.process import Engine

PATIENCE_S = 180.0
STATES = 8
"""Number of different states of the target that the watcher sees at least."""


@frozen
class Kill:
    """A kill that happened."""

    step: Step
    reached: bool
    """False if the process was killed at no step."""


@define(kw_only=True)
class KilledRun:
    """One storm, one job, and its kills."""

    number: int
    captured: Captured
    folder: Path
    steps: Sequence[Step]
    keys: str = "numbers"
    rows: int = 600
    per_second: float = 60.0
    source_options: str = "snapshot.split.size = 40"
    interval_ms: int = 300
    reached_within_s: float = 40.0
    """A step that a process has not reached by then is missed; the process is killed wherever it is."""

    kills: list[Kill] = field(factory=list)
    fault: str = ""
    """What is wrong; empty if source and target are equal and the sum was always zero."""

    seconds: float = 0.0
    _beacons: int = 0
    _storm: Storm = field(init=False)
    _job: CopyJob = field(init=False)
    _watcher: Watcher = field(init=False)

    def play(self) -> "KilledRun":
        """Run it to its end; never raises for what the job does."""
        began = time.monotonic()
        database = f"storm_{self.number}"
        self._storm = Storm(
            captured=self.captured,
            database=database,
            keys=KEYS[self.keys],
            rows=self.rows,
            per_second=self.per_second,
            seed=self.number,
        )
        self._job = CopyJob(
            folder=self.folder,
            captured=self.captured,
            database=database,
            tables=self._storm.tables,
            slot=database,
            source_options=self.source_options,
            interval_ms=self.interval_ms,
        )
        self._watcher = Watcher(storm=self._storm, target=COPY)
        self.captured.release(database)
        self._storm.make_tables()
        self.captured.recreate(COPY)
        self._job.write()
        try:
            self._storm.begin()
            self._watcher.begin()
            self._to_the_end()
        except Exception as error:
            self.fault = self.fault or f"{type(error).__name__}: {error}"
        finally:
            self._clear_up()
        self.seconds = time.monotonic() - began
        return self

    @property
    def transactions(self) -> int:
        """Number of transactions of the storm."""
        return self._storm.committed

    @property
    def looks(self) -> int:
        """How often the watcher has read the target."""
        return self._watcher.looks

    def line(self) -> str:
        """Return the run in one line."""
        told = "; ".join(f"{kill.step}{'' if kill.reached else ' missed'}" for kill in self.kills)
        return (
            f"run {self.number:3d}  {'ok' if not self.fault else 'WRONG'}  {self.captured.name}  {self.keys}  "
            f"{self.transactions:,} transactions  {self.looks} looks, {len(self._watcher.states)} states  "
            f"{self.seconds:4.1f} s  killed: {told or 'nothing'}" + (f"\n{self.fault}" if self.fault else "")
        )

    # -- on the way -----------------------------------------------------------------------------------------------

    def _to_the_end(self) -> None:
        for step in self.steps:
            self._play(step)
        engine = self._job.start()
        self._await_beacon(engine)
        self._wait(engine, self._watcher.watching.is_set, PATIENCE_S, "the end of the snapshot")
        self._wait(engine, lambda: len(self._watcher.states) >= STATES, PATIENCE_S, f"{STATES} states of the target")
        self._storm.end()
        self._await_beacon(engine)
        self.fault = self._differences()
        if self._watcher.broken:
            self.fault += f"\nthe sum was not zero {len(self._watcher.broken)} times: {self._watcher.broken[0]}"
        if not self.fault and (code := self._job.stop(PATIENCE_S)) != 130:
            self.fault = f"stopped with exit code {code}:\n{engine.output[-4000:]}"

    def _play(self, step: Step) -> None:
        """One process, and the kill in it."""
        engine = self._job.start(step)
        told = self._job.kill_file(len(self._job.engines) - 1)
        deadline = time.monotonic() + self.reached_within_s
        while not told.exists() and engine.exit_code is None and time.monotonic() < deadline:
            self._require_storm()
            time.sleep(0.02)
        if told.exists() and step.victim == "worker":
            self._await_beacon(engine)  # the work of the dead process has been repeated
        if told.exists() and step.victim != "worker":
            engine.wait(PATIENCE_S)
        elif engine.exit_code is None:
            engine.kill()
        if engine.exit_code != -9:
            raise AssertionError(f"ended with {engine.exit_code} before {step}:\n{engine.output[-4000:]}")
        self.kills.append(Kill(step, told.exists()))
        if left := engine.left_over():
            raise AssertionError(f"processes outlive their driver: {left}")

    def _await_beacon(self, engine: Engine) -> None:
        self._beacons += 1
        number = self._beacons
        self._storm.light_beacon(number)
        arrived = lambda: beacon_arrived(self._storm, COPY, number)  # noqa: E731
        self._wait(engine, arrived, PATIENCE_S, f"beacon {number}")

    def _wait(self, engine: Engine, condition: object, patience_s: float, what: str) -> None:
        deadline = time.monotonic() + patience_s
        while not condition():  # type: ignore[operator]
            self._require_storm()
            if engine.exit_code is not None:
                raise AssertionError(f"ended with {engine.exit_code} before {what}:\n{engine.output[-4000:]}")
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not come in {patience_s:.0f} s:\n{engine.output[-4000:]}")
            time.sleep(0.05)

    def _require_storm(self) -> None:
        if self._storm.errors:
            raise self._storm.errors[0]

    def _differences(self) -> str:
        tables = self._storm.tables
        found = (difference(self.captured, self._storm.database, COPY, table) for table in tables)
        return "\n".join(each for each in found if each)

    def _clear_up(self) -> None:
        self._job.end()
        for end in (self._watcher.end, self._storm.end):
            try:
                end()
            except Exception as error:
                self.fault = self.fault or f"{type(error).__name__}: {error}"
        self.captured.release(self._storm.database)
