"""Members of a cluster in ``hazelcast.yaml`` and ``hazelcast-client.yaml``, in SeaTunnel's format.

Nodes and clients of a cluster read these files. In the engine's file, the same blocks are checked, with a warning that
they have no effect. The ``map:`` block belongs to the map store.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from seatunnel_core.config.document import Block, Entry
from seatunnel_core.config.file import load
from seatunnel_core.config.option import BOOLEAN, MAP, STRING, Option, OptionType, within
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, Unknown, validate
from seatunnel_core.config.variables import Variables

CLUSTER = "hazelcast"
CLIENT = "hazelcast-client"

DEFAULT_PORT = 5801
PORTS_TRIED = 3
"""Number of ports to try for a member without a port. A process takes one of the next ports if its own is in use."""

_PORT = within(1, 65_535)
_RANGE = re.compile(r"(\d{1,3}\.\d{1,3}\.\d{1,3})\.(\d{1,3})-(\d{1,3})")
_INTERFACE = re.compile(r"(\d{1,3}|\*|\d{1,3}-\d{1,3})(\.(\d{1,3}|\*|\d{1,3}-\d{1,3})){3}")
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?|\[[0-9A-Fa-f:.]+\]")


@frozen
class Member:
    """Address of a cluster member."""

    host: str
    port: int | None = None
    """Port; ``None`` for the cluster's port and the ports after it."""

    def __str__(self) -> str:
        return self.host if self.port is None else f"{self.host}:{self.port}"


@frozen(kw_only=True)
class ClusterConfig:
    """The ``hazelcast`` block."""

    name: str
    tcp_ip: bool
    """True if the members are listed explicitly, as in SeaTunnel's documentation."""

    members: tuple[Member, ...]
    """Members in the order of the file, with ranges expanded."""

    port: int
    auto_increment: bool
    """True if a process tries the next ports when its port is in use."""

    port_count: int = 100
    """Maximum number of ports that a process tries."""

    public_address: Member | None = None
    """Address at which other members reach this process; ``None`` to detect it."""

    interfaces: tuple[str, ...] = ()
    """Patterns with ``*`` and ranges for the address that the process uses."""

    rest_api: bool = False
    """True if the member port serves REST v1."""

    properties: Mapping[str, str]

    attributes: Mapping[str, str] = field(factory=dict)
    """``member-attributes``: tags of the members that read this file."""


@frozen(kw_only=True)
class ClientConfig:
    """The ``hazelcast-client`` block."""

    cluster_name: str
    members: tuple[Member, ...]
    properties: Mapping[str, str]


def members(written: Any) -> tuple[Member, ...]:
    """Parse a list or comma-separated string of ``host``, ``host:port`` and ranges; raise ``ValueError`` if invalid."""
    parts = written if isinstance(written, list | tuple) else str(written).split(",")
    texts = [str(part).strip() for part in parts if part is not None]
    return tuple(member for text in texts if text for member in _member(text))


def addresses(listed: Iterable[Member], port: int = DEFAULT_PORT, *, auto_increment: bool = True) -> tuple[str, ...]:
    """Return the addresses at which members may listen, as ``host:port``, with the first port of each host first.

    With ``auto_increment``, members without a configured port may use one of the next ports, which are listed last.
    """
    listed = tuple(listed)
    found = [f"{each.host}:{each.port or port}" for each in listed]
    more = range(1, PORTS_TRIED if auto_increment else 1)
    found += [f"{each.host}:{port + step}" for step in more for each in listed if each.port is None]
    return tuple(dict.fromkeys(found))


def _one_member(written: Any) -> Member:
    found = members(str(written))
    if len(found) != 1:
        raise ValueError(f"expected one host or host:port, found {written!r}")
    return found[0]


def _interfaces(written: Any) -> tuple[str, ...]:
    parts = written if isinstance(written, list | tuple) else str(written).split(",")
    texts = tuple(str(part).strip() for part in parts if part is not None)
    for text in texts:
        if not _INTERFACE.fullmatch(text):
            raise ValueError(f"expected addresses such as 10.3.10.*, or 10.3.10.4-18, found {text!r}")
    return texts


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


def _attributes(written: Any) -> dict[str, str]:
    """Return attributes by name, from blocks ``name: {type, value}`` as in Hazelcast, or from ``name: value``."""
    found: dict[str, str] = {}
    for key, value in MAP.parse(written).items():
        name, _, part = key.rpartition(".")
        if not name or part not in ("type", "value"):
            found[key] = value
        elif part == "value":
            found[name] = value
    return found


_ATTRIBUTES = OptionType(name="block of attributes", parse=_attributes, textual=True, nested=True)

