"""Jobs that are changed at random between a kill and a restore: ``python -m tests.claiming.changed_jobs --plays 100``.

Real sinks, each with tables or folders of its own. Whatever is changed, the job goes on with every row once for each
sink that it kept, or the restore is refused in words, and then the job as it was goes on.
"""

import argparse
import random
import shutil
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from contextlib import closing
from pathlib import Path

from attrs import evolve

from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import ChosenCheckpoint, Restore
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.runtime.pipeline_io import PipelineIO
from seatunnel_storage_api.discovery import open_storage
from tests.claiming.changes import CHANGES, ROWS, Job, a_job
from tests.runtime.command import ids
from tests.runtime.ground import OLD, WAIT_S, Ground, ground_in

OURS = set(range(1, ROWS + 1))


class Play:
    """One job, killed and restored."""

    def __init__(self, ground: Ground, rng: random.Random) -> None:
        self._ground, self._rng = ground, rng
        self.lines: list[str] = []

    def _tell(self, line: str) -> None:
        self.lines.append(line)

    def _killed(self, job: Job, restore: Restore | None) -> None:
        """Run until some rows are there; then commits fail for a while, or not, and the process dies."""
        rng, commit = self._rng, PipelineIO.commit
        calls, most = [0], rng.choice([1, 2, 3, 5, 1000])

        def some(work: PipelineIO, *arguments: object, **how: object) -> None:
            calls[0] += 1
            if calls[0] > most:
                raise _AwayError
            commit(work, *arguments, **how)  # type: ignore[arg-type]

        PipelineIO.commit = some  # type: ignore[assignment, method-assign]
        try:
            with self._ground.run(job.text(self._ground.work, 400), restore=restore) as run:
                run.start()
                run.wait(rng.uniform(0.05, 0.5))
                if run.wait(0) is None:
                    run.kill()
                report = run.wait(WAIT_S)
                assert report is not None
                if report.outcome is JobOutcome.FAILED and "away" not in _failures(report):
                    raise UsageError(_failures(report))
        finally:
            PipelineIO.commit = commit  # type: ignore[method-assign]

    def _to_its_end(self, job: Job, restore: Restore) -> str:
        """Return why it was refused or failed; empty when it finished."""
        try:
            with self._ground.run(job.text(self._ground.work, None), restore=restore) as run:
                run.start()
                report = run.wait(WAIT_S)
        except UsageError as error:
            return f"refused: {error}"
        assert report is not None, "hangs"
        return "" if report.outcome is JobOutcome.FINISHED else f"failed: {_failures(report)}"

    def play(self) -> list[str]:
        """Return what is wrong."""
        rng = self._rng
        first = a_job(rng)
        self._tell(first.text(self._ground.work, None))
        self._write_yesterdays_rows(first)
        try:
            self._killed(first, None)
        except UsageError as error:
            self._tell(f"first: {error}")
            return []
        started = bool(list(self._ground.work.glob(f"state/{OLD}/*manifest*")))
        if not started:
            return []
        job = first
        for _ in range(rng.randint(1, 3)):
            job = rng.choice(CHANGES)(job, rng)
        self._tell(f"changed: {'; '.join(filter(None, job.told))}")
        restore = job.restore
        if rng.random() < 0.25:
            restore = self._damaged(restore)
        if rng.random() < 0.3:
            try:
                self._killed(job, restore)
                self._tell("killed again after the change")
            except UsageError as error:
                self._tell(f"the second start: {error}")
            restore = job.restore
        why = self._to_its_end(job, restore)
        kept = job
        if why:
            self._tell(f"then {why}")
            kept = first
            wrong = self._bad_words(why) + self._doubled(first, job)
            back = self._to_its_end(first, Restore(allow_non_restored_state=True))
            self._tell(f"as it was: {back or 'finished'}")
            if back:
                return wrong + self._bad_words(back)
            return wrong + self._judge(first, first, job)
        return self._judge(first, kept, job)

    def _write_yesterdays_rows(self, job: Job) -> None:
        """Into the folders that a save mode empties."""
        for sink in job.sinks:
            if sink.kind == "LocalFile" and "data_save_mode" in sink.options:
                folder = self._ground.work / "out" / sink.target
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "yesterday.json").write_text('{"id": -1}\n')

    def _damaged(self, restore: Restore) -> Restore:
        rng = self._rng
        with open_storage("hdfs", {"namespace": f"{self._ground.work}/state/"}) as storage:
            infos = storage.list_checkpoints(OLD, 1)
            what = rng.choice(["newest removed", "newest damaged", "rewind", "rewind and retract"])
            self._tell(what)
            if len(infos) < 2:
                return restore
            if what == "newest removed":
                storage.delete_checkpoints(OLD, 1, [infos[-1].ref])
            elif what == "newest damaged":
                file = max(self._ground.work.glob(f"state/{OLD}/0*1/*.ckpt"))
                file.write_bytes(file.read_bytes()[:-40])
            else:
                ref = ChosenCheckpoint.parse(f"1:{rng.choice(infos[:-1]).ref}")
                return evolve(restore, checkpoints=(ref,), retract="retract" in what)
        return restore

    # -- the judgement

    def _bad_words(self, why: str) -> list[str]:
        signs = ("Traceback", "KeyError", "AttributeError", "TypeError", "IllegalEvent", "AssertionError", "bug")
        return [f"no sentence for people: {why}"] if any(sign in why for sign in signs) else []

    def _rows(self, *jobs: Job) -> Counter[int]:
        work, found = self._ground.work, Counter[int]()
        sinks = {(sink.kind, sink.target) for job in jobs for sink in job.sinks}
        for kind, target in sinks:
            if kind == "LocalFile" and (work / "out" / target).exists():
                found.update(ids(work / "out" / target))
            elif kind == "Jdbc" and (work / "target.db").exists():
                with closing(sqlite3.connect(work / "target.db")) as database:
                    tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
                    if target in tables:
                        found.update(number for (number,) in database.execute(f"SELECT id FROM {target}"))
            elif kind == "Iceberg" and (work / "catalog.db").exists():
                found.update(_of_iceberg(work, target))
        return found

    def _doubled(self, first: Job, job: Job) -> list[str]:
        most = len({sink.key for each in (first, job) for sink in each.sinks})
        rows = self._rows(first, job)
        # Yesterday's row stays where the first process died before its save mode.
        wrong = {id: count for id, count in rows.items() if count > most or (id not in OURS and id != -1)}
        return [f"after a refusal more than {most} times: {wrong}"] if wrong else []

    def _judge(self, first: Job, last: Job, other: Job) -> list[str]:
        before, now = {sink.key for sink in first.sinks}, {sink.key for sink in last.sinks}
        least = len(before & now)
        most = len(before | now | {sink.key for sink in other.sinks})
        if any(self._upserts(job) for job in (first, last, other)):
            least = 1
        if self._writes_at_once(other) and "killed again after the change" in self.lines:
            most = len(OURS)  # what it wrote since its last checkpoint comes again
        rows = self._rows(first, last, other)
        wrong = {id: rows[id] for id in OURS if not least <= rows[id] <= most}
        wrong |= {id: count for id, count in rows.items() if id not in OURS and id != -1}
        return [f"not between {least} and {most} times: {wrong}"] if wrong else []

    def _writes_at_once(self, job: Job) -> bool:
        return any(sink.options.get("is_exactly_once") == "false" for sink in job.sinks)

    def _upserts(self, job: Job) -> bool:
        return any("primary_keys" in sink.options for sink in job.sinks)


