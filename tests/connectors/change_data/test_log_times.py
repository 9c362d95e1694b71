"""The lag of a reader, from the times at which its log had ended at positions."""

from seatunnel_core.connectors.change_data.log_times import LogTimes


def times(*observed: tuple[int, int]) -> LogTimes[int]:
    made = LogTimes((observed[0],))
    for end, at_ms in observed[1:]:
        made = made.and_one(end, at_ms)
    return made


def test_there_is_no_lag_at_the_end() -> None:
    assert times((100, 1_000)).lag_seconds(100) == 0
    assert times((100, 1_000)).lag_seconds(101) == 0


def test_the_lag_counts_from_the_last_moment_at_which_all_was_read() -> None:
    made = times((100, 1_000), (200, 3_000), (300, 9_000))
    assert made.end == 300
    assert made.lag_seconds(100) == 8
    assert made.lag_seconds(299) == 6


def test_the_lag_is_unknown_before_anything_was_read() -> None:
    assert times((100, 1_000)).lag_seconds(50) is None


def test_the_last_commit_that_was_read_bounds_the_lag() -> None:
    """A restarted job knows no earlier end of the log."""
    assert times((100, 9_000)).lag_seconds(50, committed_ms=4_000) == 5
    assert times((40, 5_000), (100, 9_000)).lag_seconds(50, committed_ms=4_000) == 4
    assert times((100, 9_000)).lag_seconds(50, committed_ms=9_500) == 0, "clocks have a resolution"


def test_an_idle_log_has_no_lag_however_old_its_last_commit_is() -> None:
    """An hour of silence is not a lag of an hour once something is written again."""
    made = times((100, 1_000), (100, 3_600_000), (200, 3_601_000))
    assert made.lag_seconds(100, committed_ms=500) == 1


def test_times_that_no_lag_depends_on_are_forgotten() -> None:
    made = times(*((end, end) for end in range(0, 100_000, 1_000)))
    assert made.since(50_500).lag_seconds(50_500) == made.lag_seconds(50_500) == 49
    assert made.since(50_500) == times(*((end, end) for end in range(50_000, 100_000, 1_000)))
    assert made.since(-1) == made


def test_the_number_of_times_is_bounded() -> None:
    """A reader that stands still for days keeps a coarser list."""
    made = times(*((end, 1_000 + end) for end in range(10_000)))
    assert len(made._observed) <= 513
    assert made.lag_seconds(0) == 10
