"""Numbers for people."""

import pytest

from seatunnel_core.quantity import count, duration, pick, rate, size


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (31_053_850, "31.1 MB"), (999_999, "1.0 MB"), (2e12, "2.0 TB")],
)
def test_size(size_bytes: int, text: str) -> None:
    assert size(int(size_bytes)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-1, "0.0 s"),
        (0.84, "0.8 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (125, "2 min 5 s"),
        (11_530, "3 h 12 min"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_counts_and_rates() -> None:
    assert (count(336_776), rate(22_450.6), pick(1, "row"), pick(2, "row")) == (
        "336,776", "22,451 rows/s", "1 row", "2 rows",
    )  # fmt: skip
