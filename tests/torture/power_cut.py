"""Jobs whose machine loses its power, before any one of its syncs: ``python -m tests.torture.power_cut --runs 100``.

A library between the programs and the system (``power_cut.c``) writes down what was synchronised. When the power is
cut, a folder of just that takes the place of the disk, and the job is resumed: every row has to be there once. So what
lacks an ``fsync``, of a file's bytes or of the names in a folder, is found by the rows that it costs. Tasks run in the
process of the job.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

FILES, ROWS_PER_FILE = 10, 8
ALL = list(range(FILES * ROWS_PER_FILE))
JOB_ID = "job"
STORAGES = ("nameless files", "drafts", "map-store")
STORIES = ("goes on", "goes back", "drops old data")
WAIT_S = 120

AFTER_THE_END = 1_000_000
"""No job has so many syncs."""

SYNCS: dict[str, tuple[tuple[str, ...], str]] = {
    "the bytes of a checkpoint": (("_write",), "goes on"),
    "the folder of a checkpoint": (("put_pieces_if_absent",), "goes on"),
    "the folder that holds a new folder of the storage": (("_make_folders",), "goes on"),
    "the bytes of a staged file": (("finish", "sync_file"), "goes on"),
    "the names of staged files": (("make_durable",), "goes on"),
    "the folders of staging": (("make_staging",), "goes on"),
    "the folder of published files": (("commit", "sync_folder"), "goes on"),
    "the folder that holds a new partition": (("_create_folder",), "goes on"),
    "the folder of files that were taken back": (("_retract_in",), "goes back"),
    "the folder of data that was dropped": (("drop",), "drops old data"),
}
"""Syncs that are left out to see that they are missed: the functions in whose course they are asked for, and the story
in which they are."""


@frozen(kw_only=True)
class Cut:
    """One job, one cut."""

    story: str
    storage: str
    at: int
    """The number of the sync before which the power goes."""

    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        when = "after the end" if self.at == AFTER_THE_END else f"before sync {self.at}"
        return f"{self.story}, {self.storage}, {when}"


# -- the disk ---------------------------------------------------------------------------------------------------------


def library(folder: Path) -> Path:
    """The compiled layer."""
    made = folder / "power_cut.so"
    source = Path(__file__).with_name("power_cut.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", str(made), str(source), "-ldl"], check=True)
    return made


def survivors(kept: Path, into: Path) -> None:
    """Make the folder of what was synchronised. Two names of one file stay that."""
    files: dict[str, Path] = {}

    def fill(record: Path, folder: Path) -> None:
        folder.mkdir()
        for line in record.read_text().splitlines() if record.exists() else ():
            kind, key, name = line.split(" ", 2)
            if kind == "d":
                fill(kept / key, folder / name)
            elif key in files:
                os.link(files[key], folder / name)
            else:
                files[key] = folder / name
                files[key].write_bytes((kept / key).read_bytes() if (kept / key).exists() else b"")

    fill(kept / "root", into)


def synchronise(root: Path) -> None:
    """All that is there: what follows can lose nothing of it but what it changes."""
    for folder, _, names in os.walk(root, topdown=False):
        for path in (*(os.path.join(folder, name) for name in names), folder):
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def leave_out(functions: tuple[str, ...]) -> None:
    """No sync any more that is asked for in the course of all these functions."""
    sync = os.fsync

    def some(descriptor: int) -> None:
        frame: Any = sys._getframe(1)
        names = set()
        while frame is not None:
            names.add(frame.f_code.co_name)
            frame = frame.f_back
        if not names.issuperset(functions):
            sync(descriptor)

    os.fsync = some  # type: ignore[assignment]


# -- the job ----------------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Place:
    """A folder with a disk in it, and what is beside that."""

    folder: Path

    @property
    def disk(self) -> Path:
        return self.folder / "disk"

    @property
    def kept(self) -> Path:
        return self.folder / "kept"

    def prepare(self, cut: Cut) -> None:
        inputs = self.folder / "in"
        inputs.mkdir(parents=True)
        for number in range(FILES):
            ids = ALL[number * ROWS_PER_FILE : (number + 1) * ROWS_PER_FILE]
            (inputs / f"{number:02d}.csv").write_text("".join(f"{id},{id % 3}\n" for id in ids))
        self.disk.mkdir()
        if cut.story == "drops old data":
            (self.disk / "out" / "part=0").mkdir(parents=True)
            (self.disk / "out" / "part=0" / "yesterday.json").write_text('{"id": -1}\n')
        storage = (
            f"type: hdfs\n        plugin-config:\n          namespace: {self.disk}/state/\n"
            if cut.storage != "map-store"
            else f"type: map-store\n        plugin-config:\n          namespace: {self.disk}/state/\n"
            "          storage.type: local\n"
        )
        (self.folder / "seatunnel.yaml").write_text(
            f"seatunnel:\n  engine:\n    checkpoint:\n      storage:\n        max-retained: 50\n        {storage}"
        )

    def job(self, cut: Cut, *, slowly: bool) -> str:
        mode = "DROP_DATA" if cut.story == "drops old data" else "APPEND_DATA"
        limit = "read_limit.rows_per_second = 60" if slowly else ""
        return f"""
