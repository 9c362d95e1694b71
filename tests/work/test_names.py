"""Names that occur twice, found in linear time: a header of a hundred thousand columns took minutes."""

import time

from seatunnel_core.work.names import repeated


def test_each_repeated_name_is_given_once_and_sorted() -> None:
    assert repeated(["b", "a", "b", "c", "a", "b"]) == ["a", "b"]
    assert repeated(iter(["a", "b"])) == []


def test_the_time_grows_with_the_number_of_names() -> None:
    begun = time.process_time()
    assert repeated([f"c{number}" for number in range(200_000)]) == []
    assert time.process_time() - begun < 5  # quadratic: minutes
