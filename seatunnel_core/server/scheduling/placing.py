"""Where a job that has no host goes: to a host with free slots of a member that has its tags, or on waiting, and why.

Slots are counted over all nodes that may run a job, and never stored: those that are free are those that members offer
less those that jobs with a host hold. A job runs in one host, whatever it holds: its work units take turns there.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from seatunnel_core.server.requirements import Requirements
from seatunnel_core.server.scheduling.decisions import Change, End, Record
from seatunnel_core.server.scheduling.view import CANCELLED, View
from seatunnel_core.server.state.records import SHARED, DesiredState, JobRecord, JobState

SUSPECT_DEATHS = 2
"""A job is suspected to end its hosts when so many in a row have ended with it: it gets a host of its own."""

MOST_OWN_HOSTS = 8
"""So many jobs may have a host of their own on one member."""

HEAD_PATIENCE_S = 60.0
"""A job that waits for slots for longer lets no later one pass by, as long as all slots would be enough for it."""

LONGEST_PAUSE_S = 60.0


@frozen(kw_only=True)
class Slots:
    """The slots of some members."""

    total: int
    """0 where slots are dynamic: nobody counts them there."""

    free: int
    starting: bool = False
    """Whether they are counted, and all hosts that will offer some still start."""

    def take(self, wanted: int) -> bool:
        """Return whether so many are free."""
        return not self.starting and (self.total == 0 or self.free >= wanted)


def slots_of(view: View, tags: Mapping[str, str]) -> Slots:
    """Return the slots of all members that have the tags."""
    return _Room(view).slots([address for address in view.members if has_tags(view, address, tags)])


def has_tags(view: View, address: str, tags: Mapping[str, str]) -> bool:
    """Return whether a member that answers has all of the tags."""
    member = view.members[address]
    report = None if member.lost else member.report
    return report is not None and all(report.tags.get(key) == text for key, text in tags.items())


class _Room:
    """The places of a view, less those that are given away in this step."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.held: dict[str, int] = {}
        self.jobs: dict[str, int] = {}
        self.own_hosts: dict[str, int] = {}
        self.reserved: dict[str, str] = {}
        """By member whose slots a job waits for that has waited longest: that job."""

        for record in self.view.jobs.values():
            if record.host:
                self.note(record)

    def note(self, record: JobRecord) -> None:
        """Count a job that has a host."""
        wanted = self.view.requirements_of(record.job_id).slots
        for counts, more in ((self.held, wanted), (self.jobs, 1), (self.own_hosts, int(record.dedicated))):
            counts[record.host] = counts.get(record.host, 0) + more

    def slots(self, addresses: Sequence[str]) -> Slots:
        """Return the slots of some members; dynamic as soon as one of them has dynamic ones.

        A worker that several members use counts once. Members whose host starts, or that have not answered yet, offer
        nothing, and the jobs that are there hold slots all the same.
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
        """Return whether the slots of a member are counted, as soon as its host offers some."""
        report = self.view.members[address].report
        return report is not None and report.offered > 0

    def _offered(self, address: str) -> int | None:
        report = self.view.members[address].report
        host = None if report is None else report.host(SHARED)
        return None if host is None or host.status is None or not host.status.ready else host.status.offered

    def is_growing(self, addresses: Sequence[str]) -> bool:
        """Return whether a host of these members starts, which will offer more slots."""
        return any(self._offered(address) is None for address in addresses)

    def least_busy(self, addresses: Sequence[str]) -> str:
        """Return the member with the fewest jobs; of equal ones that with the most free slots, then the leader."""

        def order(address: str) -> tuple[int, int, bool, str]:
            return self.jobs.get(address, 0), -self.slots([address]).free, address != self.view.leader, address

        return min(addresses, key=order)


def place(view: View, waiting: Sequence[JobRecord]) -> tuple[list[Change], dict[str, str]]:
    """Return what changes of jobs without a host, in the order in which they were submitted, and why others wait."""
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
    """End a job that is to end and that no host has, unless a lost host may still run it."""
    if record.wanted in CANCELLED and view.may_end(record):
        return End(view.ended(record, JobState.CANCELED))
    if record.wanted is DesiredState.SAVEPOINT and record.attempt == 0:
        return End(view.ended(record, JobState.CANCELED, error="it was stopped before it had begun"))
    return None


def _placed(view: View, room: _Room, record: JobRecord) -> Change | str:
    """Return the record of a job that is given to a host, its end, or what it waits for."""
    requirements = view.requirements_of(record.job_id)
    pool = [address for address in view.members if has_tags(view, address, requirements.tags)]
    if not pool:
        return _no_member(requirements)
    pause_s = _pause_s(record) - view.waiting_s.get(record.job_id, LONGEST_PAUSE_S)
    if pause_s > 0:
        return f"{record.deaths} hosts have ended with it: it rests for {pause_s:.0f} s more"
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
        return "what its nodes still have of an earlier life of it is cleared away first"
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
    """Return how long a job rests that ends its hosts: it leaves others time."""
    further = record.deaths - SUSPECT_DEATHS
    return 0.0 if further < 0 else min(2.0**further, LONGEST_PAUSE_S)


def _is_able(view: View, room: _Room, address: str, dedicated: bool) -> bool:
    """Return whether a member can take a job now."""
    report = view.members[address].known
    shared = None if report is None else report.host(SHARED)
    if shared is None or shared.lacks_executors:
        return False
    if dedicated:
        return room.own_hosts.get(address, 0) < MOST_OWN_HOSTS
    return shared.status is not None and shared.status.ready


def _has_remains(view: View, address: str, job_id: str) -> bool:
    """Return whether a member still has something of a job, whose end would be taken for that of the next attempt.

    A job that was submitted again begins with the attempt 1 again, so attempts do not tell its lives apart.
    """
    report = view.members[address].known
    hosts = () if report is None else report.hosts
    return any(host.name == job_id or (host.status and host.status.job(job_id)) for host in hosts)


def _shared_boot(view: View, address: str) -> str:
    report = view.members[address].known
    shared = None if report is None else report.host(SHARED)
    assert shared is not None, "the member was found able to take a job"
    return shared.boot


def _without_slots(view: View, room: _Room, record: JobRecord, pool: Sequence[str]) -> Change | str:
    """Return why a job finds no slots: it waits and holds its place when it has waited for long, or is rejected."""
    wanted, every = view.requirements_of(record.job_id).slots, room.slots(pool)
    blocking = {room.reserved[address] for address in pool if address in room.reserved}
    reason = f"it needs {wanted} slots, and {max(0, every.free)} of {every.total} are free"
    if wanted > every.total > 0:
        reason = f"it needs {wanted} slots, and all nodes that may run it have {every.total}"
    elif blocking:
        reason += f"; {', '.join(sorted(blocking))} waits longer for them"
    elif view.waiting_s.get(record.job_id, 0.0) > HEAD_PATIENCE_S:
        room.reserved.update(dict.fromkeys(pool, record.job_id))
    known = all(member.lost or member.report is not None for member in view.members.values())
    if view.waits or record.attempt or not known or room.is_growing(pool):
        return reason
    error = f"{reason}. Write `job-schedule-strategy: WAIT` or a larger `slot-num` in seatunnel.yaml, or add nodes"
    return End(view.ended(record, JobState.FAILED, error=error))


def _no_member(requirements: Requirements) -> str:
    if not requirements.tags:
        return "no node answers that could run it"
    return f"no node has the tags {', '.join(f'{key}={text}' for key, text in sorted(requirements.tags.items()))}"


def _not_able(view: View, addresses: Sequence[str], dedicated: bool) -> str:
    reports = [report for address in addresses if (report := view.members[address].known) is not None]
    if any((shared := report.host(SHARED)) is not None and shared.lacks_executors for report in reports):
        return "no worker has joined, or its executor starts"
    return f"each node has {MOST_OWN_HOSTS} hosts of jobs already" if dedicated else "no host is ready"