env {{ job.mode = BATCH, parallelism = 1, checkpoint.interval = 20, job.retry.times = 0, {limit} }}
source {{ LocalFile {{ plugin_output = s, path = "{self.folder}/in", file_format_type = csv
  schema {{ fields {{ id = bigint, part = int }} }} }} }}
sink {{ LocalFile {{ plugin_input = [s], path = "{self.disk}/out", file_format_type = json, partition_by = [part]
  data_save_mode = {mode} }} }}
"""

    def run(self, cut: Cut, restore: Any, *, slowly: bool = False, begun: Callable[[], None] | None = None) -> Any:
        from seatunnel_core.config.engine import load_engine
        from seatunnel_core.config.job_file import load_job
        from seatunnel_core.config.variables import Variables
        from seatunnel_core.registry import lookup
        from seatunnel_core.runtime import job_run
        from tests.runtime.in_process import InProcessBackend

        if cut.storage == "drafts":
            from seatunnel_storage_hdfs import local

            local._NAMELESS_ON = frozenset()
        job_run.SparkBackend = InProcessBackend  # type: ignore[attr-defined]
        (self.folder / "job.conf").write_text(self.job(cut, slowly=slowly))
        raw = load_job(self.folder / "job.conf", Variables({}, {}))
        engine = load_engine(self.folder / "seatunnel.yaml")
        return job_run.JobRun(raw, engine, registry=lookup, job_id=JOB_ID, restore=restore, on_begun=begun)

    def rows(self) -> list[int]:
        import json

        files = [path for path in self.disk.glob("out/**/*.json") if ".seatunnel" not in path.parts]
        return sorted(json.loads(line)["id"] for path in files for line in path.read_text().splitlines())


def to_its_end(run: Any) -> str:
    """What went wrong; empty when nothing did."""
    with run:
        run.start()
        report = run.wait(WAIT_S)
    if report is None:
        return "hangs"
    failures = [report.failure, *(view.failure for view in report.pipelines)]
    return "" if report.outcome.value == "finished" else f"{report.outcome.value}: {' '.join(failures)}"


def begin(place: Place, cut: Cut) -> str:
    """Before the cut, for a job that is to go back: half of its rows, and a kill."""
    from tests.runtime.ground import committed, until

    with place.run(cut, None, slowly=True) as run:
        run.start()
        until(lambda: committed(run) >= len(ALL) // 2, run)
        run.kill()
        run.wait(WAIT_S)
    return ""


def until_the_cut(place: Place, cut: Cut, tell: Callable[[str], None]) -> str:
    from seatunnel_core.job.restoring import ChosenCheckpoint, Restore
    from seatunnel_storage_api.discovery import open_storage

    synchronise(place.disk)
    restore = None
    if cut.story == "goes back":
        options = {"namespace": f"{place.disk}/state/"}
        kind, more = ("map-store", {"storage.type": "local"}) if cut.storage == "map-store" else ("hdfs", {})
        with open_storage(kind, {**options, **more}) as storage:
            oldest = storage.list_checkpoints(JOB_ID, 1)[1].ref
        restore = Restore(checkpoints=(ChosenCheckpoint.parse(str(oldest)),), retract=True)
    if cut.without:
        leave_out(cut.without)
    os.environ["POWER_CUT_AT"] = str(cut.at)
    return to_its_end(place.run(cut, restore, begun=lambda: tell("begun\n")))


def after_the_cut(place: Place, cut: Cut, *, begun: bool) -> str:
    from seatunnel_core.errors import UsageError
    from seatunnel_core.job.restoring import Restore

    try:
        fault = to_its_end(place.run(cut, Restore()))
    except UsageError as error:
        if begun or "there is no job" not in str(error):
            return str(error)
        fault = to_its_end(place.run(cut, None))
    rows = place.rows()
    wrong = "" if rows == ALL else f"missing {sorted(set(ALL) - set(rows))}, too many {_too_many(rows)}"
    return fault or wrong


def _too_many(rows: Sequence[int]) -> list[int]:
    return sorted({id for id in rows if rows.count(id) > 1 or id not in ALL})


# -- one cut after the other ------------------------------------------------------------------------------------------


def in_child(work: Callable[[Callable[[str], None]], str], environment: Mapping[str, str]) -> tuple[str, bool]:
    """What it told and returned, in a process of its own, and whether it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.environ.update(environment)
        try:
            os.write(writing, work(lambda text: _told(writing, text)).encode())
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as said:
        text = said.read().decode()
    _, status = os.waitpid(child, 0)
    return text, os.WIFSIGNALED(status)


