"""The sink and the source ``Redis`` on a real server by the kits: staging, repeated commits, kills, fences, splits."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import SinkConformance, SourceConformance
from seatunnel_core.connectors.redis.sink import RedisSink
from seatunnel_core.connectors.redis.source import RedisSource
from tests.servers.redis_server import RedisServer

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("redis")]


class TestSinkByTheKit(SinkConformance):
    sink_class = RedisSink

    @pytest.fixture(autouse=True)
    def target(self, server: RedisServer) -> Iterator[None]:
        self.server = server
        with server.client() as self.client:
            yield

    def options(self) -> Mapping[str, Any]:
        return {k: v for k, v in self.server.options(key="people", data_type="list").items() if v is not None}

    def visible(self) -> Sequence[Mapping[str, Any]]:
        return [json.loads(row) for row in self.client.lrange("people", 0, -1)]

    def staged(self) -> int:
        return sum(1 for key in self.client.scan_iter("seatunnel:*:rows:*"))

    def elsewhere(self) -> Mapping[str, Any]:
        return {**self.options(), "db_num": 1}

    def lose(self) -> bool:
        self.client.flushall()
        return True


class TestSourceByTheKit(SourceConformance):
    source_class = RedisSource

    @pytest.fixture(autouse=True)
    def data(self, server: RedisServer) -> None:
        self.server = server
        with server.client() as client:
            for number in range(200):
                client.hset(f"user:{number}", mapping={"id": number, "name": f"name {number}"})
            client.set("other", "1")
            client.set("seatunnel:{job:1:0}:epoch", "1")

    def options(self) -> Mapping[str, Any]:
        schema = {"fields": {"id": "bigint", "name": "string"}}
        return self.server.options(keys="user:*", data_type="hash", schema=schema, batch_size=7)

    def expected(self) -> Sequence[Mapping[str, Any]]:
        return [{"id": number, "name": f"name {number}"} for number in range(200)]
