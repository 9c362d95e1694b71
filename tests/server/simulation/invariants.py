"""What always holds of a cluster, whatever is broken."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seatunnel_core.server.requirements import requirements_of
from seatunnel_core.server.scheduling.following import MOST_DEATHS
from seatunnel_core.server.scheduling.placing import slots_of
from seatunnel_core.server.scheduling.view import CANCELLED
from seatunnel_core.server.state.records import SHARED, DesiredState, EndedJob, JobRecord, JobState
from seatunnel_core.server.submitted_job import SubmittedJob
from tests.server.simulation.hosts import COMMITS, Process
from tests.server.simulation.ledger import ViolationError
from tests.server.simulation.users import RANK

if TYPE_CHECKING:
    from tests.server.simulation.world import World

CANCEL_LIMIT_S = 60.0
"""A job that is cancelled while nothing is broken is at its end within so long, whatever hangs."""

FAILOVER_S = 25.0
"""No job stays with a node that is gone for longer, while a leader acts."""


class Invariant:
    """Something that always holds; raises ``ViolationError`` where it does not. One object for each run."""

    def after_each(self, world: "World") -> None:
        """Look at the world after an event."""

    def each_second(self, world: "World") -> None:
        """Look at the world once a second."""

    def at_commit(self, world: "World", process: Process, record: JobRecord) -> None:
        """Look at a commit of a job's attempt."""

    def at_order(self, world: "World", process: Process, request: Mapping[str, Any]) -> None:
        """Look at an order that a host has carried out."""

    def at_record(self, world: "World", before: JobRecord | None, record: JobRecord) -> None:
        """Look at a job's record that has become durable."""

    def at_end(self, world: "World", ended: EndedJob) -> None:
        """Look at the end of a job that has become durable."""

    def in_the_end(self, world: "World") -> None:
        """Look at a world in which nothing has been broken for long, and all jobs had the time to end."""


class OneActs(Invariant):
    """Never do two agents act as the leader at once, and in each term only one ever does."""

    def __init__(self) -> None:
        self._by_term: dict[int, str] = {}
        self._known: tuple[object, int] | None = None
        """The agent alone in holding the state at the last look, and its term, when it acted."""

    def after_each(self, world: "World") -> None:
        machines = world.machines.values()
        holding = [each for each in machines if each.agent and each.agent.leadership.state is not None]
        if not holding:
            return
        if len(holding) == 1:  # nobody can act beside it, and it need not be looked up in each event
            known = holding[0].agent, holding[0].agent.leadership.election.term
            if known == self._known:
                return
        acting = world.acting()
        if len(acting) > 1:
            raise ViolationError(f"{' and '.join(each.address for each in acting)} act at the same time")
        for each in acting:
            address = self._by_term.setdefault(each.agent.leadership.election.term, each.address)
            if address != each.address:
                raise ViolationError(f"{address} and {each.address} act in one term")
            self._known = each.agent, each.agent.leadership.election.term


class SomebodyActs(Invariant):
    """Where nothing is broken somebody leads."""

    def in_the_end(self, world: "World") -> None:
        if not world.acting():
            raise ViolationError("nobody leads although nothing is broken any more")


class OrdersComeFromTheNewestTerm(Invariant):
    """A host that has carried out an order of a term carries out none of an older one."""

    def __init__(self) -> None:
        self._terms: dict[int, int] = {}

    def at_order(self, world: "World", process: Process, request: Mapping[str, Any]) -> None:
        term = request.get("term")
        if term is not None and term < self._terms.get(process.pid, 0):
            raise ViolationError(f"a host of {process.address} carries out an order of term {term}")
        if term is not None:
            self._terms[process.pid] = term


class RowsComeOnce(Invariant):
    """A job commits each of its parts once, a finished one all of them, and nobody commits behind a newer attempt."""

    def __init__(self) -> None:
        self._last: dict[str, Process] = {}

    def at_commit(self, world: "World", process: Process, record: JobRecord) -> None:
        manifest = world.manifests[record.job_id]
        if manifest.ended is not None or (_kind(record) not in ("stream", "hang") and manifest.committed >= COMMITS):
            raise ViolationError(f"attempt {record.attempt} of the job {record.job_id} commits behind its end")

    def at_end(self, world: "World", ended: EndedJob) -> None:
        if ended.state is JobState.FINISHED and world.manifests[ended.job_id].committed != COMMITS:
            raise ViolationError(f"the job {ended.job_id} is told to have finished, and has not")


