"""What always holds of the jobs of a cluster, whatever is broken."""

from typing import Protocol

from seatunnel_core.server.state.records import SHARED, EndedJob, JobRecord, JobState
from tests.server.simulated_cluster import ViolationError
from tests.server.simulated_jobs import COMMITS, Manifest, Process


class World(Protocol):
    """What an invariant looks at."""

    manifests: dict[str, Manifest]
    records: dict[str, JobRecord]
    history: dict[str, list[EndedJob]]
    accepted: set[str]
    processes: dict[str, dict[str, Process]]


class Invariant:
    """Something that always holds; raises ``ViolationError`` where it does not."""

    def at_commit(self, world: World, record: JobRecord) -> None:
        """Look at a commit."""

    def at_end(self, world: World, ended: EndedJob) -> None:
        """Look at the end of a job, as the history tells it."""

    def in_the_end(self, world: World) -> None:
        """Look at a world in which nothing is broken any more, and all jobs had the time to end."""


class RowsComeOnce(Invariant):
    """A job commits each of its parts once, and a finished one all of them."""

    def at_commit(self, world: World, record: JobRecord) -> None:
        manifest = world.manifests[record.job_id]
        if manifest.ended is not None or manifest.committed >= COMMITS:
            raise ViolationError(f"attempt {record.attempt} of the job {record.job_id} commits behind its end")

    def at_end(self, world: World, ended: EndedJob) -> None:
        if ended.state is JobState.FINISHED and world.manifests[ended.job_id].committed != COMMITS:
            raise ViolationError(f"the job {ended.job_id} is told to have finished, and has not")


class NothingHappensBehindTheEnd(Invariant):
    """What was told to be at its end commits nothing more, unless that was told of a host that nobody could reach."""

    def at_commit(self, world: World, record: JobRecord) -> None:
        ends = world.history.get(record.job_id)
        if ends and not ends[-1].error:
            raise ViolationError(f"the job {record.job_id} commits after it was told to be {ends[-1].state.value}")


class EachEndsOnce(Invariant):
    """Every acknowledged job ends exactly once, and none fails by faults of the cluster."""

    def at_end(self, world: World, ended: EndedJob) -> None:
        if len(world.history[ended.job_id]) > 1:
            raise ViolationError(f"the job {ended.job_id} ends twice")
        if ended.state is JobState.FAILED and "hosts in a row" not in ended.error:
            raise ViolationError(f"the job {ended.job_id} failed: {ended.error}")

    def in_the_end(self, world: World) -> None:
        open_jobs = sorted(world.accepted - set(world.history))
        if open_jobs:
            found = [world.records.get(job_id) for job_id in open_jobs]
            raise ViolationError(f"the jobs {open_jobs} have not ended: {found}")


class NothingIsLeftBehind(Invariant):
    """Hosts of ended jobs are gone, and hosts have forgotten what ended."""

    def in_the_end(self, world: World) -> None:
        for address, own in world.processes.items():
            for process in own.values():
                assert process.host is not None
                jobs = process.host._jobs
                if process.alive and (process.name != SHARED or jobs):
                    raise ViolationError(f"{address} keeps the host {process.name!r} with {list(jobs)}")


INVARIANTS: tuple[Invariant, ...] = (
    RowsComeOnce(),
    NothingHappensBehindTheEnd(),
    EachEndsOnce(),
    NothingIsLeftBehind(),
)
