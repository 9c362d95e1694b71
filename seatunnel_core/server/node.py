"""Process of a node: sockets, servers and agent."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import ssl
from collections.abc import Callable
from typing import Any

from attrs import evolve

from seatunnel_core.control.private_files import accessible_to_others, is_changeable_by_others
from seatunnel_core.errors import PlatformError, UsageError
from seatunnel_core.installing import install_command
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.worker import WorkerAgent
from seatunnel_core.server.discovery.joining import Joining, named_in
from seatunnel_core.server.discovery.own_address import is_loopback
from seatunnel_core.server.discovery.storage_probe import StorageProbe, storage_probes
from seatunnel_core.server.discovery.zookeeper import registered
from seatunnel_core.server.logs.log_files import LogFiles
from seatunnel_core.server.rest.access import AuthPolicy
from seatunnel_core.server.rest.application import application
from seatunnel_core.server.state.location import open_store
from seatunnel_core.server.state.newest_seen import NewestSeenStore
from seatunnel_core.server.state.store import ClusterStore
from seatunnel_core.server.transport.descriptors import connections_per_port, log_limit, raise_limit
from seatunnel_core.server.transport.http_config import HttpConfig
from seatunnel_core.server.transport.listening import Port, http_server, listening, rest_ports
from seatunnel_storage_api.links import require_own_links

logger = logging.getLogger("seatunnel.cluster")


def run_node(config: NodeConfig, *, on_ready: Callable[[str, str], None] = lambda _address, _page: None) -> None:
    """Run a node until SIGTERM or SIGINT.

    ``on_ready`` is called when the node listens, with its address and the URL of its web page (empty if there is none).

    Raises:
        UsageError: Ports are in use, the configuration is invalid, or the log path contains another user's link.
        PlatformError: The extra ``cluster`` is not installed.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise PlatformError(
            f"a node of a cluster needs another package ({error}): {install_command('cluster')}"
        ) from error
    _require_own_logs(config)
    with contextlib.ExitStack() as resources:
        member = resources.enter_context(listening(config.bind, config.port, tries=config.port_count))
        address = f"{config.host}:{config.public_port or member.getsockname()[1]}"
        rest = resources.enter_context(rest_ports(config.http))
        store: NewestSeenStore | None = None
        probes: dict[str, StorageProbe] = {}
        if config.role.leads:
            store = NewestSeenStore(_open_store(config))
            logger.info("node %s of cluster %r stores its state in %s", address, config.cluster, store.describe())
            probes = resources.enter_context(storage_probes(config))
        else:
            logger.info("node %s of cluster %r stores no state", address, config.cluster)
        joining = Joining(config, address, probes)
        in_zookeeper = resources.enter_context(registered(config, address, joining.meet_newcomers))
        config = evolve(config, members=(*config.members, *in_zookeeper))
        asyncio.run(_serve(config, store, joining, member, rest, on_ready))


async def _serve(
    config: NodeConfig,
    store: NewestSeenStore | None,
    joining: Joining,
    member: socket.socket,
    rest: tuple[Port, ...],
    on_ready: Callable[[str, str], None],
) -> None:
    address = joining.address
    agent = WorkerAgent(config, address) if store is None else Agent(config, store, address)
    joining.knows = agent.describe
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, agent.stop)
    servers = _servers(config, agent, joining, member, rest)
    tasks = [asyncio.create_task(server._serve(sockets=[listener])) for server, listener in servers]
    logs = asyncio.create_task(LogFiles(config.logs, config.history_s).watch())
    try:
        await loop.run_in_executor(None, _join, config, store, joining)
        gc.collect()
        gc.freeze()  # these objects live as long as the process: exclude them from garbage collection
        on_ready(address, _page_of(config, rest))
        await agent.run()
    finally:
        logs.cancel()
        for server, _ in servers:
            server.should_exit = server.force_exit = True
        await asyncio.gather(*tasks, return_exceptions=True)
        await agent.close(with_host=True)


def _page_of(config: NodeConfig, rest: tuple[Port, ...]) -> str:
    """Return the URL of the web page; empty if no port serves it."""
    if not rest:
        return ""
    port, bind = rest[-1], config.http.bind
    host = config.host if bind in ("0.0.0.0", "::") else f"[{bind}]" if ":" in bind else bind
    return f"{'https' if port.tls else 'http'}://{host}:{port.number}{config.http.context_path}/"


def _join(config: NodeConfig, store: NewestSeenStore | None, joining: Joining) -> None:
    """Introduce this node to all live members that are known from the configuration, ZooKeeper and the state."""
    met = joining.ask_all([*config.members, *(() if store is None else named_in(store.observe()))])
    if store is not None:
        joining.version = lambda: store.newest
        for each in met:
            store.remember(each.version)
    if met:
        logger.info("met %s", ", ".join(f"{each.address} ({each.role})" for each in met))


def _open_store(config: NodeConfig) -> ClusterStore:
    return open_store(
        config.engine,
        config.hazelcast_file,
        config.cluster,
        metadata_url=config.metadata_url,
        answer_s=config.timing.lease_s,
    )


def _servers(
    config: NodeConfig, agent: Any, joining: Joining, member: socket.socket, rest: tuple[Port, ...]
) -> list[tuple[Any, socket.socket]]:
    _warn_of_readers(config)
    at_member = AuthPolicy(local=is_loopback(config.bind))
    limit = raise_limit()
    most = connections_per_port(limit, 1 + len(rest))
    log_limit(limit, most)
    servers = [(http_server(application(agent, signed=True, policy=at_member, joining=joining), most=most), member)]
    for port in rest:
        served = application(agent, signed=False, policy=_policy(config.http, port))
        servers.append((http_server(served, port.tls, most=most), port.socket))
    return servers


def _require_own_logs(config: NodeConfig) -> None:
    """Raise UsageError if the path of the log folder contains a symbolic link that another user owns."""
    try:
        require_own_links(str(config.logs))
    except OSError as error:
        raise UsageError(f"this node cannot write its logs to {config.logs}: {error}") from error


def _warn_of_readers(config: NodeConfig) -> None:
    """Warn about logs that other users can read or replace. For the state, the storages themselves log warnings."""
    if config.logs.is_dir() and is_changeable_by_others(config.logs):
        logger.warning("other users may replace logs in %s: make it a folder to which only your user can write, "
                       "with: chown $USER %s; chmod go-w %s", config.logs, config.logs, config.logs)  # fmt: skip
    logs = sorted(config.logs.iterdir()) if config.logs.is_dir() else []
    if accessible_to_others([config.logs]) and (found := accessible_to_others(logs)):
        logger.warning("other users may access logs, for example %s: remove their access with: chmod -R go= %s",
                       found[0], config.logs)  # fmt: skip


def _policy(http: HttpConfig, port: Port) -> AuthPolicy:
    verified = port.tls is not None and port.tls.verify_mode is ssl.CERT_REQUIRED
    return AuthPolicy(local=http.is_local, verified=verified, prefix=http.context_path)
