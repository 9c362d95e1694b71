"""Detection of servers that lack window functions (MySQL before 8.0), from the version seen in the first connection."""

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connectors.jdbc.address import Address

_without: dict[tuple[str, int], str] = {}
"""Versions of servers that lack window functions, keyed by host and port."""


def note_version(address: Address, version: str) -> None:
    """Record the version of a MySQL or MariaDB server from its greeting."""
    server = (address.host, address.port)
    if "MariaDB" not in version and version.split(".")[0] in ("4", "5"):
        _without[server] = version
    else:
        _without.pop(server, None)


def has_windows(address: Address) -> bool:
    """Return False if the server is known to have no window functions."""
    return (address.host, address.port) not in _without


def require_windows(address: Address, instead: str) -> None:
    """Raise ``SinkError``, suggesting ``instead``, if the server has no window functions."""
    version = _without.get((address.host, address.port))
    if version is not None:
        raise SinkError(
            f"MySQL {version} has no window functions, which the sink requires with these options; {instead}"
        )
