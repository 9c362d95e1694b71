"""Conversion of ``requests`` errors to messages with the cause and the option to correct."""

import socket
import ssl
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from seatunnel_core.connector_api.errors import ConnectorError
from seatunnel_core.connectors.http.connection import Connection
from seatunnel_core.connectors.http.request import Request

_PACKAGES = ("requests", "urllib3")


class ErrorsExplained:
    """Context manager that converts ``requests`` errors to errors with the cause and the option to correct."""

    def __init__(self, request: Request, connection: Connection, failure: Callable[[str], ConnectorError]) -> None:
        self._request, self._connection, self._failure = request, connection, failure

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is None or not isinstance(error, Exception):
            return
        if kind.__module__.partition(".")[0] not in _PACKAGES and not isinstance(error, OSError | UnicodeError):
            return
        reason, retryable = self._reason(error)
        found = self._failure(f"{self._request.shown}: {reason}")
        found.retryable = retryable
        raise found from None  # The original error may contain the whole URL.

    def _reason(self, error: BaseException) -> tuple[str, bool]:
        from requests import exceptions as of_requests
        from urllib3 import exceptions as of_urllib3

        chain, address, connection = list(_chain(error)), self._request.address, self._connection
        tls = next((each for each in chain if isinstance(each, ssl.SSLError)), None)
        if tls is not None or isinstance(error, of_requests.SSLError):
            return f"no secure connection to {address}: {_of_tls(tls)}", False
        if any(isinstance(each, of_urllib3.NameResolutionError | socket.gaierror) for each in chain):
            return (
                f"unknown host {urlsplit(self._request.url).hostname}: check {connection.url_option}",
                True,
            )
        if isinstance(error, of_requests.ConnectTimeout):
            return f"{address} does not respond within connect_timeout_ms = {connection.connect_timeout_ms}", True
        if any(isinstance(each, of_requests.ReadTimeout | of_urllib3.ReadTimeoutError) for each in chain):
            return f"no response within {connection.timeout_option} = {connection.socket_timeout_ms}", True
        if isinstance(error, of_requests.ProxyError):
            refuses = "407" in str(error)
            why = "requires a different user and password" if refuses else "cannot be used"
            return f"the proxy in the environment (HTTPS_PROXY, HTTP_PROXY) {why}", not refuses
        if isinstance(error, FileNotFoundError | of_requests.InvalidURL | of_requests.InvalidHeader | UnicodeError):
            return _of_usage(error), False
        # An error of a file is in the chain only because it was being handled, and is not an error of the connection.
        systems = (each for each in chain if isinstance(each, OSError) and each.filename is None)
        system = next((each for each in systems if each.errno is not None), None)
        if system is None and str(error).startswith("Could not find"):
            return str(error), False  # A certificate file.
        why = system.strerror if system is not None and system.strerror else "the connection broke"
        if isinstance(system, ConnectionRefusedError):
            why = f"connection refused at {address}; check host and port, and that the service is running"
        return why[:1].lower() + why[1:], True


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and all errors among its causes, contexts, reasons and arguments."""
    seen: list[BaseException] = []
    waiting: list[Any] = [error]
    while waiting:
        each = waiting.pop()
        if isinstance(each, BaseException) and each not in seen:
            seen.append(each)
            yield each
            waiting += [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]


def _of_tls(error: ssl.SSLError | None) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the certificate of the server is not trusted ({error.verify_message}); set tls_ca_file to a file with "
            "trusted certificates"
        )
    why = (error.reason or error.strerror or "") if error is not None else ""
    return "the server does not use TLS; try http://" if why == "WRONG_VERSION_NUMBER" else why or "TLS failed"


def _of_usage(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return f"the file {error.filename} does not exist"
    if isinstance(error, UnicodeError):
        return "headers may contain only Latin-1 characters"
    return "url or headers contain characters that are not allowed in a request"
