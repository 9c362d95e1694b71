"""Connection settings of a source or a sink."""

from collections.abc import Collection

from attrs import field, frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.http import options as opt


@frozen(kw_only=True)
class Connection:
    """Settings of the connections to a service."""

    retries: int
    backoff_ms: int
    backoff_max_ms: int
    connect_timeout_ms: int
    socket_timeout_ms: int
    ca_file: str | None
    certificate: tuple[str, ...] = field(repr=False)
    """File with both a certificate and its key, or one file for each; empty if there is no certificate."""

    hidden: tuple[str, ...] = field(repr=False)
    """Strings that no message may contain."""

    credentials: str
    """Options that contain the credentials, for messages."""

    url_option: str = opt.URL.key
    timeout_option: str = opt.SOCKET_TIMEOUT.key
    """Option that sets the response timeout, for messages."""

    @classmethod
    def of(cls, options: Options, *, hidden: Collection[str], credentials: str) -> "Connection":
        """Return the settings in the options. Messages never contain the strings in ``hidden``."""
        certificate, key = options[opt.CERTIFICATE], options[opt.KEY]
        if key and not certificate:
            raise UsageError("option 'tls_key_file': requires tls_certificate_file")
        return cls(
            retries=options[opt.RETRY],
            backoff_ms=options[opt.BACKOFF],
            backoff_max_ms=options[opt.BACKOFF_MAX],
            connect_timeout_ms=options[opt.CONNECT_TIMEOUT],
            socket_timeout_ms=options[opt.SOCKET_TIMEOUT],
            ca_file=options[opt.CA_FILE],
            certificate=tuple(file for file in (certificate, key) if file),
            hidden=tuple(hidden),
            credentials=credentials,
        )
