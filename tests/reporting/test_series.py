"""Metrics over time: bounded, and exact however far back one looks."""

import sys
import time

import pytest

from seatunnel_core.reporting.series import COLUMNS, LEVELS, MOST_PIPELINES, JobSeries, Point, Series


def filled(points: int, every_s: float = 5.0) -> Series:
    series = Series()
    for number in range(points):
        series.add(1_000_000 + number * every_s, Point(rows_read=number * every_s * 10, units_in_flight=3))
    return series


def test_counters_become_rates_and_gauges_stay() -> None:
    series = Series()
    series.add(100.0, Point(10, 20, 5, 1_000, 2, 1))
    series.add(105.0, Point(60, 70, 5, 2_000, 4, 0))
    assert series.record() == [[105_000, 10.0, 10.0, 0.0, 200.0, 4, 0]]
    assert len(COLUMNS) == 7


def test_points_that_are_thinned_keep_their_rates_and_the_last_one() -> None:
    found = filled(700).record(most=10)
    assert len(found) <= 10
    assert found[-1][0] == (1_000_000 + 699 * 5) * 1_000
    assert {row[1] for row in found} == {10.0}


@pytest.mark.parametrize(("days", "step_s"), [(0.5, 60), (6, 600)])
def test_older_points_are_further_apart(days: float, step_s: float) -> None:
    found = filled(int(days * 86_400 / 5)).record(most=2_000)
    assert found[1][0] - found[0][0] == step_s * 1_000
    assert found[-1][0] - found[0][0] == pytest.approx(days * 86_400_000, rel=0.01)


def test_the_last_hour_is_fine_however_long_the_job_runs() -> None:
    series = filled(100_000)
    end_s = 1_000_000 + 99_999 * 5
    found = series.record(since_s=end_s - 600, most=1_000)
    assert found[1][0] - found[0][0] == 5_000
    assert len(found) == 120


def test_memory_is_bounded_and_a_sample_is_cheap() -> None:
    """A hundred idle streaming jobs take a sample each in five seconds: together less than 10 % of a core."""
    series = filled(100)
    begun = time.process_time()
    for number in range(10_000):
        series.add(2_000_000 + number * 5, Point(number))
    assert (time.process_time() - begun) / 10_000 * 100 / 5 < 0.01
    kept = sum(most for _, most in LEVELS)
    held = sum(sys.getsizeof(ring._values) for ring in series._rings)
    assert held < kept * len(COLUMNS) * 8 * 1.3


def test_a_clock_that_is_set_back_does_not_stop_the_series() -> None:
    series = Series()
    for at in (1_000.0, 1_005.0, 500.0, 505.0):
        series.add(at, Point(at))
    assert len(series.record()) == 3
    assert all(row[1] >= 0 for row in series.record())


def test_a_job_has_the_sum_and_its_first_pipelines() -> None:
    series = JobSeries()
    for at in (10.0, 15.0):
        series.add(at, {number: Point(rows_read=at * number) for number in range(1, 31)})
    total = sum(range(1, 31))
    assert series.record()["points"] == [[15_000, float(total), 0.0, 0.0, 0.0, 0, 0]]
    assert series.record(2)["points"][0][1] == 2.0
    assert series.record()["pipelines"] == list(range(1, MOST_PIPELINES + 1))
    assert series.record(30)["points"] == []


def test_a_single_pipeline_is_recorded_once() -> None:
    series = JobSeries()
    series.add(10.0, {1: Point(1)})
    assert series.record()["pipelines"] == []