class _AwayError(OSError):
    """A commit that cannot be made now."""

    def __str__(self) -> str:
        return "away"


def _failures(report: object) -> str:
    return " ".join([report.failure, *(view.failure for view in report.pipelines)])  # type: ignore[attr-defined]


def _of_iceberg(work: Path, target: str) -> list[int]:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError

    catalog = load_catalog(
        "default", type="sql", uri=f"sqlite:///{work}/catalog.db", warehouse=f"file://{work}/warehouse"
    )
    try:
        return list(catalog.load_table(f"n.{target}").scan().to_arrow().column("id").to_pylist())
    except NoSuchTableError:
        return []


def play(seed: int, folder: Path) -> tuple[list[str], list[str]]:
    """Return what is wrong in a play, and its story."""
    with ground_in(folder) as ground:
        ground.work.mkdir(parents=True)
        played = Play(ground, random.Random(seed))
        try:
            wrong = played.play()
        except Exception:
            wrong = [traceback.format_exc()]
        return wrong, played.lines


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.claiming.changed_jobs", description=__doc__)
    parser.add_argument("--plays", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    bad = 0
    outcomes: Counter[str] = Counter()
    for seed in range(arguments.seed, arguments.seed + arguments.plays):
        folder = Path(tempfile.mkdtemp(prefix="seatunnel-changed-"))
        wrong, lines = play(seed, folder)
        shutil.rmtree(folder, ignore_errors=True)
        outcomes["refused" if any(line.startswith("then") for line in lines) else "finished"] += 1
        bad += bool(wrong)
        if wrong or arguments.verbose:
            print(f"--- seed {seed}", *lines, *(f"WRONG {each}" for each in wrong), sep="\n", flush=True)
    print(f"{arguments.plays} plays, {dict(outcomes)}, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
