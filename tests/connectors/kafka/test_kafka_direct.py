"""Topics into a sink that writes directly: partitions in parallel, and each in the order of its messages."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connectors.kafka import source as of_source
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_core.rows.batch import Batch
from seatunnel_core.work.split import Split
from tests.connectors.kafka.sources import lines
from tests.runtime.command import job
from tests.runtime.ground import ground_in, run_through
from tests.servers.kafka import Kafka

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600), pytest.mark.xdist_group("kafka")]

PARTITIONS, VERSIONS, KEYS = 4, 40, 50


def test_partitions_are_written_in_parallel_and_each_in_its_order(
    broker: Kafka, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[str, int]] = []
    read = KafkaSource.read

    def noted(self: KafkaSource, split: Split, context: Any) -> Iterator[Batch]:
        begun.append(("begins", split.body["partition"]))
        yield from read(self, split, context)
        begun.append(("ends", split.body["partition"]))

    monkeypatch.setattr(KafkaSource, "read", noted)
    monkeypatch.setattr(of_source, "LEAST_OFFSETS", 200)
    monkeypatch.setattr(of_source, "_MESSAGE_BYTES", 100_000)  # each range is a work unit
    broker.topic(topic, partitions=PARTITIONS)
    for partition in range(PARTITIONS):
        rows = [{"id": key * PARTITIONS + partition, "version": at} for at in range(VERSIONS) for key in range(KEYS)]
        broker.send(topic, lines(rows), partition=partition)
    source = f"""Kafka {{ bootstrap.servers = "{broker.servers}", topic = "{topic}", start_mode = earliest
      format = json, schema {{ fields {{ id = bigint, version = int }} }} }}"""
    sink = f"""Jdbc {{ url = "jdbc:sqlite:{tmp_path}/copy.db", generate_sink_sql = true, table = items
      primary_keys = [id] }}"""
    with ground_in(tmp_path) as ground:
        report, _ = run_through(ground.run(job("job.mode = BATCH, parallelism = 4", [source], [sink])))
    assert report.outcome is JobOutcome.FINISHED, report
    with closing(sqlite3.connect(tmp_path / "copy.db")) as connection:
        found = connection.execute("SELECT id, version FROM items ORDER BY id").fetchall()
    assert found == [(key, VERSIONS - 1) for key in range(PARTITIONS * KEYS)]
    assert len(begun) > 2 * PARTITIONS
    assert any(one[0] == two[0] == "begins" and one[1] != two[1] for one, two in pairwise(begun))
    for partition in range(PARTITIONS):
        own = [what for what, of in begun if of == partition]
        assert own == ["begins", "ends"] * (len(own) // 2), "one range at a time"
