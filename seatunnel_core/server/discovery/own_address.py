"""Selection of the host name or address by which other members reach this node."""

import fcntl
import logging
import socket
import struct
from collections.abc import Iterable, Sequence

from seatunnel_core.config.hazelcast import ClusterConfig
from seatunnel_core.errors import UsageError

logger = logging.getLogger("seatunnel.cluster")

LOOPBACK = "127.0.0.1"

_SIOCGIFADDR = 0x8915
"""Linux ioctl that returns the IPv4 address of an interface."""


def is_loopback(host: str) -> bool:
    """Return True if an address is a loopback address."""
    return host.startswith(("localhost", "127.", "::1", "[::1]"))


def own_host(
    cluster: ClusterConfig | None,
    listed: Sequence[str],
    *,
    instance_host: str | None = None,
    others: Sequence[str] = (),
) -> str:
    """Return the host by which other members reach this node.

    The first available one is used: ``instance_host``, ``public-address``, an address that matches ``interfaces``, the
    first listed member on this machine, the source address for packets to a listed member or one of ``others``,
    loopback. ``others`` are further servers that all members can reach. All addresses are ``host:port``.
    """
    if instance_host:
        return instance_host
    if cluster is not None and cluster.public_address is not None:
        return cluster.public_address.host
    if cluster is not None and cluster.interfaces:
        return _of_interfaces(cluster.interfaces)
    hosts = list(dict.fromkeys(address.rpartition(":")[0] for address in listed))
    for host in hosts:
        if is_own(host):
            return LOOPBACK if host.startswith("localhost") else host  # "localhost" has two addresses on many machines
    away = [address for address in (*listed, *others) if not is_loopback(address)]
    source = next(filter(None, map(_source_towards, away)), None)
    if source is None:
        return LOOPBACK
    logger.info("this machine is not among the listed members: other nodes must be able to reach it as %s", source)
    return source


def _of_interfaces(patterns: tuple[str, ...]) -> str:
    own = _interface_addresses()
    for pattern in patterns:
        for address in own:
            if _matches(address, pattern):
                return address
    raise UsageError(
        f"network.interfaces is {', '.join(patterns)}, but this machine has {', '.join(own)}: use one of these, or "
        "set network.public-address"
    )


def _matches(address: str, pattern: str) -> bool:
    for part, wanted in zip(address.split("."), pattern.split("."), strict=True):
        first, _, last = wanted.partition("-")
        if wanted != "*" and not int(first) <= int(part) <= int(last or first):
            return False
    return True


def _interface_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine, loopback addresses last."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:  # the interface has no IPv4 address
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return sorted(found, key=is_loopback)


def is_own(host: str, *, family_wanted: int | None = None) -> bool:
    """Return True if a host is this machine, so that this process can bind to one of its addresses."""
    for family, kind, _, _, address in _resolved(host, 0):
        if family_wanted not in (None, family):
            continue
        try:
            with socket.socket(family, kind) as probe:
                probe.bind(address)
        except OSError:
            continue
        return True
    return False


def _source_towards(member: str) -> str | None:
    """Return the source address of packets to a member. No packet is sent."""
    host, _, port = member.rpartition(":")
    for family, _, _, _, address in _resolved(host, int(port)):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as asking:
                asking.connect(address)
                source = str(asking.getsockname()[0])
        except OSError:
            continue
        return f"[{source}]" if family == socket.AF_INET6 else source
    return None


def _resolved(host: str, port: int) -> Iterable[tuple[int, int, int, str, tuple[str, int]]]:
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    except OSError:
        return ()
    return found  # type: ignore[return-value]
