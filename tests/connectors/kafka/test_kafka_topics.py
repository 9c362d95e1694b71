"""The source ``Kafka`` and topics that change under it: created again, shortened, or behind an open transaction."""

import re
import time

import pytest
from attrs import evolve
from confluent_kafka import TopicPartition

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import plan, read
from seatunnel_core.connectors.kafka import open_transactions
from seatunnel_core.connectors.kafka import starting as of_starting
from seatunnel_core.connectors.kafka.identity import topic_ids
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.errors import SourceChangedError, SourceError
from tests.connectors.kafka.sources import lines, source
from tests.servers.kafka import Kafka

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(600)]

ROWS = [{"id": number, "name": f"name {number}"} for number in range(500)]


def ids(of: KafkaSource) -> list[int]:
    return [row["id"] for row in read(of, plan(of, PlanningContext(parallelism=2)))]


def test_a_topic_that_is_created_again_is_an_error_in_a_batch_job(broker: Kafka, topic: str) -> None:
    """Its ranges were read from the new topic, which has other messages at the same offsets."""
    broker.topic(topic)
    broker.send(topic, lines(ROWS[:100]))
    made = source(broker, topic)
    found = plan(made, PlanningContext(parallelism=2))
    old = topic_ids(made._cluster, [topic])[topic]
    assert [split.body["topic_id"] for split in found.splits] == [old]
    broker.recreate(topic)
    broker.send(topic, lines(ROWS[100:400]), partition=0)
    new = topic_ids(made._cluster, [topic])[topic]
    with pytest.raises(
        SourceChangedError,
        match=f"topic {topic} was deleted and created again: .*{re.escape(f'{old} and is now {new}')}",
    ):
        read(made, found)
    body = {key: value for key, value in found.splits[0].body.items() if key != "topic_id"}
    without = evolve(found.splits[0], body=body)  # of an enumeration of an older version
    assert len(read(made, found, [without])) == 100
    longer = evolve(without, body={**without.body, "end": 500})
    with pytest.raises(SourceChangedError, match="the partition now ends at offset 300"):
        read(source(broker, topic, **{"poll.timeout": 500}), found, [longer])


def test_a_topic_that_is_created_again_is_an_error_while_a_job_streams_and_when_it_is_restored(
    broker: Kafka, topic: str
) -> None:
    broker.topic(topic, partitions=2)
    broker.send(topic, lines(ROWS[:100]), partition=0)
    made = source(broker, topic)
    made.run_in(streaming=True)
    planning = PlanningContext(parallelism=2)
    memory = made.poll({}, planning).cursor
    assert memory["topics"] == {topic: {"0": 100, "1": 0}}
    assert memory["ids"] == topic_ids(made._cluster, [topic])
    assert made.poll(memory, planning).items == ()
    broker.recreate(topic)
    broker.send(topic, lines(ROWS[:300]), partition=0)
    restored = source(broker, topic)
    restored.run_in(streaming=True)
    for each in (made, restored):
        with pytest.raises(SourceChangedError, match=f"topic {topic} was deleted and created again"):
            each.poll(memory, planning)
    with pytest.raises(SourceChangedError, match=f"topic {topic} was deleted and created again"):
        restored.require_readable(memory, ())


def test_a_checkpoint_before_removed_messages_is_not_readable(broker: Kafka, topic: str) -> None:
    broker.topic(topic)
    broker.send(topic, lines(ROWS[:100]))
    broker.admin.delete_records([TopicPartition(topic, 0, 50)])[TopicPartition(topic, 0, 50)].result(30)
    made = source(broker, topic)
    made.require_readable({"topics": {topic: {"0": 50}}, "listed_ms": 0}, ())
    with pytest.raises(SourceChangedError, match="partition 0 begins at offset 50, but the checkpoint continues at 49"):
        made.require_readable({"topics": {topic: {"0": 49}}, "listed_ms": 0}, ())


