"""Ordering keys of the splits of ``Kafka``: partitions may be written in parallel, ranges of one partition may not."""

from seatunnel_core.connector_api.several_tables import source_of
from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.kafka.source import KafkaSource

SCHEMA = {"fields": {"id": "bigint"}}
SERVERS = {"bootstrap.servers": "localhost:9092"}


def item(topic: str, partition: int, start: int) -> dict[str, object]:
    return {"topic": topic, "partition": partition, "start": start, "end": start + 10}


def test_each_partition_has_its_own_key() -> None:
    source = KafkaSource(options_of(KafkaSource, {**SERVERS, "topic": "a,b", "schema": SCHEMA}))
    source.run_in(streaming=True)
    items = [item("a", 0, 0), item("a", 1, 0), item("b", 0, 0), item("a", 0, 10)]
    splits = source.enumerate(items, PlanningContext(parallelism=2)).splits
    assert [split.ordering_key for split in splits] == ["a/0", "a/1", "b/0", "a/0"]


def test_entries_that_read_one_topic_share_the_keys() -> None:
    """Its rows may reach one target through both."""
    entries = [{"topic": "a", "schema": {"table": name, **SCHEMA}} for name in ("x", "y")]
    source = source_of(KafkaSource, options_of(KafkaSource, {**SERVERS, "tables_configs": entries}))
    source.run_in(streaming=True)
    items = [{"table": name, "item": item("a", 0, 0)} for name in ("x", "y")]
    splits = source.enumerate(items, PlanningContext(parallelism=2)).splits
    assert [split.ordering_key for split in splits] == ["a/0", "a/0"]
