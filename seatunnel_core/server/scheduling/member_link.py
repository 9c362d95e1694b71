"""State of the leader's communication with a member: polls, reports and orders. All times use the leader's clock."""

from collections.abc import Sequence

from attrs import define, frozen

from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.scheduling.view import Member

POLL_S = 0.25

AGAIN_S = 0.25
"""Minimum interval between identical orders, in seconds, because their execution takes time."""

REFUSED_S = 1.0
"""Time after which a member that refuses connections is considered lost, in seconds, because its agent has ended."""


@frozen
class Question:
    """A pending request for the report of a member."""

    began: float
    rounds: int
    """Number of command rounds completed before the request; -1 if a round was in progress."""


@define(eq=False)
class MemberLink:
    """The leader's link to one member."""

    report: MemberReport | None = None
    asking: bool = False
    ordering: bool = False
    """True if a round of commands is in progress."""

    _asked_at: float = float("-inf")
    _rounds: int = 0
    """Number of completed command rounds."""

    _rounds_shown: int = 0
    """Number of completed command rounds that the report reflects."""

    _orders: Sequence[object] = ()
    """Commands of the last round, which began at ``_ordered_at``."""

    _ordered_at: float = float("-inf")
    _failing_since: float | None = None
    _refused_since: float | None = None

    @property
    def clock(self) -> float:
        """Clock of the member at the time of its report; 0 if there is no report."""
        return 0.0 if self.report is None else self.report.clock

    def is_due(self, now: float) -> bool:
        """Return True if the next request is due."""
        return not self.asking and (self._rounds != self._rounds_shown or now - self._asked_at >= POLL_S)

    def ask(self, now: float) -> Question:
        """Start a request. The caller must report its outcome with ``answered`` or ``failed``."""
        self.asking, self._asked_at = True, now
        return Question(now, -1 if self.ordering else self._rounds)

    def answered(self, question: Question, report: MemberReport) -> bool:
        """Record a report. Return True if it differs from the previous one."""
        self.asking, self._failing_since, self._refused_since = False, None, None
        if self.ordering or question.rounds != self._rounds:
            return False  # the report may be older than the commands
        is_news = report != self.report or self._rounds_shown != question.rounds
        self.report, self._rounds_shown = report, question.rounds
        return is_news

    def failed(self, question: Question, *, refused: bool) -> None:
        """Record a failed request; ``refused`` is True if the machine refused the connection."""
        self.asking = False
        self._failing_since = question.began if self._failing_since is None else self._failing_since
        if not refused:
            self._refused_since = None
        elif self._refused_since is None:
            self._refused_since = question.began

    def order(self, orders: Sequence[object], now: float) -> bool:
        """Return True if the commands must be sent now. This starts a round, which ``end_round`` ends."""
        if orders == self._orders and now - self._ordered_at < AGAIN_S:
            return False
        self.ordering, self._orders, self._ordered_at = True, orders, now
        return True

    def end_round(self) -> None:
        """Record the outcome of a round of commands."""
        self.ordering = False
        self._rounds += 1

    def member(self, now: float, timeout_s: float) -> Member:
        """Return the member's state for decisions. The member is lost after ``timeout_s`` without a response."""
        failing, refused = self._failing_since, self._refused_since
        is_refused = refused is not None and now - refused > REFUSED_S
        lost = is_refused or (failing is not None and now - failing > timeout_s)
        return Member(report=self.report, lost=lost, busy=self.ordering or self._rounds != self._rounds_shown)
