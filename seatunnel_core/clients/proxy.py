"""HTTP proxy settings, configured with the keys of Hadoop's clients."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from seatunnel_storage_api.errors import StorageConfigurationError


def proxies(configuration: Mapping[str, str], keys: tuple[str, str, str, str]) -> dict[str, str] | None:
    """Return the proxy's address by URL scheme, or ``None``. ``keys`` name the host, port, user and password."""
    host, port, user, password = (configuration.get(key) or "" for key in keys)
    _, port_key, user_key, password_key = keys
    if not host:
        return None
    if port and not re.fullmatch(r"[0-9]{1,5}", port):
        raise StorageConfigurationError(f"{port_key} is {port!r}; expected a port such as 3128")
    if bool(user) != bool(password):
        raise StorageConfigurationError(f"{user_key} and {password_key} must be set together: set both, or neither")
    login = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    address = f"http://{login}{host}:{port or 80}"
    return {"http": address, "https": address}
