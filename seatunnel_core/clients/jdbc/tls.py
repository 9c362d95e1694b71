"""TLS for MySQL and MariaDB, configured with the properties of their JDBC drivers and PyMySQL's file options."""

import ssl
from collections.abc import Mapping

from seatunnel_storage_api.errors import StorageConfigurationError

TLS_PROPERTIES = frozenset({"sslMode", "useSSL", "requireSSL", "ssl_ca", "ssl_cert", "ssl_key"})

_VERIFIED = {"VERIFY_CA": ssl.CERT_REQUIRED, "VERIFY_IDENTITY": ssl.CERT_REQUIRED, "REQUIRED": ssl.CERT_NONE}
_OF_MARIADB = {"DISABLE": "DISABLED", "TRUST": "REQUIRED", "VERIFY_FULL": "VERIFY_IDENTITY"}


def tls_context(written: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the TLS context for the properties of a connection, or ``None`` if the connection is not encrypted."""
    mode = written.get("sslMode", "").upper().replace("-", "_")
    if not mode:
        wanted = {written.get(name, "").lower() for name in ("useSSL", "requireSSL")}
        mode = "VERIFY_CA" if "ssl_ca" in written else "REQUIRED" if "true" in wanted else "DISABLED"
    mode = _OF_MARIADB.get(mode, mode)
    if mode in ("DISABLED", "PREFERRED"):
        return None
    if mode not in _VERIFIED:
        raise StorageConfigurationError(
            f"sslMode = {mode} is unknown; expected DISABLED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY"
        )
    context = ssl.create_default_context(cafile=written.get("ssl_ca"))
    context.check_hostname = mode == "VERIFY_IDENTITY"
    context.verify_mode = _VERIFIED[mode]
    if "ssl_cert" in written:
        context.load_cert_chain(written["ssl_cert"], written.get("ssl_key"))
    return context
