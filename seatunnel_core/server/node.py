"""The process of a node: its sockets, its servers and its agent."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any

from attrs import evolve

from seatunnel_core.errors import PlatformError, UsageError
from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.agent.log_files import LogFiles
from seatunnel_core.server.agent.node_config import NodeConfig
from seatunnel_core.server.agent.worker import WorkerAgent
from seatunnel_core.server.discovery.joining import Joining, named_in
from seatunnel_core.server.discovery.storage_probe import StorageProbe, storage_probes
from seatunnel_core.server.discovery.zookeeper import registered
from seatunnel_core.server.rest.application import application
from seatunnel_core.server.state.location import open_store
from seatunnel_core.server.state.store import ClusterStore

logger = logging.getLogger("seatunnel.cluster")


def listening(host: str, port: int, *, tries: int = 1) -> socket.socket:
    """Return a socket that listens on the first free port, and sends what is written without waiting for more.

    Raises:
        UsageError: none of them is free.
    """
    problem: OSError | None = None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in range(port, port + tries):
        try:
            made = socket.create_server((host, number), family=family, backlog=128, dualstack_ipv6=host == "::")
        except OSError as error:
            problem = error
            continue
        # Connections have it from here: an answer's body goes out behind its headers, not 40 ms later.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made
    raise UsageError(f"no port from {port} to {port + tries - 1} of {host} is free: {problem}")


def run_node(config: NodeConfig, *, on_ready: Callable[[str], None] = lambda _: None) -> None:
    """Run a node until it is told to end by SIGTERM or SIGINT.

    Args:
        config: of the node.
        on_ready: called with the node's address when it listens.

    Raises:
        UsageError: its ports are taken, or its configuration cannot work.
        PlatformError: the extra ``cluster`` is not installed.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise PlatformError(
            f"a node of a cluster needs more ({error}): pip install 'seatunnel-core[cluster]'"
        ) from error
    with contextlib.ExitStack() as resources:
        member = resources.enter_context(listening(config.bind, config.port, tries=config.port_count))
        address = f"{config.host}:{config.public_port or member.getsockname()[1]}"
        rest: socket.socket | None = None
        if config.http_port is not None:
            rest = resources.enter_context(listening("127.0.0.1", config.http_port, tries=config.port_count))
            logger.info("REST v2 listens on 127.0.0.1:%d", rest.getsockname()[1])
        store: ClusterStore | None = None
        probes: dict[str, StorageProbe] = {}
        if config.role.leads:
            store = _open_store(config)
            logger.info(
                "the node %s of the cluster %r keeps its state in %s", address, config.cluster, store.describe()
            )
            probes = resources.enter_context(storage_probes(config))
        else:
            logger.info("the worker %s of the cluster %r keeps no state", address, config.cluster)
        joining = Joining(config, address, probes)
        in_zookeeper = resources.enter_context(registered(config, address, joining.meet_newcomers))
        config = evolve(config, members=(*config.members, *in_zookeeper))
        asyncio.run(_serve(config, store, joining, member, rest, uvicorn, on_ready))


async def _serve(
    config: NodeConfig,
    store: ClusterStore | None,
    joining: Joining,
    member: socket.socket,
    rest: socket.socket | None,
    uvicorn: Any,
    on_ready: Callable[[str], None],
) -> None:
    address = joining.address
    agent = WorkerAgent(config, address) if store is None else Agent(config, store, address)
    joining.knows = agent.describe
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, agent.stop)
    servers = [(uvicorn.Server(_settings(uvicorn, agent, joining, signed=True)), member)]
    if rest is not None:
        servers.append((uvicorn.Server(_settings(uvicorn, agent, joining, signed=False)), rest))
    tasks = [asyncio.create_task(server._serve(sockets=[listener])) for server, listener in servers]
    logs = asyncio.create_task(LogFiles(config.logs, config.history_s).watch())
    try:
        await loop.run_in_executor(None, _join, config, store, joining)
        on_ready(address)
        await agent.run()
    finally:
        logs.cancel()
        for server, _ in servers:
            server.should_exit = server.force_exit = True
        await asyncio.gather(*tasks, return_exceptions=True)
        await agent.close(with_host=True)


def _join(config: NodeConfig, store: ClusterStore | None, joining: Joining) -> None:
    """Meet the members that live: those that are known by a list or by ZooKeeper, and those that the state names.

    Raises:
        JoinRefusedError: one of them and this node are not of one cluster.
    """
    met = joining.ask_all([*config.members, *(() if store is None else named_in(store.look()))])
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


def _settings(uvicorn: Any, agent: Any, joining: Joining, *, signed: bool) -> Any:
    return uvicorn.Config(
        application(agent, signed=signed, joining=joining),
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_keep_alive=30,
        limit_concurrency=1_000,
        server_header=False,
    )
