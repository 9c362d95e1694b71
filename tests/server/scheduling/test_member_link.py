"""What a leader knows of a member: which orders it is given, and when."""

from seatunnel_core.server.scheduling.member_link import AGAIN_S, MemberLink


def test_the_same_orders_are_not_given_as_fast_as_they_are_carried_out() -> None:
    """A job that was to stop at once and did not was told so hundreds of times a second: the end of each order led to
    the next decision, which was the same order."""
    link, stop, other = MemberLink(), [{"do": "stop", "job_id": "1"}], [{"do": "stop", "job_id": "2"}]
    assert link.order(stop, 10.0)
    link.end_round()
    assert not link.order(stop, 10.1)
    assert not link.ordering
    assert link.order(other, 10.1), "what is new is said at once"
    link.end_round()
    assert link.order(stop, 10.1)
    link.end_round()
    assert link.order(stop, 10.1 + AGAIN_S)
