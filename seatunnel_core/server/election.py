"""Leader election as a state machine without I/O. A driver passes events with monotonic times and runs its commands.

Rules:

1. *Terms.* The node that claims the state's next term is the leader; the store rejects all older terms. The rules below
   only decide when to claim, and how long a leader may act.
2. *Lease.* A leader acts only while its last acknowledged heartbeat was **sent** less than ``timeout_s / 2`` ago, on
   its own monotonic clock. A heartbeat is acknowledged if no newer term was claimed before it was stored.
3. *Patience.* A standby claims after reads of the state ``timeout_s`` apart, on its own monotonic clock, have shown the
   same claim and heartbeat. A standby that was paused reads again before it claims. Clocks of different nodes are never
   compared.
4. *Late heartbeats.* A heartbeat or claim may be stored between the standby's last read and its claim. So a new leader
   reads again after its claim: by then, everything acknowledged to its predecessor was stored. If the heartbeat or the
   claim differs from those it waited for, it acts only after ``timeout_s / 2``, when that lease has expired.
5. *Fast path.* If the leader's machine refuses a connection, the leader's process has ended and holds no lease: the
   standby reads the state, and claims after ``rank_pause_s`` times its rank among the standbys if it still sees the
   same heartbeat. If, according to that heartbeat, the leader was still waiting by rule 4, the new leader also waits:
   an earlier leader may hold a lease.
6. *Flapping.* Each lost race doubles a standby's pause, up to ``timeout_s``. If the term changes more than
   ``most_fast_claims`` times within ``timeout_s``, the fast path is closed for that time.
"""

import enum
import math
from collections import deque

from attrs import field, frozen


@frozen(kw_only=True)
class Timing:
    """Timing of the election, in seconds."""

    beat_s: float = 2.0
    """Interval between two heartbeats of the leader."""

    timeout_s: float = 10.0
    """Time without a new heartbeat after which a leader is replaced."""

    look_s: float = 1.0
    """Interval at which a standby reads the state."""

    rank_pause_s: float = 0.2
    """Delay of each standby's claim relative to the one ranked before it."""

    most_fast_claims: int = 3
    """Maximum number of term changes within ``timeout_s`` for which the fast path remains open."""

    @property
    def lease_s(self) -> float:
        """Time for which the leader may act after it sent an acknowledged heartbeat."""
        return self.timeout_s / 2


class Role(enum.Enum):
    """Role of a node in the election."""

    STANDBY = "standby"
    CLAIMING = "claiming"
    LEADER = "leader"


@frozen(kw_only=True)
class Seen:
    """The fields of a state observation that the election uses."""

    claimed: int = 0
    term: int = 0
    number: int = 0
    leader: str = ""
    """Address in the newest heartbeat; empty if there is none."""

    acting: bool = True
    """True if the leader acted when it sent the heartbeat; False if it was waiting for an earlier lease to expire."""

    members: tuple[str, ...] = field(default=(), eq=False)
    """Masters known to the leader."""

    @property
    def is_empty(self) -> bool:
        """True if there has never been a leader."""
        return self.claimed == 0 and self.term == 0


@frozen
class Look:
    """Command: read the claim and the heartbeat from the store, then call ``looked`` or ``look_failed``."""


@frozen
class Claim:
    """Command: claim the next term, read the state again, then call ``claimed`` or ``claim_failed``."""


@frozen
class SendBeat:
    """Command: store a heartbeat, then call ``beat_acknowledged`` or ``beat_failed``."""

    number: int
    acting: bool
    """True if the leader acts; stored in the heartbeat."""


@frozen
class StepDown:
    """Command: release the lease and stop acting as the leader."""

    reason: str


Command = Look | Claim | SendBeat | StepDown


