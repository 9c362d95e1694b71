"""The sink ``Kafka`` on a real broker: the kit with its kills, formats, partitions, zombies, a broker that dies."""

import gc
import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.connector_api.testing import SinkConformance, commit, options_of, plan, stage
from seatunnel_core.connector_api.testing.drive import Skipped, begin, place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA, numbered
from seatunnel_core.connectors.additions import additions
from seatunnel_core.connectors.kafka import publishing
from seatunnel_core.connectors.kafka import writer as of_writer
from seatunnel_core.connectors.kafka.sink import KafkaSink
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.connectors.messages.debezium_envelopes import MESSAGES
from seatunnel_core.errors import CommitError, RowError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from tests.servers.kafka import Kafka

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(900)]


@pytest.fixture
def topic(request: pytest.FixtureRequest, broker: Kafka) -> str:
    """One of its own for each test."""
    return broker.topic(f"t{abs(hash(request.node.nodeid))}", partitions=3)


def exact(broker: Kafka, topic: str, folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.servers,
        "topic": topic,
        "semantics": "EXACTLY_ONCE",
        "staging_path": str(folder),
        "transaction_prefix": f"st.{topic}",  # all tests have the same job
        **more,
    }


def sink(options: Mapping[str, Any]) -> KafkaSink:
    return KafkaSink(options_of(KafkaSink, options))


class TestByTheKit(SinkConformance):
    sink_class = KafkaSink
    kills = 10

    @pytest.fixture(autouse=True)
    def target(self, broker: Kafka, topic: str, tmp_path: Path) -> None:
        self.broker, self.topic, self.folder = broker, topic, tmp_path

    def options(self) -> Mapping[str, Any]:
        return exact(self.broker, self.topic, self.folder)

    def visible(self) -> Sequence[Mapping[str, Any]]:
        return [json.loads(value) for value in self.broker.values(self.topic) if value is not None]

    def staged(self) -> int:
        gc.collect()
        return sum(path.is_file() for path in self.folder.rglob("*"))

    def lose(self) -> bool:
        """Remove the staging folder; the topics stay."""
        shutil.rmtree(self.folder)
        return True


def rows(batch: pa.RecordBatch, kinds: Sequence[RowKind] | None = None) -> Batch:
    given = None if kinds is None else pa.array([int(kind) for kind in kinds], pa.int8())
    return Batch(table="default", rows=batch, kinds=given)


def sent(broker: Kafka, into: str, batch: Batch, **more: Any) -> list[tuple[Any, Any, int]]:
    """Key, value and partition of each message that a sink sends at once."""
    made = sink({"bootstrap.servers": broker.servers, "topic": into, **more})
    made.prepare(sink_place(place()))
    writer = begin(made, TableSchema(table="default", columns=batch.rows.schema), place())
    writer.write(batch)
    staged = writer.finish()
    assert (staged.rows, dict(staged.body)) == (batch.rows.num_rows, {})
    found = sorted(broker.messages(into), key=lambda message: (message.partition(), message.offset()))
    return [(message.key(), message.value(), message.partition()) for message in found]


@pytest.mark.parametrize(
    ("format", "values"),
    [
        ("json", ['{"id":0,"name":"name 0"}', '{"id":1,"name":"name 1"}']),
        ("text", ["0,name 0", "1,name 1"]),
        ("canal_json", ['{"data":[{"id":0,"name":"name 0"}],"type":"INSERT"}']),
        ("debezium_json", ['{"before":null,"after":{"id":0,"name":"name 0"},"op":"c"}']),
        ("maxwell_json", ['{"data":{"id":0,"name":"name 0"},"type":"insert"}']),
        ("ogg_json", ['{"before":null,"after":{"id":0,"name":"name 0"},"op_type":"I"}']),
    ],
)
def test_rows_become_messages_of_a_format(broker: Kafka, topic: str, format: str, values: list[str]) -> None:
    batch = numbered(0, len(values))
    found = sent(broker, topic, rows(batch), format=format, partition=1)
    assert found == [(None, value.encode(), 1) for value in values]


