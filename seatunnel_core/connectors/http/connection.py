"""The settings with which a source or a sink sends requests."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from attrs import field, frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.http import options as opt

if TYPE_CHECKING:
    pass


@frozen(kw_only=True)
class Connection:
    """The settings with which requests are sent."""

    retries: int
    backoff_ms: int
    backoff_max_ms: int
    connect_timeout_ms: int
    socket_timeout_ms: int
    ca_file: str | None
    certificate: tuple[str, ...] = field(repr=False)
    """A file with a certificate and its key, or one of each; empty without a certificate."""

    hidden: tuple[str, ...] = field(repr=False)
    """Texts that no message may contain."""

    credentials: str
    """The options that have the credentials, for messages."""

    url_option: str = opt.URL.key
    """The options that have the url, for messages."""

    timeout_option: str = opt.SOCKET_TIMEOUT.key
    """The option that has the timeout for an answer, for messages."""

    @classmethod
    def of(cls, options: Options, *, hidden: Collection[str], credentials: str) -> "Connection":
        """Return the settings in the options of a source or a sink.

        Args:
            options: The options.
            hidden: Texts that no message may contain.
            credentials: The options that have the credentials, for messages.

        Raises:
            UsageError: Options contradict one another.
        """
        certificate, key = options[opt.CERTIFICATE], options[opt.KEY]
        if key and not certificate:
            raise UsageError("option 'tls_key_file': it belongs to tls_certificate_file, which is missing")
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
