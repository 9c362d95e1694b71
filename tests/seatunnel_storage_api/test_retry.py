"""How often, and how long between."""

import pytest

from seatunnel_storage_api.errors import StorageAccessError, StorageUnavailableError
from seatunnel_storage_api.retry import Backoff


def failing(times: int) -> "Flaky":
    return Flaky(times)


class Flaky:
    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise StorageUnavailableError(f"failure {self.calls}")
        return "answer"


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_what_passes_by_itself_is_tried_again(failures: int) -> None:
    waits: list[float] = []
    action = failing(failures)
    assert Backoff(attempts=4, first_wait_ms=100, longest_wait_ms=250, sleep=waits.append).call(action) == "answer"
    assert action.calls == failures + 1
    for wait, longest in zip(waits, [0.1, 0.2, 0.25], strict=False):
        assert longest / 2 <= wait <= longest


def test_the_last_error_stands() -> None:
    action = failing(9)
    with pytest.raises(StorageUnavailableError, match="failure 4"):
        Backoff(sleep=lambda _: None).call(action)
    assert action.calls == 4


def test_a_refusal_is_not_tried_again() -> None:
    calls = []

    def refuse() -> None:
        calls.append(1)
        raise StorageAccessError("no")

    with pytest.raises(StorageAccessError):
        Backoff(sleep=lambda _: None).call(refuse)
    assert len(calls) == 1


def test_the_waits_differ() -> None:
    waits: list[float] = []
    with pytest.raises(StorageUnavailableError):
        Backoff(attempts=30, first_wait_ms=100, longest_wait_ms=100, sleep=waits.append).call(failing(99))
    assert len(set(waits)) > 20