@pytest.mark.parametrize("exactly_once", [True, False])
def test_rows_that_contain_messages_are_sent_unchanged(
    broker: Kafka, topic: str, tmp_path: Path, exactly_once: bool
) -> None:
    """The rows of ``COMPATIBLE_DEBEZIUM_JSON``, with a tombstone."""
    options = {"bootstrap.servers": broker.servers, **(exact(broker, topic, tmp_path) if exactly_once else {})}
    made = sink({**options, "topic": "${topic}", "format": "compatible_debezium_json"})
    messages = pa.RecordBatch.from_pylist(
        [{"topic": topic, "key": '{"id":1}', "value": value} for value in ('{"op":"d"}', None)], MESSAGES
    )
    made.prepare(sink_place(place()))
    done = stage(made, TableSchema(table="default", columns=MESSAGES), [messages], place())
    commit(made, [done], place())
    found = [(message.key(), message.value()) for message in broker.messages(topic)]
    assert found == [(b'{"id":1}', b'{"op":"d"}'), (b'{"id":1}', None)]


def test_messages_that_come_beside_others_are_told(broker: Kafka, topic: str) -> None:
    """A rerun looked like a first run."""
    made = sink({"bootstrap.servers": broker.servers, "topic": topic})
    made.prepare(sink_place(place()))
    made.apply_save_mode(sink_place(place()))
    assert additions(made, 2, {}) == ()
    sent(broker, topic, rows(numbered(0, 3)))
    made.apply_save_mode(sink_place(place()))
    assert additions(made, 2, {}) == (f"2 rows added to the topic {topic}, which had messages",)


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_topic_that_was_created_again_is_refused(
    broker: Kafka, topic: str, tmp_path: Path, exactly_once: bool
) -> None:
    """A restored job went on in the new topic, and its earlier messages were missing."""
    options = exact(broker, topic, tmp_path) if exactly_once else {"bootstrap.servers": broker.servers, "topic": topic}
    first, later = sink(options), evolve(sink_place(place(epoch=2)), prepared_in=1)
    first.prepare(sink_place(place()))
    done = stage(first, SCHEMA, [numbered(0, 3)], place())
    commit(first, [done], place())
    sink(options).prepare(evolve(later, published_to=done.tables))
    broker.recreate(topic)
    with pytest.raises(SinkError, match=f"the topic {topic} is not the topic to which this job has committed rows"):
        sink(options).prepare(evolve(later, epoch=3, published_to=done.tables))


@pytest.mark.parametrize("format", ["canal_json", "debezium_json", "maxwell_json", "ogg_json", "avro"])
def test_what_the_sink_writes_the_source_reads(broker: Kafka, topic: str, format: str) -> None:
    """An update comes back as a deleted and an inserted row."""
    kinds = [RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE]
    given = rows(numbered(0, 4), None if format == "avro" else kinds)
    sent(broker, topic, given, format=format, partition=0)
    options = {"bootstrap.servers": broker.servers, "topic": topic, "start_mode": "earliest", "format": format}
    made = KafkaSource(options_of(KafkaSource, {**options, "schema": {"fields": {"id": "bigint", "name": "string"}}}))
    batches = [batch for split in plan(made).splits for batch in made.read(split, Skipped())]
    assert [row for batch in batches for row in batch.rows.to_pylist()] == numbered(0, 4).to_pylist()
    found = [0] * 4 if batches[0].kinds is None else batches[0].kinds.to_pylist()
    assert found == ([0, 0, 0, 0] if format == "avro" else [0, 3, 0, 3])


def test_keys_partitions_and_topics_follow_the_rows(broker: Kafka, topic: str) -> None:
    found = sent(broker, topic, rows(numbered(0, 30)), partition_key_fields=["name"])
    assert {json.loads(key)["name"] for key, _, _ in found} == {f"name {number}" for number in range(30)}
    assert {partition for _, _, partition in found} == {0, 1, 2}
    other = broker.topic(f"{topic}-assigned", partitions=3)
    found = sent(broker, other, rows(numbered(0, 12)), assign_partitions=["name 1"])
    assert [json.loads(value)["id"] for _, value, partition in found if partition == 0] == [1, 10, 11]
    assert {partition for _, value, partition in found if b"name 1" not in value} == {1, 2}
    names = [broker.topic(f"{topic}-{name}") for name in ("a", "b")]
    batch = pa.RecordBatch.from_pydict({"id": [1, 2, 3], "name": [*names, names[0]]}, schema=SCHEMA.columns)
    sent(broker, topic, rows(batch), topic="${name}")
    assert [len(broker.values(name)) for name in names] == [2, 1]
    missing = pa.RecordBatch.from_pydict({"id": [1], "name": ["nowhere"]}, schema=SCHEMA.columns)
    with pytest.raises(RowError, match=r"topic 'nowhere', .* does not exist"):
        sent(broker, topic, rows(missing), topic="${name}")


