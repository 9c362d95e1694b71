"""Who leads: a state machine without I/O. A driver feeds it events with monotonic times and carries out its commands.

Rules:

1. *The term decides.* Whoever claims the state's next term is the leader; the store refuses every older one. The rules
   below only decide when to claim, and until when a leader may believe that it still is one.
2. *The lease.* A leader acts only while its last acknowledged beat was **sent** less than ``timeout_s / 2`` ago, on its
   own monotonic clock. A beat is acknowledged when no newer term had been claimed after it was stored.
3. *Patience.* A standby claims after looks that are ``timeout_s`` apart, on its own monotonic clock, have shown the
   same claim and beat. A standby that was paused looks again before it claims. No clock of one node is ever compared
   with another's.
4. *The late beat.* A beat or a claim may be stored between the standby's last look and its claim. So a new leader
   looks again behind its claim: whatever its predecessor may have had acknowledged was stored before that. If the beat
   or the claim is another one than it waited for, it acts only after ``timeout_s / 2``, when that lease is over.
5. *The fast path.* When the leader's machine refuses a connection, its process is gone and holds no lease: the standby
   looks, and claims after ``rank_pause_s`` times its rank among the standbys if it still sees the same beat. If that
   beat says that its leader still waited by rule 4, the new one waits too: an earlier leader may have a lease.
6. *Flaps.* Each lost race doubles a standby's pause, up to ``timeout_s``. When the term has changed more than
   ``most_fast_claims`` times within ``timeout_s``, the fast path is closed until that has passed.
"""

import enum
import math
from collections import deque

from attrs import field, frozen


@frozen(kw_only=True)
class Timing:
    """The times of an election, in seconds."""

    beat_s: float = 2.0
    """Between two beats of the leader."""

    timeout_s: float = 10.0
    """A leader without a new beat for so long is replaced."""

    look_s: float = 1.0
    """Between two looks of a standby."""

    rank_pause_s: float = 0.2
    """By so much later each standby claims than the one before it."""

    most_fast_claims: int = 3
    """So many changes of the term within ``timeout_s`` leave the fast path open."""

    @property
    def lease_s(self) -> float:
        """For how long after an acknowledged beat was sent its leader may act."""
        return self.timeout_s / 2


class Role(enum.Enum):
    """What a node is in the election."""

    STANDBY = "standby"
    CLAIMING = "claiming"
    LEADER = "leader"


@frozen(kw_only=True)
class Seen:
    """A observation of the state, as far as the election needs it."""

    claimed: int = 0
    term: int = 0
    number: int = 0
    leader: str = ""
    """The address in the newest beat; empty if there is none."""

    acting: bool = True
    """Whether the leader acted when it sent the beat, instead of waiting for the end of an earlier lease."""

    members: tuple[str, ...] = field(default=(), eq=False)
    """The masters that the leader knows."""

    @property
    def is_empty(self) -> bool:
        """Whether nobody ever led."""
        return self.claimed == 0 and self.term == 0


@frozen
class Look:
    """Look at the store, then call ``looked`` or ``look_failed``."""


@frozen
class Claim:
    """Claim the next term and look behind the claim, then call ``claimed`` or ``claim_failed``."""


@frozen
class SendBeat:
    """Store a beat, then call ``beat_acknowledged`` or ``beat_failed``."""

    number: int
    acting: bool
    """Whether the leader acts; goes into the beat."""


@frozen
class StepDown:
    """Give up the lease and everything that only a leader may do."""

    reason: str


Command = Look | Claim | SendBeat | StepDown


