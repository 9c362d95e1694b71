"""One job that is killed and resumed until it is done, and the judgement of what it leaves."""

import signal
import time
from collections.abc import Callable, Mapping, Sequence

from attrs import define, field, frozen

from seatunnel_core.spark.starting.archived_classes import FOLDER
from tests.torture.job import InFlight, TorturedJob
from tests.torture.moments import Moment
from tests.torture.process import ARCHIVES, Engine

PATIENCE_S = 300
"""A process that has not ended by then hangs."""

POLL_S = 0.003

_LOST = ("STALE-EPOCH", "MANIFEST-CONFLICT")
"""What a process says of which another one has taken the job."""


@frozen(kw_only=True)
class Step:
    """One process and what is killed in it."""

    moment: Moment
    victim: str
    """``driver``, ``jvm`` or ``worker`` are killed; ``paused`` is the driver, not killed but put to sleep until another
    process goes on with the job: a zombie."""


@frozen(kw_only=True)
class Kill:
    """A kill that happened."""

    moment: str
    phase: str
    victim: str
    in_flight: Mapping[str, InFlight] = field(repr=False)
    """What there was before it, by format."""

    @property
    def published(self) -> frozenset[str]:
        return frozenset().union(*(each.published for each in self.in_flight.values()))


@define(kw_only=True)
class Run:
    """One job, from its first process to its end."""

    number: int
    job: TorturedJob
    plain_rename: bool
    steps: tuple[Step, ...]
    kills: list[Kill] = field(factory=list)
    missed: list[str] = field(factory=list)
    """Moments that did not come: the job was over before."""

    resumed: int = 0
    seconds: float = 0.0
    fault: str = ""
    """What is wrong; empty when every row is there once."""

    _final: Mapping[str, InFlight] = field(factory=dict)
    _engines: list[Engine] = field(factory=list)
    _asleep: list[Engine] = field(factory=list)
    _woken: list[Engine] = field(factory=list)

    def play(self) -> "Run":
        """Run it to its end; never raises for what the job does."""
        began = time.monotonic()
        try:
            self._to_the_end()
            self.fault = self.fault or self._judge()
        except TimeoutError as error:
            self.fault = f"hangs: {error}"
        self.seconds = time.monotonic() - began
        return self

    def mid_flight(self) -> list[Kill]:
        """The kills between the first staged unit and the last commit."""
        return [kill for kill in self.kills if any(self._struck(kill, format) for format in kill.in_flight)]

    def struck(self, format: str) -> int:
        """How many kills came between the first staged unit and the last commit of one format."""
        return sum(self._struck(kill, format) for kill in self.kills)

    def _struck(self, kill: Kill, format: str) -> bool:
        seen, final = kill.in_flight[format], self._final.get(format)
        return final is not None and seen.staged and seen.published < final.published

    def line(self) -> str:
        """The run in one line."""
        kills = "; ".join(f"{kill.moment} [{kill.victim}]" for kill in self.kills)
        missed = f" (not reached: {', '.join(self.missed)})" if self.missed else ""
        state = "ok" if not self.fault else "WRONG"
        return (
            f"run {self.number:3d}  {state}  {self.job.rows:,} rows  resumed {self.resumed}x  "
            f"{self.seconds:4.1f} s  killed: {kills or 'nothing'}{missed}" + (f"\n{self.fault}" if self.fault else "")
        )

    # -- on the way -----------------------------------------------------------------------------------------------

    def _to_the_end(self) -> None:
        try:
            done = any(self._play_step(step) for step in self.steps)
            while not done:
                done = self._over(self._start(None), None)
            self._end_zombies()
        finally:
            for engine in self._engines:
                if not self.fault and (left := engine.left_over()):
                    self.fault = f"still running long after the driver of its session was gone: {left}"
                engine.end()

    def _play_step(self, step: Step) -> bool:
        """One process; whether the job is done."""
        engine = self._start(step.moment.stop)
        self._watch(engine, lambda: engine.exit_code is not None or step.moment.reached(engine, self.job))
        if engine.exit_code is not None:
            self.missed.append(step.moment.name)
            return self._over(engine, None)
        victim = self._strike(engine, step)
        return victim not in ("driver", "paused") and self._over(engine, step)

    def _start(self, stop: Sequence[object] | None) -> Engine:
        """The first process, or one that goes on with the job."""
        begun = bool(self.job.stored(".manifest"))
        self.resumed += begun
        environment = {
            "HOME": str(self.job.folder / "home"),
            "XDG_STATE_HOME": "",
            "XDG_CACHE_HOME": "",
            FOLDER: ARCHIVES,
        }
        shared = str(self.job.folder.parent)  # what killed processes cannot remove goes with the campaign's folder
        environment |= {"TMPDIR": shared, "SPARK_LOCAL_DIRS": shared}
        environment["TORTURE_SINK"] = self.job.sink
        if self.plain_rename:
            environment["TORTURE_PLAIN_RENAME"] = "yes"
        engine = Engine(
            self.job.arguments(*(("--take-over", "-r") if begun else ("--set-job-id",)), self.job.job_id),
            log=self.job.folder / f"output-{len(self._engines)}.log",
            environment=environment,
            stop=stop,
        )
        self._engines.append(engine)
        return engine

    def _watch(self, engine: Engine, until: Callable[[], bool]) -> None:
        """Wait, and wake the sleepers up when something has been published without them."""
        while not until():
            if engine.age_s > PATIENCE_S:
                engine.wait(0)
            if self._asleep and len(self.job.published()) > len(self.kills[-1].published):
                self._wake()
            time.sleep(POLL_S)

    def _strike(self, engine: Engine, step: Step) -> str:
        """Kill, and say what was killed: the driver where there is no such process as was to be killed."""
        others = {"worker": engine.workers, "jvm": engine.jvms}.get(step.victim, list)()
        victim = step.victim if others or step.victim == "paused" else "driver"
        in_flight = self.job.in_flight()
        if victim == "paused":
            engine.pause(self.job.free)
            self._asleep.append(engine)
        else:
            engine.kill(others[-1].pid if others else engine.pid)
        if others:
            engine.signal(signal.SIGCONT)
        self.kills.append(
            Kill(
                moment=step.moment.name,
                phase=step.moment.phase,
                victim=victim,
                in_flight=in_flight,
            )
        )
        return victim

    def _over(self, engine: Engine, step: Step | None) -> bool:
        """Wait for the end of a process that was not killed itself; whether the job is done."""
        self._watch(engine, lambda: engine.exit_code is not None)
        if "Traceback" in engine.output:
            self.fault = f"shows a traceback:\n{engine.output[-6000:]}"
            return True
        if engine.exit_code == 0:
            return True
        if engine.exit_code == 1 and self._woken and any(code in engine.output for code in _LOST):
            # Who slept had not claimed its epochs yet: awake, it has the newest ones, and the job. This one is told at
            # its next commit, or, where all of its rows were committed before, when it records the end.
            return any(sleeper.wait(PATIENCE_S) == 0 for sleeper in self._woken)
        if engine.exit_code != 1 or step is None or step.victim != "jvm":
            self.fault = f"ended with exit code {engine.exit_code}:\n{engine.output[-6000:]}"
            return True
        return False

    def _wake(self) -> None:
        self._woken += self._asleep
        for engine in self._asleep:
            engine.signal(signal.SIGCONT)
        self._asleep = []

    def _end_zombies(self) -> None:
        """A process that lost its job has to notice, to say so and to end."""
        self._wake()
        for engine in self._woken:
            if engine.wait(PATIENCE_S) not in (0, 1) or "a bug in the engine" in engine.output:
                self.fault = f"a zombie ended with exit code {engine.exit_code}:\n{engine.output[-6000:]}"

    # -- at the end -----------------------------------------------------------------------------------------------

    def _judge(self) -> str:
        self._final = self.job.in_flight()
        faults = [target.differences() for target in self.job.targets]
        left = sorted(self.job.staged())
        if left and not self._woken:  # what a zombie's workers stage after the end is left to `gc` (R9)
            faults.append(f"{len(left)} staged files are left: {', '.join(left[:3])}")
        return "\n".join(fault for fault in faults if fault)
