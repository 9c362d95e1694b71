"""What a leader knows of one member, from its answers and the orders it was given. Times are the leader's own."""

from collections.abc import Sequence

from attrs import define, frozen

from seatunnel_core.server.member_report import MemberReport
from seatunnel_core.server.scheduling.view import Member

POLL_S = 0.25

AGAIN_S = 0.25
"""The same orders are given again after so long at the earliest: what they ask for takes its time."""

REFUSED_S = 1.0
"""A member whose machine refuses connections for so long is lost: its agent is gone, and perhaps its hosts."""


@frozen
class Question:
    """A request for the report of a member, under way."""

    began: float
    rounds: int
    """Of orders that it had been given by then; -1 while a round is under way, which the answer may not show."""


@define(eq=False)
class MemberLink:
    """One member, as far as it has answered this leader."""

    report: MemberReport | None = None
    asking: bool = False
    ordering: bool = False
    """Whether a round of orders is under way."""

    _asked_at: float = float("-inf")
    _rounds: int = 0
    """Of orders that it was given."""

    _rounds_shown: int = 0
    """How many of them the report shows."""

    _orders: Sequence[object] = ()
    """Of the last round, which began at ``_ordered_at``."""

    _ordered_at: float = float("-inf")
    _failing_since: float | None = None
    _refused_since: float | None = None

    @property
    def clock(self) -> float:
        """The member's own clock when it gave the report; 0 when there is none."""
        return 0.0 if self.report is None else self.report.clock

    def is_due(self, now: float) -> bool:
        """Return whether it is to be asked now."""
        return not self.asking and (self._rounds != self._rounds_shown or now - self._asked_at >= POLL_S)

    def ask(self, now: float) -> Question:
        """Take in that it is asked now; call ``answered`` or ``failed`` later."""
        self.asking, self._asked_at = True, now
        return Question(now, -1 if self.ordering else self._rounds)

    def answered(self, question: Question, report: MemberReport) -> bool:
        """Take in its report, and return whether it says something new."""
        self.asking, self._failing_since, self._refused_since = False, None, None
        if self.ordering or question.rounds != self._rounds:
            return False  # what it says may be older than the orders
        is_news = report != self.report or self._rounds_shown != question.rounds
        self.report, self._rounds_shown = report, question.rounds
        return is_news

    def failed(self, question: Question, *, refused: bool) -> None:
        """Take in that it did not answer; ``refused`` when its machine did, and refused the connection."""
        self.asking = False
        self._failing_since = question.began if self._failing_since is None else self._failing_since
        if not refused:
            self._refused_since = None
        elif self._refused_since is None:
            self._refused_since = question.began

    def order(self, orders: Sequence[object], now: float) -> bool:
        """Return whether orders are to be given now, and then take in that they are; call ``told`` later."""
        if orders == self._orders and now - self._ordered_at < AGAIN_S:
            return False
        self.ordering, self._orders, self._ordered_at = True, orders, now
        return True

    def told(self) -> None:
        """Take in that a round of orders has ended, well or not."""
        self.ordering = False
        self._rounds += 1

    def member(self, now: float, timeout_s: float) -> Member:
        """Return what is to be decided from; a member that has been silent for ``timeout_s`` is lost."""
        failing, refused = self._failing_since, self._refused_since
        is_refused = refused is not None and now - refused > REFUSED_S
        lost = is_refused or (failing is not None and now - failing > timeout_s)
        return Member(report=self.report, lost=lost, busy=self.ordering or self._rounds != self._rounds_shown)