def test_a_checkpoint_without_ids_is_restored_and_gets_them(broker: Kafka, topic: str) -> None:
    broker.topic(topic)
    broker.send(topic, lines(ROWS[:5]))
    made = source(broker, topic)
    made.run_in(streaming=True)
    old = {"topics": {topic: {"0": 3}}, "listed_ms": 0}
    polled = made.poll(old, PlanningContext(parallelism=2))
    assert [(item["start"], item["end"]) for item in polled.items] == [(3, 5)]
    assert polled.cursor["ids"] == topic_ids(made._cluster, [topic])


def test_an_end_before_what_was_read_is_an_error(broker: Kafka, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was taken for a partition without news, until as many messages had come."""
    monkeypatch.setattr(of_starting, "SHORTER_S", 0.5)
    broker.topic(topic)
    broker.send(topic, lines(ROWS[:5]))
    made = source(broker, topic)
    made.run_in(streaming=True)
    with pytest.raises(
        SourceError, match=f"topic {topic}, partition 0 ends at offset 5, but the job has read it up to 7"
    ):
        made.poll({"topics": {topic: {"0": 7}}, "listed_ms": 0}, PlanningContext(parallelism=2))


def test_offsets_of_a_group_name_their_topic(broker: Kafka, topic: str) -> None:
    of_group = {"start_mode": "group_offsets", "consumer.group": topic}
    broker.topic(topic)
    broker.send(topic, lines(ROWS[:10]))
    made = source(broker, topic, **of_group)
    found = plan(made, PlanningContext(parallelism=2))
    made.acknowledge(found.splits, [], {})
    assert ids(source(broker, topic, **of_group)) == []
    broker.recreate(topic)
    broker.send(topic, lines(ROWS[:30]), partition=0)
    made._committed.clear()
    made.acknowledge(found.splits, [], {})  # as a job does that read the deleted topic
    with pytest.raises(SourceChangedError, match=f"created again: .* offsets of group {topic} belong to the deleted"):
        ids(source(broker, topic, **of_group))
    reset = {"kafka.config": {"auto.offset.reset": "earliest"}}
    assert ids(source(broker, topic, **of_group, **reset)) == list(range(30))


def test_messages_behind_an_open_transaction_are_reported(
    broker: Kafka, topic: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job read nothing behind it, and said nothing."""
    from confluent_kafka import Producer

    broker.topic(topic, partitions=2)
    broker.send(topic, lines(ROWS[:3]), partition=1)
    assert ids(source(broker, topic)) == [0, 1, 2]
    assert not caplog.messages
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": topic, "linger.ms": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, lines(ROWS[:1])[0], partition=1)
    producer.flush(30)
    broker.send(topic, lines(ROWS[4:9]), partition=1)
    for more in ({}, {"start_mode": "timestamp", "start_mode.timestamp": 0, "start_mode.end_timestamp": 2**41}):
        caplog.clear()
        assert ids(source(broker, topic, **more)) == [0, 1, 2]
        assert [message.partition("topic ")[2] for message in caplog.messages] == [
            f"{topic}, partition 1: a producer has had an open transaction since offset 3. The job ends at this "
            "offset and does not read the offsets up to 8. Run the job again when the transaction has ended"
        ]
    streaming = source(broker, topic)
    streaming.run_in(streaming=True)
    planning = PlanningContext(parallelism=2)
    memory = streaming.poll({}, planning).cursor
    caplog.clear()
    monkeypatch.setattr(open_transactions, "CHECK_S", 0)
    for wait_s in (60, 0, 0):
        monkeypatch.setattr(open_transactions, "WAIT_S", wait_s)
        assert streaming.poll(memory, planning).items == ()
    (said,) = caplog.messages  # once, and not while a transaction is short
    assert f"topic {topic}, partition 1: a producer has had an open transaction since offset 3. The job waits" in said
    producer.abort_transaction(30)
    deadline = time.monotonic() + 60
    while not (found := streaming.poll(memory, planning).items) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [(item["start"], item["end"]) for item in found] == [(3, 10)]


def test_a_timestamp_without_its_mode_is_reported(broker: Kafka, topic: str) -> None:
    assert source(broker, topic, **{"start_mode.timestamp": 5}).remarks == (
        "option 'start_mode.timestamp' has no effect: it requires start_mode = timestamp, found earliest",
    )
