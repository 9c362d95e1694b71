"""By which host others reach this node."""

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
"""Linux: the IPv4 address of an interface."""


def is_loopback(host: str) -> bool:
    """Return whether an address is of this machine alone."""
    return host.startswith(("localhost", "127.", "::1", "[::1]"))


def own_host(
    cluster: ClusterConfig | None,
    listed: Sequence[str],
    *,
    instance_host: str | None = None,
    others: Sequence[str] = (),
) -> str:
    """Return the host by which others reach this node.

    The first of these counts: ``instance_host``, ``public-address``, an address that ``interfaces`` names, the first
    listed member that is this machine, the address from which this machine reaches a listed one or one of ``others``,
    and loopback.

    Args:
        cluster: what ``hazelcast.yaml`` says; ``None`` without one.
        listed: the members, as ``host:port``.
        instance_host: what the engine's file or ``kylin.properties`` says.
        others: servers that are no members and that all members reach, as ``host:port``.

    Raises:
        UsageError: this machine has none of the addresses that ``interfaces`` names.
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
            return LOOPBACK if host.startswith("localhost") else host  # which is two addresses on many machines
    away = [address for address in (*listed, *others) if not is_loopback(address)]
    source = next(filter(None, map(_source_towards, away)), None)
    if source is None:
        return LOOPBACK
    logger.info("this machine is none of the listed members: others are to reach it as %s", source)
    return source


def _of_interfaces(patterns: tuple[str, ...]) -> str:
    own = _interface_addresses()
    for pattern in patterns:
        for address in own:
            if _matches(address, pattern):
                return address
    raise UsageError(
        f"network.interfaces names {', '.join(patterns)}, and this machine has {', '.join(own)}: name one of these, or "
        "set network.public-address"
    )


def _matches(address: str, pattern: str) -> bool:
    for part, wanted in zip(address.split("."), pattern.split("."), strict=True):
        first, _, last = wanted.partition("-")
        if wanted != "*" and not int(first) <= int(part) <= int(last or first):
            return False
    return True


def _interface_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine, those of loopback last."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:  # it has no address of this kind
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return sorted(found, key=is_loopback)


def is_own(host: str, *, family_wanted: int | None = None) -> bool:
    """Return whether a host is this machine, by an address of one family or any: only then can one bind it."""
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
    """Return the address from which packets to a member leave; nothing is sent."""
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
