"""Placement of waiting jobs on members with matching tags and free slots.

Slots are counted over all nodes that may run a job, and are never stored: the free slots are those that members offer
minus those that placed jobs use. A job runs in one worker process, regardless of the number of its slots.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from seatunnel_core.server.scheduling.decisions import Change, End, Record
from seatunnel_core.server.scheduling.view import CANCELLED, View
from seatunnel_core.server.state.records import SHARED, DesiredState, JobRecord, JobState, Requirements

SUSPECT_DEATHS = 2
"""Number of consecutive lost worker processes after which a job gets a dedicated process."""

MOST_OWN_HOSTS = 8
"""Maximum number of dedicated worker processes per member."""

HEAD_PATIENCE_S = 60.0
"""Waiting time after which later jobs may not overtake a job for which the cluster has enough slots, in seconds."""

LONGEST_PAUSE_S = 60.0


@frozen(kw_only=True)
class Slots:
    """Slots of a set of members."""

    total: int
    """Number of slots; 0 for dynamic slots, which are not counted."""

    free: int
    starting: bool = False
    """True if slots are counted but all worker processes that offer slots are still starting."""

    def take(self, wanted: int) -> bool:
        """Return True if this number of slots is free, or if slots are dynamic."""
        return not self.starting and (self.total == 0 or self.free >= wanted)


def slots_of(view: View, tags: Mapping[str, str]) -> Slots:
    """Return the slots of all members with the tags."""
    return _Room(view).slots([address for address in view.members if has_tags(view, address, tags)])


def has_tags(view: View, address: str, tags: Mapping[str, str]) -> bool:
    """Return True if a member responds and has all tags."""
    member = view.members[address]
    report = None if member.lost else member.report
    return report is not None and all(report.tags.get(key) == text for key, text in tags.items())


class _Room:
    """Free capacity of the members, reduced by each assignment of this step."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.held: dict[str, int] = {}
        self.jobs: dict[str, int] = {}
        self.own_hosts: dict[str, int] = {}
        self.reserved: dict[str, str] = {}
        """Job that reserves the slots of a member because it has waited longest, keyed by member."""

        for record in self.view.jobs.values():
            if record.host:
                self.note(record)

    def note(self, record: JobRecord) -> None:
        """Count a placed job."""
        wanted = self.view.requirements_of(record.job_id).slots
        for counts, more in ((self.held, wanted), (self.jobs, 1), (self.own_hosts, int(record.dedicated))):
            counts[record.host] = counts.get(record.host, 0) + more

    def slots(self, addresses: Sequence[str]) -> Slots:
        """Return the slots of these members together. They are dynamic if any of the members has dynamic slots.

        A worker node shared by several members counts once. Members that are starting or have not responded yet offer
        no slots, but their jobs still use slots.
        """
        offering = [address for address in addresses if self._offered(address) is not None]
        if not offering and any(self._counts(address) for address in addresses):
            return Slots(total=0, free=0, starting=True)
        total, workers = 0, dict[str, int]()
        for address in offering:
            offered, own = self._offered(address), self._workers(address)
            if not offered:
                return Slots(total=0, free=0)
            total += 0 if own else offered
            workers |= own
        total += sum(workers.values())
        silent = (address for address, member in self.view.members.items() if not member.lost and member.report is None)
        return Slots(total=total, free=total - sum(self.held.get(address, 0) for address in {*addresses, *silent}))

    def _workers(self, address: str) -> Mapping[str, int]:
        report = self.view.members[address].report
        return {} if report is None else report.workers

    def _counts(self, address: str) -> bool:
        """Return True if the member will offer a fixed number of slots."""
        report = self.view.members[address].report
        return report is not None and report.offered > 0

    def _offered(self, address: str) -> int | None:
        report = self.view.members[address].report
        host = None if report is None else report.host(SHARED)
        return None if host is None or host.status is None or not host.status.ready else host.status.offered

    def is_growing(self, addresses: Sequence[str]) -> bool:
        """Return True if a worker process of these members is starting and will offer more slots."""
        return any(self._offered(address) is None for address in addresses)

    def least_busy(self, addresses: Sequence[str]) -> str:
        """Return the member with the fewest jobs; on a tie, prefer more free slots, and then the leader."""

        def order(address: str) -> tuple[int, int, bool, str]:
            return self.jobs.get(address, 0), -self.slots([address]).free, address != self.view.leader, address

        return min(addresses, key=order)


def place(view: View, waiting: Sequence[JobRecord]) -> tuple[list[Change], dict[str, str]]:
    """Return the changes for jobs without a worker process, in submission order, and the reasons why others wait."""
    room, changes, reasons = _Room(view), list[Change](), dict[str, str]()
    for record in waiting:
        ended = _end(view, record)
        if ended is not None:
            changes.append(ended)
            continue
        found = _placed(view, room, record)
        if isinstance(found, str):
            reasons[record.job_id] = found
            continue
        changes.append(found)
        if isinstance(found, Record):
            room.note(found.job)
    return changes, reasons