class Election:
    """State machine of one node in the election. All times are this node's monotonic seconds."""

    def __init__(self, address: str, timing: Timing) -> None:
        self.address = address
        self.timing = timing
        self.role = Role.STANDBY
        self.term = 0
        """Term of this node's lease; 0 while it does not lead."""

        self.seen: Seen | None = None
        self._seen_since = 0.0
        self._seen_last = 0.0
        """Start of the last read that returned ``seen``."""

        self._look_at = 0.0
        self._looking = False
        self._refused_at: float | None = None
        """Time at which the leader's machine refused a connection; ``None`` while the fast path is closed."""

        self._not_before = 0.0
        """Earliest time of the next claim, after a lost race."""

        self._lost_races = 0
        self._term_changes: deque[float] = deque(maxlen=timing.most_fast_claims + 1)
        self._beat_number = 0
        self._beating = False
        self._beat_at = 0.0
        self._lease_until = 0.0
        self._act_from = 0.0

    # -- queries ----------------------------------------------------------------------------------------------------

    def may_act(self, now: float) -> bool:
        """Return True if this node leads with a valid lease."""
        return self.role is Role.LEADER and self._act_from <= now < self._lease_until

    @property
    def leader(self) -> str:
        """Address of the leader known to this node; empty if there is none."""
        if self.role is Role.LEADER:
            return self.address
        return "" if self.seen is None else self.seen.leader

    # -- events -----------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> list[Command]:
        """Return the command that is due, if any. Call this after every event and after ``pause_s``."""
        if self.role is Role.LEADER:
            if self._beating or now < self._beat_at:
                return []
            self._beating, self._beat_at = True, now + self.timing.beat_s
            return [SendBeat(self._beat_number, self._act_from <= now)]
        if self.role is Role.CLAIMING:
            return []
        if self._is_due(now):
            self.role, self._refused_at = Role.CLAIMING, None
            return [Claim()]
        if not self._looking and now >= self._look_at:
            self._looking, self._look_at = True, now + self.timing.look_s
            return [Look()]
        return []

    def pause_s(self, now: float) -> float:
        """Return the number of seconds until ``tick`` may return a command, if no other event occurs first."""
        if self.role is Role.LEADER:
            return math.inf if self._beating else max(0.0, self._beat_at - now)
        if self.role is Role.CLAIMING:
            return math.inf
        claims = self._not_before if self._not_before > now and self._is_due(self._not_before) else math.inf
        return max(0.0, min(claims, math.inf if self._looking else self._look_at) - now)

    def looked(self, began: float, now: float, seen: Seen) -> None:
        """Record the result of reading the state; the read started at ``began``."""
        self._looking = False
        if self.role is Role.STANDBY:
            self._notice(began, now, seen)

    def look_failed(self) -> None:
        """Record a failed read of the state."""
        self._looking = False

    def refused(self, now: float, leader: str) -> None:
        """Record that the machine at the leader's address refused a connection."""
        seen = self.seen
        if self.role is not Role.STANDBY or seen is None or seen.leader != leader or self._refused_at is not None:
            return
        if seen.claimed != seen.term:  # another node has claimed since, so this refusal is irrelevant
            return
        recent = [each for each in self._term_changes if now - each < self.timing.timeout_s]
        if len(recent) <= self.timing.most_fast_claims:
            self._refused_at = now
            self._look_at = now + self.timing.rank_pause_s * self._rank(seen)

    def claimed(self, began: float, now: float, term: int, behind: Seen) -> None:
        """Record the success of a claim that started at ``began``; ``behind`` is the state read after the claim."""
        before = self.seen
        same = (
            before is not None
            and before.claimed == term - 1
            and (before.term, before.number) == (behind.term, behind.number)
        )
        self.role, self.term = Role.LEADER, term
        self._beat_number, self._beating, self._beat_at = 0, False, now
        self._lease_until = began + self.timing.lease_s
        over = before is None or before.acting or began - self._seen_since >= self.timing.lease_s
        self._act_from = now if same and over else now + self.timing.lease_s
        self._lost_races = 0

    def claim_failed(self, now: float) -> None:
        """Record the failure of a claim: another node was faster, or the storage did not respond."""
        self.role = Role.STANDBY
        self._lost_races += 1
        pause_s = self.timing.rank_pause_s * 2**self._lost_races
        self._not_before = now + min(pause_s, self.timing.timeout_s)
        self._look_at = now

    def beat_acknowledged(self, sent: float, number: int) -> None:
        """Record that the heartbeat sent at ``sent`` was stored before any newer claim."""
        if self.role is Role.LEADER and number == self._beat_number:
            self._beating = False
            self._beat_number += 1
            self._lease_until = max(self._lease_until, sent + self.timing.lease_s)

    def beat_failed(self, now: float) -> None:
        """Record that a heartbeat was not stored. The lease remains valid until it expires; a retry follows soon."""
        self._beating = False
        self._beat_number += 1  # the beat may be stored, and names are never reused
        self._beat_at = min(self._beat_at, now + self.timing.beat_s / 4)

    def deposed(self, now: float, reason: str) -> list[Command]:
        """Record the loss of the lease: a newer term was claimed, or the state's log failed."""
        if self.role is not Role.LEADER:
            return []
        self.role, self.term = Role.STANDBY, 0
        self.seen, self._seen_since, self._look_at, self._refused_at = None, now, now, None
        self._not_before = now + self.timing.rank_pause_s * 2
        return [StepDown(reason)]

    # -- decisions --------------------------------------------------------------------------------------------------

    def _notice(self, began: float, now: float, seen: Seen) -> None:
        before, self.seen = self.seen, seen
        if before is None or before != seen:
            self._seen_since, self._refused_at = now, None
            if before is not None and before.claimed != seen.claimed:
                self._term_changes.append(now)
        self._seen_last = began

    def _is_due(self, now: float) -> bool:
        seen = self.seen
        if seen is None or now < self._not_before:
            return False
        if seen.is_empty or (seen.leader == self.address and seen.claimed == seen.term):
            return True  # there never was a leader, or this node was the last one before its restart
        pause_s = self.timing.rank_pause_s * self._rank(seen)
        if self._refused_at is not None and self._seen_last >= self._refused_at + pause_s:
            return True
        return self._seen_last - self._seen_since >= self.timing.timeout_s + pause_s

    def _rank(self, seen: Seen) -> int:
        """Return the rank of this node among the standbys; the last rank if the leader does not know this node."""
        standbys = [each for each in seen.members if each != seen.leader]
        return standbys.index(self.address) if self.address in standbys else len(standbys)
