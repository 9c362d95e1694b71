"""What a person reads who errs about Kafka: each mistake is named before any row moves, and no secret is shown."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors.kafka.mistakes import MISTAKES, PAGE, WITHIN_S
from tests.servers.kafka import PASSWORD, Kafka

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    with Kafka(tmp_path_factory.mktemp("kafka")) as running:
        running.topic("people")
        yield running


@pytest.mark.parametrize("what", MISTAKES)
def test_a_mistake_is_reported_soon_and_shows_no_secret(broker: Kafka, what: str, tmp_path: Path) -> None:
    mistake = MISTAKES[what]
    began = time.monotonic()
    said = mistake.message(broker, tmp_path)
    assert time.monotonic() - began < WITHIN_S
    for part in mistake.names:
        assert part in said, said
    assert PASSWORD not in said
    assert "wrong-one" not in said
    assert f"| {what} | `{said}` |" in PAGE.read_text("utf-8")
