"""A source ``Kafka`` of a broker, and messages for it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.kafka.source import KafkaSource
from tests.servers.kafka import Kafka

SCHEMA = {"fields": {"id": "bigint", "name": "string"}}


@frozen
class Message:
    """A message as the client returns it, without a broker."""

    value_: bytes | None
    offset_: int = 7

    def value(self) -> bytes | None:
        return self.value_

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return self.offset_


def source(broker: Kafka, topic: str, **more: Any) -> KafkaSource:
    given = {"bootstrap.servers": broker.servers, "topic": topic, "start_mode": "earliest", "schema": SCHEMA, **more}
    return KafkaSource(options_of(KafkaSource, given))


def lines(rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows]