class NothingHappensBehindTheEnd(Invariant):
    """What was told to be at its end commits nothing more, unless that was told of a host that nobody could reach."""

    def at_commit(self, world: "World", process: Process, record: JobRecord) -> None:
        ends = world.ends.get(record.job_id)
        if ends and "is unreachable" not in ends[-1].error and not _late(world, record.job_id):
            raise ViolationError(f"the job {record.job_id} commits after it was told to be {ends[-1].state.value}")


def _late(world: "World", job_id: str) -> bool:
    """Return whether the job was ended although a host that could not be reached might still run it."""
    return job_id in world.unfenced_ends


class EachEndsOnce(Invariant):
    """Every acknowledged job ends exactly once, in time, and as its users asked for or by itself."""

    def at_end(self, world: "World", ended: EndedJob) -> None:
        if len(world.ends[ended.job_id]) > 1:
            raise ViolationError(f"the job {ended.job_id} ends twice: {world.ends[ended.job_id]}")
        asked = world.asked[ended.job_id]
        killed = world.killed_with[ended.job_id]
        excused = "consecutive worker processes" in ended.error and (asked.kind == "poison" or killed >= MOST_DEATHS)
        if ended.state is JobState.FAILED and not excused:
            raise ViolationError(f"the job {ended.job_id} ({asked.kind}) failed: {ended.error}")
        unbegun = ended.attempts == 0 and ended.job_id in world.savepoints_wanted  # there is nothing to save
        if ended.state is JobState.CANCELED and not unbegun and ended.job_id not in world.cancelled_at:
            raise ViolationError(f"the job {ended.job_id} was cancelled, and no wish for that is recorded: {ended}")
        if ended.state is JobState.SAVEPOINT_DONE and DesiredState.SAVEPOINT not in asked.attempted:
            raise ViolationError(f"the job {ended.job_id} was savepointed, and nobody asked for that")

    def at_record(self, world: "World", before: JobRecord | None, record: JobRecord) -> None:
        if record.job_id in world.ends:
            raise ViolationError(f"the job {record.job_id} has ended, and is there again")
        if before is not None and record.attempt < before.attempt:
            raise ViolationError(f"the job {record.job_id} goes back to attempt {record.attempt}")
        if before is None or not before.host or not record.host or record.attempt != before.attempt:
            return
        if (before.host, before.dedicated) != (record.host, record.dedicated):
            raise ViolationError(f"attempt {record.attempt} of the job {record.job_id} is in two hosts")

    def each_second(self, world: "World") -> None:
        """Nobody who cancels while nothing is broken waits for longer than promised."""
        if world.calm_since is None or world.now - world.calm_since < CANCEL_LIMIT_S + 30:
            return
        for record in world.records.values():
            if record.wanted in CANCELLED:
                since = world.cancelled_at.get(record.job_id, world.now)
                if world.now - max(since, world.calm_since + 20) > CANCEL_LIMIT_S:
                    raise ViolationError(f"the job {record.job_id} was cancelled long ago: {record}")

    def in_the_end(self, world: "World") -> None:
        accepted = {job_id for job_id, asked in world.asked.items() if asked.submitted}
        open_jobs = sorted((accepted | set(world.records)) - set(world.ends))
        if open_jobs:
            found = [world.records.get(job_id) for job_id in open_jobs]
            raise ViolationError(f"the jobs {open_jobs} have not ended: {found}")


class NoRequestIsForgotten(Invariant):
    """What users were told would happen to a job stays wanted until the job ends."""

    def at_record(self, world: "World", before: JobRecord | None, record: JobRecord) -> None:
        asked = world.asked[record.job_id]
        if RANK[record.wanted] < RANK[asked.wanted]:
            raise ViolationError(
                f"the job {record.job_id} is to {record.wanted.value}, and {asked.wanted.value} was acknowledged"
            )

    def at_end(self, world: "World", ended: EndedJob) -> None:
        if ended.job_id not in world.asked:
            raise ViolationError(f"nobody has submitted the job {ended.job_id}")