class Election:
    """One node's part in the election. All times are this node's monotonic seconds.

    Args:
        address: of this node, as it stands in its beats.
        timing: the same for all nodes of a cluster.
    """

    def __init__(self, address: str, timing: Timing) -> None:
        self.address = address
        self.timing = timing
        self.role = Role.STANDBY
        self.term = 0
        """Of this node's own lease; 0 while it does not lead."""

        self.seen: Seen | None = None
        self._seen_since = 0.0
        self._seen_last = 0.0
        """When the last look began that showed it."""

        self._look_at = 0.0
        self._looking = False
        self._refused_at: float | None = None
        """When the leader's machine refused a connection; ``None`` while the fast path is closed."""

        self._not_before = 0.0
        """No claim is made before; after a lost race."""

        self._lost_races = 0
        self._term_changes: deque[float] = deque(maxlen=timing.most_fast_claims + 1)
        self._beat_number = 0
        self._beating = False
        self._beat_at = 0.0
        self._lease_until = 0.0
        self._act_from = 0.0

    # -- what others ask --------------------------------------------------------------------------------------------

    def may_act(self, now: float) -> bool:
        """Return whether this node leads and its lease holds."""
        return self.role is Role.LEADER and self._act_from <= now < self._lease_until

    @property
    def leader(self) -> str:
        """The address of the leader as far as this node knows; empty if it knows of none."""
        if self.role is Role.LEADER:
            return self.address
        return "" if self.seen is None else self.seen.leader

    # -- events -----------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> list[Command]:
        """Return what is due now. Call it after each other event, and when ``pause_s`` is over."""
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
        """Return in how many seconds ``tick`` has something to do, unless another event is taken in before."""
        if self.role is Role.LEADER:
            return math.inf if self._beating else max(0.0, self._beat_at - now)
        if self.role is Role.CLAIMING:
            return math.inf
        claims = self._not_before if self._not_before > now and self._is_due(self._not_before) else math.inf
        return max(0.0, min(claims, math.inf if self._looking else self._look_at) - now)

    def looked(self, began: float, now: float, seen: Seen) -> None:
        """Take in what a look showed that began at ``began``."""
        self._looking = False
        if self.role is Role.STANDBY:
            self._notice(began, now, seen)

    def look_failed(self) -> None:
        """Take in that a look failed: nothing is known, so nothing changes."""
        self._looking = False

    def refused(self, now: float, leader: str) -> None:
        """Take in that the machine at the leader's address refused a connection."""
        seen = self.seen
        if self.role is not Role.STANDBY or seen is None or seen.leader != leader or self._refused_at is not None:
            return
        if seen.claimed != seen.term:  # another node has claimed since, and this refusal says nothing of it
            return
        recent = [each for each in self._term_changes if now - each < self.timing.timeout_s]
        if len(recent) <= self.timing.most_fast_claims:
            self._refused_at = now
            self._look_at = now + self.timing.rank_pause_s * self._rank(seen)

    def claimed(self, began: float, now: float, term: int, behind: Seen) -> None:
        """Take in that the claim succeeded that began at ``began``; ``behind`` is what a look after it showed."""
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
        """Take in that the claim failed: another node was faster, or the storage did not answer."""
        self.role = Role.STANDBY
        self._lost_races += 1
        pause_s = self.timing.rank_pause_s * 2**self._lost_races
        self._not_before = now + min(pause_s, self.timing.timeout_s)
        self._look_at = now

    def beat_acknowledged(self, sent: float, number: int) -> None:
        """Take in that the beat was stored which was sent at ``sent``, and that no newer term was claimed by then."""
        if self.role is Role.LEADER and number == self._beat_number:
            self._beating = False
            self._beat_number += 1
            self._lease_until = max(self._lease_until, sent + self.timing.lease_s)

    def beat_failed(self, now: float) -> None:
        """Take in that the storage did not store a beat. The lease runs on, and the beat is sent again soon."""
        self._beating = False
        self._beat_number += 1  # whether it is there is not known, and a name is never used twice
        self._beat_at = min(self._beat_at, now + self.timing.beat_s / 4)

    def deposed(self, now: float, reason: str) -> list[Command]:
        """Take in that the lease is lost: a newer term was claimed, or the state's log failed."""
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
            return True  # nobody ever led, or this node was the last one, in an earlier life
        pause_s = self.timing.rank_pause_s * self._rank(seen)
        if self._refused_at is not None and self._seen_last >= self._refused_at + pause_s:
            return True
        return self._seen_last - self._seen_since >= self.timing.timeout_s + pause_s

    def _rank(self, seen: Seen) -> int:
        """Return the place of this node among the standbys; behind all of them if the leader does not know it."""
        standbys = [each for each in seen.members if each != seen.leader]
        return standbys.index(self.address) if self.address in standbys else len(standbys)