def _told(writing: int, text: str) -> None:
    os.write(writing, text.encode())


def play(cut: Cut, folder: Path) -> tuple[str, bool]:
    """What is wrong after the cut, and whether there was one: the job may have had fewer syncs."""
    place = Place(folder=folder)
    place.prepare(cut)
    environment = {"HOME": str(folder), "XDG_STATE_HOME": "", "XDG_RUNTIME_DIR": ""}
    if cut.story == "goes back":
        fault, _ = in_child(lambda tell: begin(place, cut), environment)
        if fault:
            return f"before the cut: {fault}", False
    place.kept.mkdir()
    watched = {**environment, "POWER_CUT_ROOT": str(place.disk), "POWER_CUT_KEPT": str(place.kept)}
    said, was_cut = in_child(lambda tell: until_the_cut(place, cut, tell), watched)
    begun, fault = "begun\n" in said, said.removeprefix("begun\n")
    if not was_cut and fault:
        return f"before the cut: {fault}", False
    lost = folder / "lost"
    place.disk.rename(lost)
    survivors(place.kept, place.disk)
    fault, _ = in_child(lambda tell: after_the_cut(place, cut, begun=begun), environment)
    return fault, was_cut


def torture(cuts: Sequence[Cut], *, until_wrong: bool = False) -> list[str]:
    """Play them, and print what happens."""
    wrong: list[str] = []
    for cut in cuts:
        folder = Path(tempfile.mkdtemp(prefix="seatunnel-power-"))
        fault, was_cut = play(cut, folder)
        print(f"{cut}: {fault[:300] or ('every row once' if was_cut else 'no cut, every row once')}", flush=True)
        if fault:
            wrong.append(f"{cut}: {fault}")
        shutil.rmtree(folder, ignore_errors=True)
        if fault and until_wrong:
            break
    return wrong


def by_chance(runs: int, rng: random.Random, stories: Sequence[str]) -> list[Cut]:
    return [
        Cut(
            story=stories[number % len(stories)],
            storage=STORAGES[number // len(stories) % len(STORAGES)],
            at=rng.choice([rng.randint(1, 40), rng.randint(20, 100), AFTER_THE_END]),
        )
        for number in range(runs)
    ]


def leaving_out(what: str, runs: int) -> list[Cut]:
    """After the end, which most are missed by, and before each sync from the first one on."""
    without, story = SYNCS[what]
    moments = [AFTER_THE_END, *range(1, runs)]
    return [Cut(story=story, storage=STORAGES[0], at=at, without=without) for at in moments]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.power_cut", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stories", type=lambda text: text.split(","), default=STORIES)
    parser.add_argument(
        "--without", choices=SYNCS, help="leave this sync out, and stop at the first run that goes wrong"
    )
    arguments = parser.parse_args(argv)
    if "LD_PRELOAD" not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            again = [sys.executable, "-m", "tests.torture.power_cut", *(sys.argv[1:] if argv is None else argv)]
            environment = {**os.environ, "LD_PRELOAD": str(library(Path(folder)))}
            return subprocess.run(again, env=environment, check=False).returncode
    import tests.runtime.ground  # noqa: F401  # once, and not in each child

    if arguments.without:
        chosen = leaving_out(arguments.without, arguments.runs)
    else:
        chosen = by_chance(arguments.runs, random.Random(arguments.seed), arguments.stories)
    wrong = torture(chosen, until_wrong=bool(arguments.without))
    print(f"{len(wrong)} of {len(chosen)} went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
