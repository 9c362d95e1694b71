"""A host that fails at once does not keep the machine busy with its starts."""

from seatunnel_core.server.agent.restarts import Restarts


def pauses(restarts: Restarts, now: float, *, ready: bool) -> float:
    """Start a host that ends, and return after how long the next one is due."""
    restarts.started()
    if ready:
        restarts.ready()
    begun = now
    while not restarts.is_due(now):
        now += 0.5
    return now - begun


def test_the_first_start_and_that_after_a_host_that_was_ready_come_at_once() -> None:
    restarts = Restarts()
    assert restarts.is_due(0.0)
    assert pauses(restarts, 10.0, ready=True) == 0.0


def test_each_host_that_never_was_ready_lets_the_next_one_wait_longer() -> None:
    restarts = Restarts()
    assert restarts.is_due(0.0)
    found = [pauses(restarts, 100.0 * number, ready=False) for number in range(8)]
    assert found == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert pauses(restarts, 1_000.0, ready=True) == 0.0
    assert pauses(restarts, 2_000.0, ready=False) == 1.0
