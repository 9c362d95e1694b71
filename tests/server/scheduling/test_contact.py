"""What a leader knows of a member: which orders it is given, and when."""

from seatunnel_core.server.scheduling.contact import AGAIN_S, Contact


def test_the_same_orders_are_not_given_as_fast_as_they_are_carried_out() -> None:
    """A job that was to stop at once and did not was told so hundreds of times a second: the end of each order led to
    the next decision, which was the same order."""
    contact, stop, other = Contact(), [{"do": "stop", "job_id": "1"}], [{"do": "stop", "job_id": "2"}]
    assert contact.order(stop, 10.0)
    contact.told()
    assert not contact.order(stop, 10.1)
    assert not contact.ordering
    assert contact.order(other, 10.1), "what is new is said at once"
    contact.told()
    assert contact.order(stop, 10.1)
    contact.told()
    assert contact.order(stop, 10.1 + AGAIN_S)
