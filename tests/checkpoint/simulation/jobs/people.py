"""The people and supervisors behind a job's processes, and what befalls these."""

import re
from typing import TYPE_CHECKING

from seatunnel_core.errors import SeaTunnelError, UsageError
from seatunnel_core.job.restoring import ChosenCheckpoint, Restore
from tests.checkpoint.simulation.invariants.invariant import ViolationError
from tests.checkpoint.simulation.jobs.process import Process
from tests.checkpoint.simulation.jobs.scenario import LATE_CLAIMS

if TYPE_CHECKING:
    from tests.checkpoint.simulation.jobs.world import JobWorld


class People:
    """Start the job again whenever it has died, ask things of it, go back, and read what they are told."""

    def __init__(self, world: "JobWorld") -> None:
        self._world = world
        self._disturbances = list(world.scenario.faults.disturbances)
        self._chosen: tuple[ChosenCheckpoint, ...] = ()
        """What they go back to, because of what the last process told them."""

        self._waits = False
        """Whether somebody is about to start the job again."""

        self._sleeps = list(world.scenario.sleeps)
        self._edits = list(world.scenario.edits)
        self._added = list(world.scenario.added)
        self._drops = False
        """Whether they say that the job goes on without what is stored of sinks that it has no more."""

    def disturb(self) -> None:
        while self._disturbances and self._disturbances[0][0] <= self._world.stage.clock.steps:
            _, kind = self._disturbances.pop(0)
            process = self._world.processes[-1]
            if process.gone:
                continue
            self._world.note(process.name, f"--- {kind} ---")
            match kind:
                case "crash":
                    self._world.kill(process)
                case "pause":
                    process.paused_until_ms = self._world.stage.clock.now_ms + self._world.rng.choice(
                        [20, 500, 5_000, 30_000]
                    )
                    if self._world.rng.random() < 0.8:
                        self._world.start(self._going_on())
                case "rival":
                    self._world.start(self._going_on())
                case "wall clock":
                    process.wall_s += self._world.rng.choice([-86_400.0, 3_600.0, 1e8])
                case "lose a table":
                    self._world.lose_table()
                    if self._world.rng.random() < 0.6:
                        self._world.kill(process)
                case "retracted" | "refused" | "accepted":
                    if self._world.rng.random() < 0.6:
                        self._world.kill(process)
                    self._world.start(self.going_back(kind))
                case _:
                    self._ask(process, kind)

    def disturb_before(self, act: str, process: Process) -> None:
        if act not in self._sleeps or not self._world.faults_are_on:
            return
        self._sleeps.remove(act)
        self._world.note(process.name, f"--- falls asleep before {act} ---")
        self._world.counts["sleeps"] += 1
        clock, rng = self._world.stage.clock, self._world.rng
        process.paused_until_ms = max(process.paused_until_ms, clock.now_ms + rng.choice([500, 5_000, 30_000, 90_000]))
        if act not in LATE_CLAIMS and rng.random() < 0.8:  # before a claim, the process before still works
            clock.after(rng.choice([0, 300]), lambda: self._world.start(self._going_on()))

    def edit(self) -> None:
        """Before a start that is not the first."""
        job_file = self._world.job_file
        job_file.nodes += self._added
        self._added = []
        if self._edits and self._world.rng.random() < 0.6:
            kind = self._edits.pop(0)
            job_file.change(kind)
            self._world.counts["edits"] += 1
            self._world.note("people", f"--- {kind}: {[node[2] for node in job_file.nodes]} ---")

    def _ask(self, process: Process, kind: str) -> None:
        """A person, through the control socket: a thread of its own."""
        run = process.run
        if run is None:
            return

        def ask() -> None:
            try:
                if kind == "stop":
                    run.stop()
                elif kind == "kill":
                    run.kill()
                else:
                    run.savepoint(stop=kind == "savepoint and stop", drain=kind == "drain")
                    self._world.counts["savepoints"] += 1
            except (SeaTunnelError, RuntimeError) as error:
                self._world.note(process.name, f"refuses: {error}")
                others = self._world.last_writer not in (None, process)
                if "another process has claimed" in str(error) and not others:
                    self._world.broken_by(ViolationError("savepoints of jobs", f"nobody has, and {error}"))

        process.asked = process.asked or kind != "savepoint"
        with self._world.stage.inside(process):
            for _ in range(2 if kind == "savepoint" and self._world.rng.random() < 0.3 else 1):
                self._world.stage.start(process, ask)

    def _going_on(self) -> Restore | None:
        self.edit()
        return None if self._world.manifest is None else Restore(allow_non_restored_state=self._drops)

    def going_back(self, mode: str) -> Restore | None:
        """To something that is stored, live or orphaned, in one of the pipelines; or to a savepoint of all."""
        manifest = self._world.manifest
        if manifest is None:
            return None
        how = {"retract": mode == "retracted", "accept_duplicates": mode == "accepted"}
        if manifest.savepoints and self._world.rng.random() < 0.5:
            return Restore(savepoint=self._world.rng.choice(manifest.savepoints).name, **how)  # type: ignore[arg-type]
        stored = [
            (number, ref)
            for number, sight in sorted(self._world.sights.items())
            for ref in sorted(sight.storage.checkpoints)
        ]
        if not stored:
            return Restore()
        number, ref = self._world.rng.choice(stored)
        return Restore(checkpoints=(ChosenCheckpoint.parse(f"{number}:{ref}"),), **how)  # type: ignore[arg-type]

    def replace_the_dead(self) -> None:
        """What people and supervisors do: what crashed, stopped or failed starts again in a new process."""
        process = self._world.processes[-1]
        if not process.gone or self._world.is_recorded_as_ended() or self._waits:
            return
        if any(
            not other.gone and other.paused_until_ms <= self._world.stage.clock.now_ms
            for other in self._world.processes
        ):
            return
        if isinstance(process.refusal, UsageError) and not self._explains(process.refusal):
            self._world.broken_by(ViolationError("refusals", f"{process.name} was refused: {process.refusal}"))
        self._waits = True
        self._world.stage.clock.after(self._world.rng.choice([0, 300, 5_000]), self._start_again)

    def _start_again(self) -> None:
        self._waits = False
        if self._chosen:
            self._world.start(Restore(checkpoints=self._chosen, retract=True, allow_non_restored_state=self._drops))
        else:
            self._world.start(self._going_on())

    def _explains(self, refusal: Exception) -> bool:
        """Whether a person who goes on, goes back or starts a rival may hear that."""
        said = ("exists already", "another process has just started", "there is no job", "not the latest", "orphaned")
        said += (  # type: ignore[assignment]
            "no such checkpoint",
            "restoring checkpoint",
            "cannot be restored",
            "does not exist",
            "no manifest of it",
            "has no savepoint",
            "no free slot",
            "Undo that change",
            "undo that change",
            "add them to the job again",
            "add it again, run the job",
        )
        return any(each in str(refusal) for each in said)

    def _intact(self, process: Process) -> tuple[ChosenCheckpoint, ...]:
        """What the engine itself says that one can go back to."""
        found = []
        for view in process.report.pipelines if process.report is not None else ():
            _, _, told = view.failure.partition("the newest intact checkpoint is ")
            if "no stored checkpoint can be read" in view.failure:
                self._remove_damaged(view.id)
            elif told:
                found.append(ChosenCheckpoint.parse(f"{view.id}:{told.split('. ')[0]}"))
        return tuple(found)

    def _left(self, refusal: Exception | None) -> tuple[ChosenCheckpoint, ...]:
        """A zombie has pruned what an earlier command was to go back to: a person chooses the latest that is left."""
        found = []
        for line in str(refusal).splitlines() if isinstance(refusal, UsageError) else ():
            title, gone, rest = line.partition(" does not exist. These can be restored: ")
            source = title.split(" -> ")[0].split(", ")[0]
            for number, sight in self._world.sights.items():
                if gone and source in {spec.name for spec in sight.scenario.topology.sources}:
                    found.append(ChosenCheckpoint.parse(f"{number}:{rest.split(', ')[-1]}"))
        return tuple(found)

    def _remove_damaged(self, pipeline_id: int) -> None:
        """A person removes what nobody can read and nobody had acted on: it was torn."""
        for key in [key for key in self._world.torn if self._world.states[key].pipeline_id == pipeline_id]:
            self._world.torn.discard(key)
            if self._world.blobs.pop(key, None) is not None:
                del self._world.sights[pipeline_id].storage.checkpoints[self._world.states[key].ref]

    def ended(self, process: Process) -> None:
        """A process has ended, and says why."""
        self._chosen = self._intact(process) or self._left(process.refusal)
        failures = [view.failure for view in process.report.pipelines] if process.report is not None else []
        for number in re.findall(
            r"of pipeline (\d+) [^\n]* cannot be restored: cannot read [^\n]* damaged", str(process.refusal)
        ):
            self._remove_damaged(int(number))
        words = "\n".join([str(process.refusal or ""), *failures])
        self._world.counts["tables put back"] += self._world.tables.put_back(words)
        self._mend(words)

    def _mend(self, words: str) -> None:
        """A refusal names what is to be put back, and what can be said instead."""
        job_file = self._world.job_file
        mended = job_file.mend(words)
        self._drops = "allow_non_restored_state=True" in words
        if self._drops and not mended and self._world.rng.random() < 0.3:
            job_file.put_all_back()
        if mended:
            self._world.counts["mended"] += 1
            self._world.note("people", f"--- put back: {[node[2] for node in job_file.nodes]} ---")
