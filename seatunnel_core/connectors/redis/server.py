"""Connections to a Redis server or cluster, and classification of its errors."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from attrs import field, frozen

from seatunnel_core.connector_api.errors import ConnectorError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.redis import options as opt

OWN = b"seatunnel:{"
"""Prefix of keys for the state of sinks, which the source skips."""

_MEANINGS = (
    ("Authentication|NOAUTH|WRONGPASS", False, "check user and auth"),
    ("NoPermission|NOPERM|The user executing the script", False, "allow the user these commands and keys"),
    ("ReadOnly|READONLY", True, "the server is a read-only replica: use the address of the primary"),
    ("OutOfMemory|OOM", True, "raise maxmemory of the server, or remove keys"),
    ("WRONGTYPE", False, "the type of the key does not match data_type: choose different keys, or change data_type"),
    ("CERTIFICATE|SSL: WRONG|No such file|PEM lib", False, "check ssl, ssl_ca_certs, ssl_certfile and ssl_keyfile"),
    ("BUSY|MASTERDOWN|MasterDown", True, "wait until the server responds again"),
    (
        "Connection|Timeout|Loading|Cluster|TryAgain|MISCONF|NOREPLICAS",
        True,
        "check that the server is running, and check the option ssl",
    ),
    ("", False, "check the options"),
)
"""Patterns of error names and messages, each with advice and a flag (True if a retry may succeed)."""


@frozen(kw_only=True)
class Server:
    """Address of a server or cluster, with credentials; picklable."""

    nodes: tuple[tuple[str, int], ...]
    cluster: bool
    settings: tuple[tuple[str, Any], ...] = field(repr=False)
    caller: str = field(default="", eq=False)
    """Pipeline and sink, for messages: ``pipeline 1, sink Redis: ``."""

    @classmethod
    def of(cls, options: Options) -> "Server":
        """Return the server that the options describe."""
        cluster = options[opt.MODE] == "cluster"
        needed = opt.NODES if cluster else opt.HOST
        if not options[needed]:
            raise UsageError(f"option {needed.key!r} is missing; mode = {options[opt.MODE]} requires it")
        if cluster and options[opt.DB_NUM]:
            raise UsageError("option 'db_num': a cluster has only database 0")
        settings = {"username": options[opt.USER], "password": options[opt.AUTH], "ssl": options[opt.SSL]}
        settings |= {option.key: options[option] for option in opt.TLS} if options[opt.SSL] else {}
        nodes = tuple(map(_node, options[opt.NODES])) if cluster else ((options[opt.HOST], options[opt.PORT]),)
        settings |= {} if cluster else {"db": options[opt.DB_NUM]}
        return cls(nodes=nodes, cluster=cluster, settings=tuple(settings.items()))

    def __str__(self) -> str:
        return f"{self.caller}Redis at " + ", ".join(f"{host}:{port}" for host, port in self.nodes)

    @contextmanager
    def client(self, kind: Callable[[str], ConnectorError]) -> Iterator[Any]:
        """Yield this process's client, and convert its errors to ``kind``."""
        import redis

        try:
            yield _client(self)
        except (redis.RedisError, redis.exceptions.RedisClusterException) as error:
            raise self.failed(kind, error) from None

    def failed(self, kind: Callable[[str], ConnectorError], error: Exception | str, where: str = "") -> Any:
        """Convert an error of the server to ``kind``, with advice; ``where`` contains the key."""
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        _, retryable, advice = next(meaning for meaning in _MEANINGS if re.search(meaning[0], text))
        found = kind(f"{self}: {where}{text.removeprefix('ResponseError: ')}; {advice}")
        found.retryable = retryable
        return found


@lru_cache(maxsize=8)
def _client(server: Server) -> Any:
    """Return a client without retries, because requests that have reached the server must not be executed twice."""
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    settings = {**dict(server.settings), "socket_connect_timeout": 10, "socket_timeout": 60}
    settings |= {"retry": Retry(NoBackoff(), 0), "protocol": 2}  # Redis 5 has no protocol 3
    if server.cluster:
        node: Any = redis.cluster.ClusterNode
        return redis.RedisCluster(startup_nodes=[node(*each) for each in server.nodes], **settings)
    return redis.Redis(*server.nodes[0], **settings)


def _node(written: str) -> tuple[str, int]:
    host, _, port = written.strip().rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"option 'nodes': expected host:port, found {written!r}")
    return host.strip("[]"), int(port)
