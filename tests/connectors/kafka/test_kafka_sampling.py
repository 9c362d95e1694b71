"""Columns of messages that a job does not declare: those of a stated sample, on a real broker and without one."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_core.connector_api.source import PlanningContext
from seatunnel_core.connector_api.testing import Skipped, options_of, plan, read
from seatunnel_core.connectors.kafka import source as of_source
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.connectors.messages.sampling import Sampling
from seatunnel_core.errors import RowError, UsageError
from seatunnel_core.rows.batch import TableSchema
from tests.connectors.kafka.sources import Message
from tests.servers.kafka import Kafka

ROWS = [{"id": number, "to": {"city": f"c{number % 3}"}, "tags": ["x"] * (number % 3)} for number in range(30)]


def made(**more: Any) -> KafkaSource:
    given = {"bootstrap.servers": "localhost:9092", "topic": "t", "schema_sample": 100, **more}
    return KafkaSource(options_of(KafkaSource, given))


def sampling(**more: Any) -> Sampling:
    found = made(**more)._sampling
    assert found is not None
    return found


def lines(*rows: Any) -> list[Message]:
    return [
        Message(row if row is None or isinstance(row, bytes) else json.dumps(row).encode(), number)
        for number, row in enumerate(rows)
    ]


def test_the_first_messages_tell_the_columns() -> None:
    messages = lines({"id": 1}, None, b"nonsense", {"id": 2.5, "name": "x"}, {"id": "late"})
    shape = sampling(schema_sample=4).shape(iter([messages[:2], messages[2:]]))
    assert shape.columns() == pa.schema([("id", pa.float64()), ("name", pa.string())])


def test_a_message_that_does_not_fit_is_refused_or_left_out_and_counted() -> None:
    columns = pa.schema([("id", pa.int64())])
    schema = TableSchema(table="t", columns=columns)

    def rows(context: Skipped, *values: Any, **more: Any) -> list[Any]:
        batches = sampling(**more).batches(schema, lines(*values), context)
        return [row for batch in batches for row in batch.rows.to_pylist()]

    with pytest.raises(RowError, match=r"topic t, partition 3, offset 1, column 'id': 'x' is not a bigint.*first 100"):
        rows(Skipped(), {"id": 1}, {"id": "x"})
    with pytest.raises(RowError, match=r"offset 1, column 'more': the first 100 messages of each partition do not"):
        rows(Skipped(), {"id": 1}, {"id": 1, "more": 1})
    for wrong, said in ((None, "no value"), (b"[1]", "expected an object"), (b"{", "invalid json")):
        with pytest.raises(RowError, match=f"partition 3, offset 0.*{said}"):
            rows(Skipped(), wrong)
    noted = Skipped()
    notes: dict[str, str] = {}

    def note(what: str, example: str, rows: int = 1) -> None:
        notes.setdefault(what, example)

    noted.note = note  # type: ignore[method-assign]
    contract = {"columns": "discard_value", "data_type": "discard_row"}
    found = rows(noted, {"id": 1, "more": 1}, {"id": "x"}, {"id": 2}, schema_contract=contract)
    assert found == [{"id": 1}, {"id": 2}]
    assert sorted(notes.values()) == [f"topic t, partition 3, offset {number}" for number in (0, 1)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schema": {"fields": {"id": "int"}}}, "schema already declares the columns"),
        ({"format": "text"}, "format = json, found text"),
        ({"schema_sample": None, "nesting": "tables"}, "'nesting' applies only to inferred columns"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], said: str) -> None:
    given = {"bootstrap.servers": "localhost:9092", "topic": "t", "schema_sample": 100, **options}
    with pytest.raises(UsageError, match=said):
        KafkaSource(options_of(KafkaSource, {key: value for key, value in given.items() if value is not None}))


def test_a_streaming_job_declares_its_columns() -> None:
    with pytest.raises(UsageError, match="'schema_sample': a streaming job requires declared columns"):
        made().run_in(streaming=True)


@pytest.mark.servers
@pytest.mark.xdist_group("kafka")
@pytest.mark.timeout(600)
class TestOnABroker:
    @pytest.fixture(autouse=True)
    def small_ranges(self, broker: Kafka, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(of_source, "LEAST_OFFSETS", 4)
        self.broker = broker

    def sent(self, topic: str, rows: Sequence[Any], partitions: int) -> None:
        self.broker.topic(topic, partitions=partitions)
        for partition in range(partitions):
            some = [json.dumps(row).encode() for row in rows[partition::partitions]]
            if some:
                self.broker.send(topic, some, partition=partition)

    def rows(self, topic: str, parallelism: int = 2, **more: Any) -> tuple[dict[str, Any], list[Any]]:
        of = made(**{"bootstrap.servers": self.broker.servers, "topic": topic, "start_mode": "earliest", **more})
        of.run_in(streaming=False)
        planned = plan(of, PlanningContext(parallelism=parallelism))
        return {each.table: each.columns for each in planned.schemas}, sorted(map(repr, read(of, planned)))

    def test_any_order_partitions_and_parallelism_give_the_same_table(self) -> None:
        odd = [*ROWS, {"id": 2.5, "note": "n"}, {"to": None, "tags": None}]
        found = []
        for number, (partitions, parallelism) in enumerate([(1, 1), (3, 2), (2, 4)]):
            shuffled = random.Random(number).sample(odd, len(odd))
            self.sent(f"same{number}", shuffled, partitions)
            columns, rows = self.rows(f"same{number}", parallelism, schema={"table": "orders"})
            found.append((columns["orders"], rows))
        assert found[0] == found[1] == found[2]
        assert len(found[0][1]) == len(odd)

    def test_lists_are_child_tables_with_the_ids_of_their_rows(self) -> None:
        self.sent("nested", ROWS, 2)
        first = self.rows("nested", nesting="tables", column_names="safe")
        assert list(first[0]) == ["nested", "nested__tags"]
        assert first[0]["nested"].names == ["_row_id", "id", "to__city"]
        assert len(first[1]) == 30 + sum(number % 3 for number in range(30))
        assert self.rows("nested", 4, nesting="tables", column_names="safe") == first

    def test_a_topic_without_messages_gives_nothing(self) -> None:
        self.sent("empty", [], 2)
        assert self.rows("empty") == ({}, [])