def _end(view: View, record: JobRecord) -> End | None:
    """Return the change that ends a waiting job that must stop; ``None`` if a lost process may still run it."""
    if record.wanted in CANCELLED and view.may_end(record):
        return End(view.ended(record, JobState.CANCELED))
    if record.wanted is DesiredState.SAVEPOINT and record.attempt == 0:
        return End(view.ended(record, JobState.CANCELED, error="the job was stopped before it started"))
    return None


def _placed(view: View, room: _Room, record: JobRecord) -> Change | str:
    """Return the change that assigns a worker process to a job or ends it, or the reason why the job waits."""
    requirements = view.requirements_of(record.job_id)
    pool = [address for address in view.members if has_tags(view, address, requirements.tags)]
    if not pool:
        return _no_member(requirements)
    pause_s = _pause_s(record) - view.waiting_s.get(record.job_id, LONGEST_PAUSE_S)
    if pause_s > 0:
        return f"{record.deaths} worker processes ended while running the job: next attempt in {pause_s:.0f} s"
    dedicated = requirements.own_host or record.deaths >= SUSPECT_DEATHS
    usable = [address for address in pool if address not in room.reserved]
    slots = room.slots(usable)
    if record.wanted not in CANCELLED and not (usable and slots.take(requirements.slots)):
        return _without_slots(view, room, record, pool)
    able = [address for address in usable if _is_able(view, room, address, dedicated)]
    if not able:
        return _not_able(view, usable, dedicated)
    able = [address for address in able if not _has_remains(view, address, record.job_id)]
    if not able:
        return "the job's previous run must first be removed from the node"
    address = room.least_busy(able)
    return Record(
        evolve(
            record,
            state=JobState.SCHEDULED,
            host=address,
            process="" if dedicated else _shared_boot(view, address),
            dedicated=dedicated,
            attempt=record.attempt + 1,
            since=view.now,
            placed_at=view.now,
        )
    )


def _pause_s(record: JobRecord) -> float:
    """Return the delay of the next attempt of a job after its worker processes have ended, in seconds."""
    further = record.deaths - SUSPECT_DEATHS
    return 0.0 if further < 0 else min(2.0**further, LONGEST_PAUSE_S)


def _is_able(view: View, room: _Room, address: str, dedicated: bool) -> bool:
    """Return True if a member can take a job now."""
    report = view.members[address].known
    shared = None if report is None else report.host(SHARED)
    if shared is None or shared.lacks_executors:
        return False
    if dedicated:
        return room.own_hosts.get(address, 0) < MOST_OWN_HOSTS
    return shared.status is not None and shared.status.ready


def _has_remains(view: View, address: str, job_id: str) -> bool:
    """Return True if a member still runs an earlier submission of a job. Attempt numbers do not show this."""
    report = view.members[address].known
    hosts = () if report is None else report.hosts
    return any(host.name == job_id or (host.status and host.status.job(job_id)) for host in hosts)


def _shared_boot(view: View, address: str) -> str:
    report = view.members[address].known
    shared = None if report is None else report.host(SHARED)
    assert shared is not None, "the member can take a job"
    return shared.boot


def _without_slots(view: View, room: _Room, record: JobRecord, pool: Sequence[str]) -> Change | str:
    """Decide on a job that lacks free slots. The job is rejected, or waits and reserves slots after some time."""
    wanted, every = view.requirements_of(record.job_id).slots, room.slots(pool)
    blocking = {room.reserved[address] for address in pool if address in room.reserved}
    reason = f"it needs {wanted} slots, but only {max(0, every.free)} of {every.total} are free"
    if wanted > every.total > 0:
        reason = f"it needs {wanted} slots, but all nodes that may run it together have only {every.total}"
    elif blocking:
        reason += f"; these jobs have waited longer: {', '.join(sorted(blocking))}"
    elif view.waiting_s.get(record.job_id, 0.0) > HEAD_PATIENCE_S:
        room.reserved.update(dict.fromkeys(pool, record.job_id))
    known = all(member.lost or member.report is not None for member in view.members.values())
    if view.waits or record.attempt or not known or room.is_growing(pool):
        return reason
    error = f"{reason}. Set `job-schedule-strategy: WAIT` or a larger `slot-num` in seatunnel.yaml, or add nodes"
    return End(view.ended(record, JobState.FAILED, error=error))


def _no_member(requirements: Requirements) -> str:
    if not requirements.tags:
        return "no node that can run the job responds"
    return f"no node has the tags {', '.join(f'{key}={text}' for key, text in sorted(requirements.tags.items()))}"


def _not_able(view: View, addresses: Sequence[str], dedicated: bool) -> str:
    reports = [report for address in addresses if (report := view.members[address].known) is not None]
    if any((shared := report.host(SHARED)) is not None and shared.lacks_executors for report in reports):
        return "no worker node has joined, or its executor is starting"
    return (
        f"all nodes have the maximum of {MOST_OWN_HOSTS} dedicated worker processes"
        if dedicated
        else "no worker process is ready"
    )
