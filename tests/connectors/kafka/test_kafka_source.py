"""The source ``Kafka`` on a real broker: the kit, where it begins and ends, gaps, what expired, a broker that dies."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from seatunnel_core.connector_api.several_tables import source_of
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import EndlessSourceConformance, SourceConformance, options_of, plan, read
from seatunnel_core.connector_api.testing.drive import Skipped
from seatunnel_core.connectors.kafka import source as of_source
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.errors import RowError, SourceChangedError, SourceError
from tests.connectors.kafka.sources import SCHEMA, lines, source
from tests.servers.kafka import Kafka

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(600)]

ROWS = [{"id": number, "name": f"näme {number}"} for number in range(2_500)]


def ids(of: KafkaSource, planning: PlanningContext | None = None, context: Skipped | None = None) -> list[int]:
    return [row["id"] for row in read(of, plan(of, planning or PlanningContext(parallelism=2)), context=context)]


class TestByTheKit(SourceConformance):
    source_class = KafkaSource

    @pytest.fixture(autouse=True)
    def messages(self, broker: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(of_source, "LEAST_OFFSETS", 100)
        self.broker = broker
        if "kit" not in broker.topics():
            broker.topic("kit", partitions=2)
            broker.send("kit", lines(ROWS[:1000]), partition=0)
            broker.send("kit", lines(ROWS[1000:1500]), partition=1)

    def options(self) -> Mapping[str, Any]:
        return {
            "bootstrap.servers": self.broker.servers,
            "topic": "kit",
            "start_mode": "earliest",
            "schema": SCHEMA,
            "poll.timeout": 20_000,
        }

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS[:1500]


class TestEndlessByTheKit(EndlessSourceConformance):
    source_class = KafkaSource

    @pytest.fixture(autouse=True)
    def messages(self, broker: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(of_source, "LEAST_OFFSETS", 100)
        monkeypatch.setattr(of_source, "MOST_RANGES", 3)
        self.broker = broker
        if "endless" not in broker.topics():
            broker.topic("endless", partitions=3)
            for partition in range(3):
                broker.send("endless", lines(ROWS[partition * 300 : partition * 300 + 300]), partition=partition)

    def options(self) -> Mapping[str, Any]:
        return {
            "bootstrap.servers": self.broker.servers,
            "topic": "endless",
            "start_mode": "earliest",
            "schema": SCHEMA,
            "poll.timeout": 20_000,
        }

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return ROWS[:900]


def test_partitions_are_read_in_parallel_and_in_their_order(broker: Kafka, topic: str) -> None:
    broker.topic(topic)
    broker.send(topic, lines(ROWS))
    for parallelism in (1, 2, 8):
        made = source(broker, topic)
        found = plan(made, PlanningContext(parallelism=parallelism))
        assert len(found.splits) == (1 if parallelism == 8 else 3) or len(found.splits) > 1
        assert [row["id"] for row in read(made, found)] == list(range(2_500))
    assert len(plan(source(broker, topic), PlanningContext(parallelism=2, rows_per_second=300)).splits) == 9


def test_it_begins_and_ends_where_the_options_say(broker: Kafka, topic: str) -> None:
    broker.topic(topic)
    broker.send(topic, lines(ROWS[:10]))
    moment = int(time.time() * 1000) + 50
    time.sleep(0.1)
    broker.send(topic, lines(ROWS[10:30]))
    late = int(time.time() * 1000) + 60_000
    assert ids(source(broker, topic)) == list(range(30))
    assert ids(source(broker, topic, start_mode="latest")) == []
    assert ids(source(broker, topic, start_mode="timestamp", **{"start_mode.timestamp": moment})) == list(range(10, 30))
    assert ids(source(broker, topic, start_mode="timestamp", **{"start_mode.timestamp": late})) == []
    ends = {"start_mode.timestamp": 1, "start_mode.end_timestamp": moment}
    assert ids(source(broker, topic, start_mode="timestamp", **ends)) == list(range(10))
    specific = {"start_mode": "specific_offsets", "start_mode.offsets": {f"{topic}-0": "7"}}
    assert ids(source(broker, topic, **specific)) == list(range(7, 30))


def test_a_group_goes_on_where_it_was(broker: Kafka, topic: str) -> None:
    """Without an offset it begins at the earliest message: leaving rows out in silence would be worse."""
    broker.topic(topic, partitions=2)
    broker.send(topic, lines(ROWS[:10]), partition=0)
    of_group = {"start_mode": "group_offsets", "consumer.group": topic}
    made = source(broker, topic, **of_group)
    assert ids(made) == list(range(10))
    assert ids(source(broker, topic, **of_group, **{"kafka.config": {"auto.offset.reset": "latest"}})) == []
    made._cluster.commit(topic, {(topic, 0): 4})
    assert ids(made) == list(range(4, 10))
    with pytest.raises(SourceError, match=r"auto\.offset\.reset is none"):
        ids(source(broker, topic, **of_group, **{"kafka.config": {"auto.offset.reset": "none"}}))


def test_what_is_not_committed_is_not_read_and_no_gap_hangs(broker: Kafka, topic: str) -> None:
    """The marks of transactions, aborted messages and a transaction that is still open."""
    from confluent_kafka import Producer

    broker.topic(topic)
    of = {"bootstrap.servers": broker.servers, "transaction.timeout.ms": 60_000, "linger.ms": 0}
    for number, outcome in enumerate(("commit", "abort", "commit", "abort", "open")):
        producer = Producer({**of, "transactional.id": f"{topic}-{outcome}-{number}"})
        producer.init_transactions(60)
        producer.begin_transaction()
        for row in ROWS[number * 10 : number * 10 + 10]:
            producer.produce(topic, json.dumps(row).encode())
        producer.flush(30)
        if outcome != "open":
            (producer.commit_transaction if outcome == "commit" else producer.abort_transaction)(30)
    made = source(broker, topic)
    found = plan(made, PlanningContext(parallelism=2, rows_per_second=3))
    began = time.monotonic()
    assert [row["id"] for row in read(made, found)] == [*range(10), *range(20, 30)]
    assert time.monotonic() - began < 25
    uncommitted = source(broker, topic, **{"kafka.config": {"isolation.level": "read_uncommitted"}})
    assert ids(uncommitted) == list(range(50))
    producer.abort_transaction(30)


def test_messages_that_expired_are_an_error_and_never_fewer_rows(broker: Kafka, topic: str) -> None:
    from confluent_kafka import TopicPartition

    broker.topic(topic)
    broker.send(topic, lines(ROWS[:100]))
    made = source(broker, topic)
    found = plan(made, PlanningContext(parallelism=2))
    broker.admin.delete_records([TopicPartition(topic, 0, 50)])[TopicPartition(topic, 0, 50)].result(30)
    with pytest.raises(SourceChangedError, match=f"topic {topic}, partition 0, offsets 0 to 99"):
        read(made, found)
    assert ids(source(broker, topic)) == list(range(50, 100))
    gone = {"start_mode": "specific_offsets", "start_mode.offsets": {f"{topic}-0": "7"}}
    with pytest.raises(
        SourceError, match=r"the offset 7 in start_mode\.offsets does not exist: the partition has the offsets 50 to 99"
    ):
        ids(source(broker, topic, **gone))


def test_new_partitions_and_topics_of_a_pattern_are_found(broker: Kafka, topic: str) -> None:
    from confluent_kafka.admin import NewPartitions

    broker.topic(f"{topic}-a")
    broker.send(f"{topic}-a", lines(ROWS[:5]))
    made = source(broker, f"{topic}-.*", pattern=True, **{"partition-discovery.interval-millis": 1})
    made.run_in(streaming=True)
    planning = PlanningContext(parallelism=2)
    first = made.poll({}, planning)
    assert [(item["start"], item["end"]) for item in first.items] == [(0, 5)]
    broker.admin.create_partitions([NewPartitions(f"{topic}-a", 2)])[f"{topic}-a"].result(30)
    broker.topic(f"{topic}-b")
    broker.send(f"{topic}-b", lines(ROWS[5:7]))
    deadline = time.monotonic() + 30
    memory = first.cursor
    found: list[Any] = []
    while not found and time.monotonic() < deadline:
        polled = made.poll(memory, planning)
        memory, found = polled.cursor, [*polled.items]
        time.sleep(0.05)
    assert [(item["topic"], item["start"], item["end"]) for item in found] == [(f"{topic}-b", 0, 2)]
    assert {topic: sorted(offsets) for topic, offsets in memory["topics"].items()} == {
        f"{topic}-a": ["0", "1"],
        f"{topic}-b": ["0"],
    }


def test_several_tables_from_one_source(broker: Kafka, topic: str) -> None:
    for name in ("a", "b"):
        broker.topic(f"{topic}{name}")
        broker.send(f"{topic}{name}", lines(ROWS[:3]))
    entries = [
        {"topic": f"{topic}{name}", "start_mode": "earliest", "schema": SCHEMA, "format": format}
        for name, format in (("a", "json"), ("b", "text"))
    ]
    entries[1]["schema"] = {"fields": {"line": "string"}}
    entries[1]["field_delimiter"] = "\t"
    made = source_of(
        KafkaSource, options_of(KafkaSource, {"bootstrap.servers": broker.servers, "tables_configs": entries})
    )
    found = plan(made, PlanningContext(parallelism=2))
    assert [schema.table for schema in found.schemas] == [f"{topic}a", f"{topic}b"]
    assert [row.get("id", row.get("line")) for row in read(made, found)] == [0, 1, 2, *map(json.dumps, ROWS[:3])]


def test_a_bad_message_is_named_or_left_out(broker: Kafka, topic: str) -> None:
    broker.topic(topic)
    broker.send(topic, [b'{"id": 1}', b"{", b'{"id": "x"}', None, b'{"id": 2}'])
    with pytest.raises(RowError, match=f"topic {topic}, partition 0, offset 1: invalid json"):
        ids(source(broker, topic))
    skipped = Skipped(fail=False)
    assert ids(source(broker, topic), context=skipped) == [1, 2]
    assert [error.partition("offset ")[2].split(":")[0] for error in skipped.errors] == ["1", "2, column 'id'", "3"]


def test_a_broker_that_dies_while_ranges_are_read_costs_time_and_no_rows(broker: Kafka, topic: str) -> None:
    broker.topic(topic)
    broker.send(topic, lines(ROWS))
    made = source(broker, topic, **{"poll.timeout": 60_000})
    found = plan(made, PlanningContext(parallelism=2, rows_per_second=200))
    rows = read(made, found, found.splits[:3])
    broker.kill()
    broker._process.launch()
    rows += read(made, found, found.splits[3:])
    broker._process.wait_until_ready()
    assert [row["id"] for row in rows] == list(range(2_500))
