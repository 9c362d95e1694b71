"""Outline of a job that is built in code: its nodes without options, because options may be secret."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seatunnel_core.config.job_file import Kind
from seatunnel_core.quantity import pick
from seatunnel_core.reporting.html import section, table

Node = tuple[Kind, str, Mapping[str, Any]]
"""Kind, plugin and options of a node; the options include ``name`` and ``plugin_input``."""


def in_short(nodes: Iterable[Node]) -> str:
    """Return the number of nodes of each kind, such as ``1 source, 2 sinks``."""
    kinds = [kind for kind, _, _ in nodes]
    return ", ".join(pick(kinds.count(kind), kind.value) for kind in Kind if kind in kinds) or "no nodes yet"


def as_html(title: str, nodes: Sequence[Node]) -> str:
    """Return the nodes as a table, in the order in which they were added."""
    rows = [
        (kind.value, str(options["name"]), plugin, ", ".join(options.get("plugin_input", ())))
        for kind, plugin, options in nodes
    ]
    return section(title, table(("node", "name", "plugin", "rows of"), rows, numbers_from=4))


def leading_to(name: str, nodes: Sequence[Node]) -> list[Node]:
    """Return the node with this name and all its upstream nodes, upstream first."""
    wanted = {name}
    found: list[Node] = []
    for node in reversed(nodes):  # nodes are added after their inputs
        options = node[2]
        if options["name"] in wanted:
            wanted.update(options.get("plugin_input", ()))
            found.append(node)
    return found[::-1]