NAME = Option(
    "cluster-name",
    STRING,
    default="seatunnel",
    doc="Name of the cluster; processes with a different name do not belong to it.",
)
TCP_IP = Option("network.join.tcp-ip.enabled", BOOLEAN, default=False, doc="True to find members from `member-list`.")
MEMBER_LIST = Option("network.join.tcp-ip.member-list", _MEMBERS, default=(), doc="The members.")
MEMBERS = Option(
    "network.join.tcp-ip.members", _MEMBERS, default=(), doc="Members in a single string, separated by commas."
)
PORT = Option("network.port.port", _PORT, default=5801, doc="Port of each process.")
AUTO_INCREMENT = Option(
    "network.port.auto-increment", BOOLEAN, default=True, doc="Try the next ports if the port is taken."
)
PORT_COUNT = Option("network.port.port-count", within(1, 10_000), default=100, doc="Number of ports tried.")
PUBLIC_ADDRESS = Option(
    "network.public-address",
    OptionType(name="address", parse=_one_member, textual=True),
    doc="Address at which other processes reach this process.",
)
USES_INTERFACES = Option(
    "network.interfaces.enabled",
    BOOLEAN,
    default=False,
    doc="True to choose the address of the process from `network.interfaces.interfaces`.",
)
INTERFACES = Option(
    "network.interfaces.interfaces",
    OptionType(name="list of addresses", parse=_interfaces, textual=True),
    default=(),
    doc="Addresses of this machine, with `*` and ranges. The first match becomes the address of this process.",
)
REST_API = Option(
    "network.rest-api.enabled",
    BOOLEAN,
    default=False,
    doc="True to serve REST v1, `/hazelcast/rest/…`, on the member port.",
)
PROPERTIES = Option("properties", MAP, doc="Settings of Hazelcast, which this engine does not use.")
ATTRIBUTES = Option("member-attributes", _ATTRIBUTES, doc="Tags of the members; jobs can select members by tag.")
CLUSTER_MEMBERS = Option(
    "network.cluster-members", _MEMBERS, default=(), doc="Addresses of the cluster members that a client connects to."
)

CLUSTER_OPTIONS: tuple[Option[Any], ...] = (
    *(NAME, TCP_IP, MEMBER_LIST, MEMBERS, PORT, AUTO_INCREMENT, PORT_COUNT, PUBLIC_ADDRESS),
    *(USES_INTERFACES, INTERFACES, REST_API, ATTRIBUTES, PROPERTIES),
)
CLIENT_OPTIONS: tuple[Option[Any], ...] = (NAME, CLUSTER_MEMBERS, PROPERTIES)


_RULES = BlockRules(
    what=CLUSTER,
    unknown=Unknown.LENIENT,
    noted={"network.rest-api.endpoint-groups": "rest-api.enabled enables all of REST v1"},
)


def read_cluster(block: Block, problems: Problems) -> ClusterConfig:
    """Return the cluster described by a ``hazelcast`` block."""
    own = Block(tuple(entry for entry in block if entry.key != "map"), block.position)
    options = validate(own, CLUSTER_OPTIONS, _RULES, problems).options
    listed = tuple(dict.fromkeys((*options[MEMBER_LIST], *options[MEMBERS])))
    if listed and not options[TCP_IP]:
        problems.warn("the member-list has no effect, because tcp-ip.enabled is not true", block.position)
        listed = ()
    return ClusterConfig(
        name=options[NAME],
        tcp_ip=options[TCP_IP],
        members=listed,
        port=options[PORT],
        auto_increment=options[AUTO_INCREMENT],
        port_count=options[PORT_COUNT],
        public_address=options[PUBLIC_ADDRESS],
        interfaces=options[INTERFACES] if options[USES_INTERFACES] else (),
        rest_api=options[REST_API],
        properties=options[PROPERTIES] or {},
        attributes=options[ATTRIBUTES] or {},
    )


def read_client(block: Block, problems: Problems) -> ClientConfig:
    """Return the cluster described by a ``hazelcast-client`` block."""
    options = validate(block, CLIENT_OPTIONS, BlockRules(what=CLIENT, unknown=Unknown.LENIENT), problems).options
    return ClientConfig(
        cluster_name=options[NAME], members=options[CLUSTER_MEMBERS], properties=options[PROPERTIES] or {}
    )


def note_cluster(entry: Entry, problems: Problems) -> None:
    """Read a cluster block in the wrong file, and warn that it has no effect there."""
    problems.warn(
        f"{entry.key!r} describes a cluster: nodes and clients read it from {entry.key}.yaml. It has no effect in "
        "this file, because a job runs in the process that starts it",
        entry.position,
    )
    _read(entry, problems)


def load_hazelcast(path: Path, problems: Problems) -> ClusterConfig | ClientConfig | None:
    """Return the cluster described in a file, or ``None`` if the file has no cluster block."""
    entries = [entry for entry in load(path, Variables(by_argument=False), problems) if entry.key in (CLUSTER, CLIENT)]
    return _read(entries[0], problems) if entries else None


def _read(entry: Entry, problems: Problems) -> ClusterConfig | ClientConfig | None:
    if not isinstance(entry.value, Block):
        problems.error(f"{entry.key!r} takes a block", entry.position)
        return None
    return read_cluster(entry.value, problems) if entry.key == CLUSTER else read_client(entry.value, problems)