class JobsLeaveNodesThatAreGone(Invariant):
    """While a leader acts, no job stays for long with a node that is gone."""

    def __init__(self) -> None:
        self._leader = ("", 0)
        self._since = 0.0

    def each_second(self, world: "World") -> None:
        acting = world.acting()
        leader = (acting[0].address, acting[0].agent.leadership.election.term) if acting else ("", 0)
        if leader != self._leader:
            self._leader, self._since = leader, world.now
        if not acting or world.now - self._since < FAILOVER_S:
            return
        for record in world.records.values():
            gone = world.machines[record.host].gone_since if record.host else None
            if (
                gone is not None
                and world.now - max(gone, self._since) > FAILOVER_S
                and record.wanted is DesiredState.RUN
            ):
                raise ViolationError(f"the job {record.job_id} stays with {record.host}, which is gone")


class SlotsAreNotExceeded(Invariant):
    """Jobs hold no more slots than there are, and all are free when all jobs have ended."""

    def at_record(self, world: "World", before: JobRecord | None, record: JobRecord) -> None:
        if not world.offered:
            return
        running = [each for each in world.records.values() if each.host and each.wanted not in CANCELLED]
        held = sum(
            requirements_of(SubmittedJob.of(each)).slots for each in running
        )  # a cancelled one is taken over at once
        if held > world.offered * len(world.machines):
            raise ViolationError(f"jobs hold {held} slots of {world.offered * len(world.machines)}")

    def in_the_end(self, world: "World") -> None:
        for each in world.acting():
            view = each.agent.dispatcher.view
            assert view is not None
            slots = slots_of(view, {})
            if slots.free != slots.total or slots.total != world.offered * len(world.machines):
                raise ViolationError(f"{slots} although no job runs")


class NothingIsLeftBehind(Invariant):
    """Hosts of ended jobs are gone, each node has one shared host, and hosts have forgotten what ended."""

    def in_the_end(self, world: "World") -> None:
        shared: dict[str, int] = {}
        for process in world.hosts.values():
            if not process.alive:
                continue
            jobs = list(process.real._jobs)
            if process.name != SHARED or jobs:
                raise ViolationError(f"{process.address} keeps the host {process.name!r} with {jobs}")
            shared[process.address] = shared.get(process.address, 0) + 1
        if shared != dict.fromkeys(world.machines, 1):
            raise ViolationError(f"shared hosts: {shared}")


class NothingGrows(Invariant):
    """What is stored is bounded, however much happens."""

    MOST_THINGS = 30
    MOST_BYTES = 46_000
    """Beside the jobs, each of which is one more thing."""

    BYTES_OF_JOB = 2_400
    """600 for the record of one that has ended, with its plan, in the snapshots of four terms that follow fast."""

    def each_second(self, world: "World") -> None:
        things, size = world.shared.size()
        jobs = len(world.asked)
        if things > self.MOST_THINGS + jobs or size > self.MOST_BYTES + self.BYTES_OF_JOB * jobs:
            raise ViolationError(f"{things} things of {size} bytes are stored")

    def in_the_end(self, world: "World") -> None:
        if world.history_s < 1_000 and world.ledger.durable:
            raise ViolationError(f"still recorded: {sorted(world.ledger.durable)}")


class NobodySpins(Invariant):
    """No agent decides, asks or orders as fast as it is answered."""

    MOST_EVENTS = 12_000
    """In one second, of all nodes; usual are 500."""

    def __init__(self) -> None:
        self._events = 0

    def each_second(self, world: "World") -> None:
        events, self._events = world.loop.events - self._events, world.loop.events
        if events > self.MOST_EVENTS:
            raise ViolationError(f"{events} events in one second")


class PoisonTakesNobodyDown(Invariant):
    """A job that ends its hosts ends the shared one twice, and then only its own."""

    def __init__(self) -> None:
        self._killed: dict[str, int] = {}

    def at_record(self, world: "World", before: JobRecord | None, record: JobRecord) -> None:
        if before is None or record.deaths <= before.deaths or before.dedicated:
            return
        count = self._killed[record.job_id] = self._killed.get(record.job_id, 0) + 1
        if count > 2 and record.deaths > 2:
            raise ViolationError(f"the job {record.job_id} is given a shared host after {record.deaths} deaths")


def _kind(record: JobRecord) -> str:
    return record.name.partition("-")[0]


INVARIANTS: tuple[type[Invariant], ...] = (
    OneActs,
    SomebodyActs,
    OrdersComeFromTheNewestTerm,
    RowsComeOnce,
    NothingHappensBehindTheEnd,
    EachEndsOnce,
    NoRequestIsForgotten,
    JobsLeaveNodesThatAreGone,
    SlotsAreNotExceeded,
    NothingIsLeftBehind,
    NothingGrows,
    NobodySpins,
    PoisonTakesNobodyDown,
)
