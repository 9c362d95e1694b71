"""Topics of Kafka as the targets of a tortured job, of its own each: read without the engine's code."""

import datetime as dt
import decimal
import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import frozen

from tests.servers.kafka import Kafka
from tests.servers.shared import shared
from tests.torture.databases.tables import Table, differing
from tests.torture.job import Target, files_below

_SINK = """
  Kafka {{
    plugin_input = "{name}"
    bootstrap.servers = "{servers}"
    topic = "{topic}"
    semantics = EXACTLY_ONCE
    staging_path = "{folder}"
    {more}
  }}
"""
PARTITIONS = 2
_FEW = 100


def server() -> Kafka:
    return shared(Kafka)


@frozen(kw_only=True)
class KafkaTarget(Target):
    """One topic. Rows wait in ``folder``."""

    format: str = "kafka"

    @property
    def topic(self) -> str:
        return f"torture-{hashlib.sha256(str(self.folder).encode()).hexdigest()[:12]}-{self.folder.name}"

    def block(self, source: str) -> str:
        return _SINK.format(name=source, servers=server().servers, topic=self.topic, folder=self.folder, more=self.more)

    def published(self) -> set[str]:
        """A name for every few messages that readers may see: fewer while a broker looks for its partitions."""
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        asked = {TopicPartition(self.topic, number): OffsetSpec.latest() for number in range(PARTITIONS)}
        found = server().admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=30)
        ends = {place.partition: _end(future) for place, future in found.items()}
        return {f"{self.topic}-{number}-{at}" for number, end in ends.items() for at in range(0, end, _FEW)}

    def differences(self) -> str:
        rows = [json.loads(value, parse_float=decimal.Decimal) for value in server().values(self.topic)]  # type: ignore[arg-type]
        columns = self.table.columns
        arrays = [
            pa.array([_value(row.get(column.name), column.type) for row in rows], column.type) for column in columns
        ]
        return differing(self.table, pa.table(arrays, columns))

    def staged(self) -> set[str]:
        return {os.path.basename(path) for path in files_below(self.folder / ".seatunnel")}


def _end(asked: Future[Any]) -> int:
    from confluent_kafka import KafkaError, KafkaException

    try:
        return int(asked.result(30).offset)
    except KafkaException as error:
        if error.args[0].code() in (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE):
            return 0
        raise


def _value(found: Any, kind: pa.DataType) -> Any:
    if isinstance(found, str) and pa.types.is_timestamp(kind):
        return dt.datetime.fromisoformat(found)
    if isinstance(found, int | decimal.Decimal) and pa.types.is_floating(kind):
        return float(found)
    return decimal.Decimal(found) if found is not None and pa.types.is_decimal(kind) else found


def kafka_targets(out: Path, tables: Sequence[Table]) -> list[Target]:
    """A topic for each of the job's tables, two for the first one."""
    targets: list[Target] = []
    for table in tables:
        for name in (table.name, f"{table.name}-again") if table.name == "letters" else (table.name,):
            target = KafkaTarget(table=table, folder=out / name)
            server().topic(target.topic, partitions=PARTITIONS)
            targets.append(target)
    return targets