def test_formats_without_kinds_refuse_rows_that_go(broker: Kafka, topic: str) -> None:
    kinds = [RowKind.INSERT, RowKind.DELETE]
    with pytest.raises(RowError, match="which json cannot represent; set format = debezium_json"):
        sent(broker, topic, rows(numbered(0, 2), kinds))


def test_an_engine_that_was_replaced_sends_nothing(broker: Kafka, topic: str, tmp_path: Path) -> None:
    """It slept between its look and its commit. What it has staged is in the newer engine's base."""
    old, new = sink(exact(broker, topic, tmp_path)), sink(exact(broker, topic, tmp_path))
    old.prepare(sink_place(place()))
    staged = stage(old, SCHEMA, [numbered(0, 3)], place())
    later = place(epoch=2)
    new.prepare(sink_place(later))
    with pytest.raises(CommitError):
        commit(old, [staged], place())
    with pytest.raises(CommitError, match="another engine has taken over this job: its epoch is 2"):
        commit(old, [staged], place(), may_be_committed=True)
    with pytest.raises(CommitError) as raised:
        commit(new, [staged], later)
    assert raised.value.retryable, "the old one took the transactions away, so the newer one begins anew"
    commit(new, [staged], later, may_be_committed=True)
    assert len(broker.values(topic)) == 3


def test_a_transaction_that_takes_too_long_costs_time_and_no_rows(
    broker: Kafka, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers look for such transactions every so often, and end them."""
    config = {"transaction.timeout.ms": "1500"}
    made = sink(exact(broker, topic, tmp_path, **{"kafka.config": config}))
    made.prepare(sink_place(place()))
    staged = stage(made, SCHEMA, [numbered(0, 5)], place())
    slow = publishing._staged

    def slowly(path: str) -> Iterator[Any]:
        for number, message in enumerate(slow(path)):
            if number == 1:
                engine.producer.flush(10)
                time.sleep(14)
            yield message

    (engine,) = made._driver.engines.values()  # type: ignore[union-attr]
    monkeypatch.setattr(publishing, "_staged", slowly)
    with pytest.raises(CommitError) as raised:
        commit(made, [staged], place())
    assert raised.value.retryable
    assert broker.values(topic) == []
    monkeypatch.undo()
    commit(made, [staged], place(), may_be_committed=True)
    assert len(broker.values(topic)) == 5


def test_a_job_whose_record_is_gone_does_not_go_on(broker: Kafka, topic: str, tmp_path: Path) -> None:
    made = sink(exact(broker, topic, tmp_path))
    made.prepare(sink_place(place()))
    stage(made, SCHEMA, [numbered(0, 5)], place())
    name = made._publishing(sink_place(place())).name
    broker.admin.delete_topics([name])[name].result(30)
    with pytest.raises(SinkError, match="which records the sent files, no longer exists, and 1 files"):
        sink(exact(broker, topic, tmp_path)).prepare(sink_place(place(epoch=2)))


def test_large_units_are_sent_in_several_transactions(
    broker: Kafka, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_writer, "FILE_MESSAGES", 100)
    monkeypatch.setattr(publishing, "_AT_ONCE", 250)
    made = sink(exact(broker, topic, tmp_path))
    made.prepare(sink_place(place()))
    staged = [stage(made, SCHEMA, [numbered(unit * 1000, 450)], place(unit=unit)) for unit in (1, 2)]
    assert [len(each.body["files"]) for each in staged] == [5, 5]
    commit(made, staged, place())
    marks = list(made._publishing(sink_place(place())).marks())
    assert [len(mark.files) for mark in marks] == [0, 2, 3, 2, 3]
    assert len(broker.values(topic)) == 900


def test_a_forged_committable_sends_nothing(broker: Kafka, topic: str, tmp_path: Path) -> None:
    made = sink(exact(broker, topic, tmp_path))
    made.prepare(sink_place(place()))
    staged = stage(made, SCHEMA, [numbered(0, 1)], place())
    for files in ([["../../etc/passwd", ""]], [["messages-other-p1-s0-o0-e1-u1-a1-0-0.arrow", ""]], "x"):
        with pytest.raises(CommitError, match="was not created by this sink"):
            commit(made, [evolve(staged, body={"files": files})], place())
    assert broker.values(topic) == []
