"""PyMySQL connections without unnecessary setup."""

import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any


def mysql_connection(parameters: Mapping[str, Any]) -> Any:
    """Open a connection with the parameters of PyMySQL's ``connect``.

    Without TLS parameters, PyMySQL does not verify certificates but still loads the system's, which takes 30 ms per
    connection.
    """
    return _connection_class()(**parameters)


@cache
def _connection_class() -> Any:
    from pymysql.connections import Connection

    class UnverifiedByDefault(Connection):  # type: ignore[misc, unused-ignore]
        def _create_ssl_ctx(self, sslp: Any) -> ssl.SSLContext:
            return super()._create_ssl_ctx(sslp) if sslp else _unverified()  # type: ignore[no-any-return, unused-ignore]

    return UnverifiedByDefault


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
