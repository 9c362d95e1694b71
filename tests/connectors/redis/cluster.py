"""A Redis Cluster of one node that serves all slots."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.servers.process import free_port
from tests.servers.redis_server import RedisServer


@contextmanager
def whole_cluster() -> Iterator[RedisServer]:
    # The port for other nodes is 10,000 above by default, where the system gives ports to any client.
    settings = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--databases", "1")
    server = RedisServer(settings=settings, password="")
    server.start()
    try:
        with server.client() as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            deadline = time.monotonic() + 30
            while client.cluster("INFO")["cluster_state"] != "ok":
                assert time.monotonic() < deadline
                time.sleep(0.01)
        yield server
    finally:
        server.stop()


def there(server: RedisServer) -> dict[str, Any]:
    """Options of the source and the sink."""
    return {"mode": "cluster", "nodes": [f"127.0.0.1:{server.port}"]}
