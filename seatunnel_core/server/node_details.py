"""Details of a node: processes, JVMs, threads, and the configuration with secrets masked."""

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from seatunnel_core.planning.plan_record import shown_options
from seatunnel_core.reporting.rest_text import project_version
from seatunnel_core.server.agent.node_agent import NodeAgent
from seatunnel_core.server.threads import thread_dump
from seatunnel_storage_api.secret import shown

TARGET = "/internal/v1/node"

_MEASURED = ("jvm_", "process_")
"""Name prefixes of process metrics."""


async def node_details(agent: NodeAgent) -> dict[str, Any]:
    """Return the details of this node as JSON values. Also works for agents of worker nodes."""
    config, engine = agent.config, agent.config.engine
    samples = [each for each in await agent.figures.samples() if each.family.startswith(_MEASURED)]
    return {
        "address": agent.address,
        "role": config.role.value,
        "version": project_version(),
        "cluster": config.cluster,
        "leads": bool(agent.describe()["leads"]),
        "pid": os.getpid(),
        "timeZone": time.strftime("UTC%z"),
        "metrics": [[f"{each.family}{each.suffix}", dict(each.labels), each.value] for each in samples],
        "files": {
            "seatunnel.yaml": str(engine.file or ""),
            "hazelcast.yaml": str(config.hazelcast_file or ""),
            "logs": str(config.logs),
        },
        "configuration": shown_options(engine.options),
        "storage": {"type": engine.storage.type, **_masked(engine.storage.plugin_config)},
        "tags": dict(config.attributes),
    }


def _masked(given: Any) -> dict[str, str]:
    return {str(key): shown(str(key), str(value)) for key, value in given.items()}


async def node_threads(agent: NodeAgent) -> list[dict[str, Any]]:
    """Return the threads of this node's agent and worker processes."""
    found = [{**each, "process": f"agent {os.getpid()}"} for each in thread_dump()]
    for answer in await agent.ask_hosts({"do": "threads"}):
        found += [{**each, "process": f"host {answer['pid']}"} for each in answer["threads"]]
    return found


OWN: Mapping[str, Callable[[NodeAgent], Awaitable[Any]]] = {"details": node_details, "threads": node_threads}
"""Functions that return information about this node, keyed by request name."""
