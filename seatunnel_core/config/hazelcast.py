"""``hazelcast.yaml`` and ``hazelcast-client.yaml``: the processes of a cluster, in SeaTunnel's format.

The nodes and clients of a cluster read them from files of their own. In the engine's file they are checked, with a
warning that they have no effect there. The ``map:`` block beside them belongs to the map store.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from seatunnel_core.config.document import Block, Entry
from seatunnel_core.config.file import load
from seatunnel_core.config.option import BOOLEAN, MAP, STRING, Option, OptionType, within
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, Unknown, validate
from seatunnel_core.config.variables import Variables

CLUSTER = "hazelcast"
CLIENT = "hazelcast-client"

_PORT = within(1, 65_535)
_RANGE = re.compile(r"(\d{1,3}\.\d{1,3}\.\d{1,3})\.(\d{1,3})-(\d{1,3})")
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\]")


@frozen
class Member:
    """The address of a process of the cluster."""

    host: str
    port: int | None = None
    """``None``: the cluster's port, and those behind it."""

    def __str__(self) -> str:
        return self.host if self.port is None else f"{self.host}:{self.port}"


@frozen(kw_only=True)
class ClusterConfig:
    """The ``hazelcast`` block."""

    name: str
    tcp_ip: bool
    """Whether members are found by the list below, the one way of SeaTunnel's documentation."""

    members: tuple[Member, ...]
    """Ranges written out, in the order of the file."""

    port: int
    auto_increment: bool
    """Whether a process whose port is taken tries the next ones."""

    properties: Mapping[str, str]


@frozen(kw_only=True)
class ClientConfig:
    """The ``hazelcast-client`` block."""

    cluster_name: str
    members: tuple[Member, ...]
    properties: Mapping[str, str]


def members(written: Any) -> tuple[Member, ...]:
    """Return the members of a list, or of a text with commas: ``host``, ``host:port`` and ranges like ``10.0.0.1-7``.

    Raises:
        ValueError: one of them is not an address.
    """
    parts = written if isinstance(written, list | tuple) else str(written).split(",")
    texts = [str(part).strip() for part in parts if part is not None]
    return tuple(member for text in texts if text for member in _member(text))


def _member(text: str) -> Iterator[Member]:
    host, colon, port = text, "", ""
    if not text.endswith("]"):
        before, colon, after = text.rpartition(":")
        host, port = (before, after) if colon else (text, "")
    number = _PORT.parse(port) if colon else None
    found = _RANGE.fullmatch(host)
    if found is not None:
        first, last = int(found[2]), int(found[3])
        if not first <= last <= 255:
            raise ValueError(f"expected a range of addresses such as 192.168.1.0-7, found {text!r}")
        yield from (Member(f"{found[1]}.{last_part}", number) for last_part in range(first, last + 1))
    elif _HOST.fullmatch(host):
        yield Member(host, number)
    else:
        raise ValueError(f"expected host, host:port or a range such as 192.168.1.0-7, found {text!r}")


_MEMBERS = OptionType(name="list of addresses", parse=members, textual=True)

NAME = Option("cluster-name", STRING, default="seatunnel", doc="Processes of another name are not of this cluster.")
TCP_IP = Option("network.join.tcp-ip.enabled", BOOLEAN, default=False, doc="Whether members are found by their list.")
MEMBER_LIST = Option("network.join.tcp-ip.member-list", _MEMBERS, default=(), doc="The members.")
MEMBERS = Option("network.join.tcp-ip.members", _MEMBERS, default=(), doc="The members, in one text with commas.")
PORT = Option("network.port.port", _PORT, default=5801, doc="The port of each process.")
AUTO_INCREMENT = Option("network.port.auto-increment", BOOLEAN, default=True, doc="Whether the next ports are tried.")
PROPERTIES = Option("properties", MAP, doc="What Hazelcast itself is told; this engine does without it.")
CLUSTER_MEMBERS = Option("network.cluster-members", _MEMBERS, default=(), doc="The processes that a client may ask.")

CLUSTER_OPTIONS: tuple[Option[Any], ...] = (NAME, TCP_IP, MEMBER_LIST, MEMBERS, PORT, AUTO_INCREMENT, PROPERTIES)
CLIENT_OPTIONS: tuple[Option[Any], ...] = (NAME, CLUSTER_MEMBERS, PROPERTIES)


def read_cluster(block: Block, problems: Problems) -> ClusterConfig:
    """Return the cluster that a ``hazelcast`` block describes."""
    own = Block(tuple(entry for entry in block if entry.key != "map"), block.position)
    options = validate(own, CLUSTER_OPTIONS, BlockRules(what=CLUSTER, unknown=Unknown.LENIENT), problems).options
    return ClusterConfig(
        name=options[NAME],
        tcp_ip=options[TCP_IP],
        members=tuple(dict.fromkeys((*options[MEMBER_LIST], *options[MEMBERS]))),
        port=options[PORT],
        auto_increment=options[AUTO_INCREMENT],
        properties=options[PROPERTIES] or {},
    )


def read_client(block: Block, problems: Problems) -> ClientConfig:
    """Return the cluster that a ``hazelcast-client`` block names."""
    options = validate(block, CLIENT_OPTIONS, BlockRules(what=CLIENT, unknown=Unknown.LENIENT), problems).options
    return ClientConfig(
        cluster_name=options[NAME], members=options[CLUSTER_MEMBERS], properties=options[PROPERTIES] or {}
    )


def note_cluster(entry: Entry, problems: Problems) -> ClusterConfig | ClientConfig | None:
    """Read the block of a cluster, and warn that it has no effect in this file."""
    if not isinstance(entry.value, Block):
        problems.error(f"{entry.key!r} takes a block", entry.position)
        return None
    problems.warn(
        f"{entry.key!r} describes a cluster, whose nodes and clients read it from {entry.key}.yaml; here it has no "
        "effect: a job runs in the process that starts it",
        entry.position,
    )
    return read_cluster(entry.value, problems) if entry.key == CLUSTER else read_client(entry.value, problems)


def load_hazelcast(path: Path, problems: Problems) -> ClusterConfig | ClientConfig | None:
    """Return the cluster that a separate file describes; ``None`` when it describes none.

    Raises:
        ConfigError: the file cannot be read.
    """
    entries = [entry for entry in load(path, Variables(by_argument=False), problems) if entry.key in (CLUSTER, CLIENT)]
    return note_cluster(entries[0], problems) if entries else None
