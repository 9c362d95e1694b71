"""A cluster's state whose machine loses its power: ``python -m tests.torture.power_cut_of_state --runs 100``.

The layer is that of ``power_cut``. Leaders submit and end jobs on local files; the power goes before any one of the
syncs. Whatever was acknowledged is there for the next leader, whose term is larger than any that was claimed.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import frozen
from seatunnel_storage_mapstore.journal import Limits

from seatunnel_core.server.state.cluster_state import ClusterState
from seatunnel_core.server.state.records import EndedJob, JobRecord, JobState
from tests.server.state.stores import local_store
from tests.torture.power_cut import AFTER_THE_END, in_child, leave_out, library, survivors, synchronise

LEADERS, CHANGES = 3, 12
LIMITS = Limits(segment_bytes=3_000, most_segments=3)
"""Small, so that the log is compacted in the midst."""

SYNCS: dict[str, tuple[str, ...]] = {
    "a change that is appended to the log": ("_append",),
    "the bytes of a file of the log, or of a large value": ("_write",),
    "the folder of the log": ("put_pieces_if_absent",),
    "the folder that holds a new folder": ("_make_folders",),
}


@frozen(kw_only=True)
class Recorded:
    """What a leader has in its state after some changes, by the ids of jobs."""

    open: frozenset[str] = frozenset()
    ended: frozenset[str] = frozenset()

    def after(self, change: int) -> "Recorded":
        """Submit a job, or end the one before."""
        if change % 3 == 2:
            gone = str(change - 1)
            return Recorded(open=self.open - {gone}, ended=self.ended | {gone})
        return Recorded(open=self.open | {str(change)}, ended=self.ended)


def make(state: ClusterState, change: int) -> None:
    if change % 3 == 2:
        state.end(
            EndedJob(
                job_id=str(change - 1), name="copy", state=JobState.FINISHED, attempts=1, submitted_at=1.0, ended_at=2.0
            )
        )
        return
    text = "env {}" * (20_000 if change % 4 == 0 else 1)  # a large one does not go into the log itself
    state.put(JobRecord(job_id=str(change), name="copy", text=text, format="hocon", submitted_at=1.0, since=1.0))


def lead(disk: Path, at: int, without: tuple[str, ...], tell: Callable[[str], None]) -> str:
    """Lead several times, and tell what is acknowledged: terms as ``t1``, changes as numbers."""
    synchronise(disk)
    if without:
        leave_out(without)
    os.environ["POWER_CUT_AT"] = str(at)
    change = 0
    for _ in range(LEADERS):
        store = local_store(disk, limits=LIMITS)
        lease = store.claim()
        state = ClusterState(lease, expire_s=1e9)
        tell(f"t{lease.term}\n")
        for number in range(CHANGES):
            make(state, change)
            tell(f"{change}\n")
            change += 1
            if number % 4 == 0:
                lease.renew(number, b"alive")
        store.close()
    return ""


def judge(disk: Path, said: Sequence[str]) -> str:
    """Return what the next leader misses; empty when it has all that was acknowledged."""
    terms = [int(line[1:]) for line in said if line.startswith("t")]
    acknowledged = [int(line) for line in said if line.isdigit()]
    lease = local_store(disk, limits=LIMITS).claim()
    found = ClusterState(lease, expire_s=1e9).snapshot()
    if lease.term <= max(terms, default=0):
        return f"term {lease.term} is claimed a second time"
    states = [Recorded()]
    for change in range(len(acknowledged) + 1):
        states.append(states[-1].after(change))
    have = Recorded(open=frozenset(found.jobs), ended=frozenset(found.history))
    if found.problems or have not in states[-2:]:  # the change that was under way may be there
        return f"{len(acknowledged)} changes were acknowledged, and there is {have}, unreadable {tuple(found.problems)}"
    return ""


def play(at: int, folder: Path, without: tuple[str, ...] = ()) -> tuple[str, bool]:
    """Return what is wrong after the cut, and whether there was one."""
    disk, kept = folder / "disk", folder / "kept"
    disk.mkdir(parents=True)
    kept.mkdir()
    watched = {"HOME": str(folder), "POWER_CUT_ROOT": str(disk), "POWER_CUT_KEPT": str(kept)}
    said, was_cut = in_child(lambda tell: lead(disk, at, without, tell), watched)
    lines = said.splitlines()
    strange = [line for line in lines if not line.lstrip("t").isdigit()]
    if strange:
        return f"before the cut: {strange}", was_cut
    disk.rename(folder / "lost")
    survivors(kept, disk)
    fault, _ = in_child(lambda _tell: judge(disk, lines), {"HOME": str(folder)})
    return fault, was_cut


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.torture.power_cut_of_state", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--without", choices=SYNCS, help="leave this sync out, and stop at the first run that goes wrong"
    )
    arguments = parser.parse_args(argv)
    if "LD_PRELOAD" not in os.environ:
        with tempfile.TemporaryDirectory() as made:
            again = [
                sys.executable,
                "-m",
                "tests.torture.power_cut_of_state",
                *(sys.argv[1:] if argv is None else argv),
            ]
            return subprocess.run(
                again, env={**os.environ, "LD_PRELOAD": str(library(Path(made)))}, check=False
            ).returncode
    rng = random.Random(arguments.seed)
    moments = [AFTER_THE_END, *(rng.randint(1, 120) for _ in range(arguments.runs - 1))]
    wrong = cuts = 0
    for at in moments:
        folder = Path(tempfile.mkdtemp(prefix="seatunnel-power-"))
        fault, was_cut = play(at, folder, SYNCS.get(arguments.without, ()))
        shutil.rmtree(folder, ignore_errors=True)
        cuts += was_cut
        when = f"before sync {at}" if was_cut else "after the end"
        print(f"{when}: {fault[:300] or 'all that was acknowledged'}", flush=True)
        wrong += bool(fault)
        if fault and arguments.without:
            break
    print(f"{wrong} of {len(moments)} went wrong, {cuts} of them cut")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
