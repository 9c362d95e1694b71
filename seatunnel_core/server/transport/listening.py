"""The ports of a node, and the servers behind them."""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from seatunnel_core.errors import UsageError
from seatunnel_core.server.transport.descriptors import MOST_CONNECTIONS
from seatunnel_core.server.transport.gate import Gate
from seatunnel_core.server.transport.http_config import HttpConfig
from seatunnel_core.server.transport.key_store import server_context

logger = logging.getLogger("seatunnel.cluster")


@frozen(kw_only=True)
class Port:
    """A listening port."""

    socket: socket.socket
    tls: ssl.SSLContext | None = None
    """TLS context; ``None`` for plain HTTP."""

    @property
    def number(self) -> int:
        """Port number."""
        return int(self.socket.getsockname()[1])


def listening(host: str, port: int, *, tries: int = 1, hint: str = "") -> socket.socket:
    """Return a socket that listens on the first free port, with Nagle's algorithm off. Errors end with ``hint``."""
    problem: OSError | None = None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + tries - 1, 65_535)
    for number in range(port, last + 1):
        try:
            made = socket.create_server((host, number), family=family, backlog=128, dualstack_ipv6=host == "::")
        except OSError as error:
            problem = error
            continue
        # Accepted connections inherit it: a response's body follows its headers at once, not 40 ms later.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    raise UsageError(f"no port from {port} to {last} of {host} is free: {problem}{hint}")


@contextlib.contextmanager
def rest_ports(config: HttpConfig) -> Iterator[tuple[Port, ...]]:
    """Open the ports of REST v2, and close them on exit."""
    hint = "" if config.port_count > 1 else ". http.enable-dynamic-port: true tries the next ports"
    with contextlib.ExitStack() as resources:
        found: list[Port] = []
        for number, is_tls in ((config.port, False), (config.https_port, True)):
            if number is None:
                continue
            tls = server_context(config) if is_tls else None
            bound = resources.enter_context(listening(config.bind, number, tries=config.port_count, hint=hint))
            found.append(Port(socket=bound, tls=tls))
            scheme = "https" if is_tls else "http"
            logger.info("REST v2 listens on %s://%s:%d%s", scheme, config.bind, found[-1].number, config.context_path)
        yield tuple(found)


def _is_fault(record: logging.LogRecord) -> bool:
    """Return True if a log record of ``uvicorn`` is an error of this node, not a warning about a client or shutdown."""
    if record.levelno < logging.ERROR:
        return False
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


def http_server(application: Any, tls: ssl.SSLContext | None = None, *, most: int = MOST_CONNECTIONS) -> Any:
    """Return a ``uvicorn`` server for a listening socket; ``most`` is the maximum number of accepted connections."""
    import uvicorn

    from seatunnel_core.server.transport.bounded_http import BoundedHttp, BoundedServer

    config = uvicorn.Config(
        application,
        http=BoundedHttp,
        ws="none",
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # any local process could forge the client's address
        timeout_keep_alive=30,
        server_header=False,
    )
    config.load()
    config.ssl = tls
    logging.getLogger("uvicorn.error").addFilter(_is_fault)
    return BoundedServer(config, Gate(most))
