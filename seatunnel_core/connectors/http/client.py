"""HTTP client that retries temporary failures and explains other errors.

Messages contain no secrets. Error messages of ``requests`` may contain the whole URL, so only the innermost cause is
shown.
"""

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from attrs import field, frozen

from seatunnel_core.connector_api.errors import ConnectorError, SourceError
from seatunnel_core.connectors.http.connection import Connection
from seatunnel_core.connectors.http.failures import ErrorsExplained
from seatunnel_core.connectors.http.request import SHORTEST_SECRET, Request, same_host
from seatunnel_core.connectors.http.retry_after import retry_kind

if TYPE_CHECKING:
    import requests

MODULES = ("requests",)
"""Modules that tasks import to send a request."""

_REPEATED = (429, 502, 503, 504)
_LASTING = (501, 505, 508, 510, 511)
"""Permanent server error statuses. Others may be temporary, including 507 (full disk)."""

_LONGEST_WAIT_S = 300
"""Maximum delay before a retry in seconds, even if the service requests a longer one."""

_MOST_REDIRECTS = 5
_SHOWN = 200
"""Maximum number of characters of a response that a message quotes."""

_SECRET_NAMES = ("token", "key", "secret", "pass", "auth", "sign")

_HINTS = {
    400: "the service rejected the request as invalid: check params and body",
    401: "check {credentials}",
    403: "access denied: check the permissions of the credentials in {credentials}",
    404: "check {url}",
    405: "check method",
    429: "the quota is exhausted; send fewer requests, or retry later",
}


@frozen(kw_only=True)
class Answer:
    """Successful response from a service, with a status from 200 to 299."""

    status: int
    content: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    encoding: str | None

    @property
    def text(self) -> str:
        """Content as a string for messages; undecodable bytes are replaced."""
        try:
            return self.content.decode(self._named_encoding or "utf-8-sig", errors="replace")
        except LookupError:
            return self.content.decode(errors="replace")

    def decoded(self, where: str) -> str:
        """Decode the content with the encoding from the headers, or as UTF-8; ``where`` is for messages."""
        named = self._named_encoding
        try:
            return self.content.decode(named or "utf-8").removeprefix("\ufeff")
        except LookupError:
            raise SourceError(f"{where}: the response has the unknown encoding {named!r}") from None
        except UnicodeError as error:
            said = "" if named else ", and its Content-Type header specifies no other charset"
            raise SourceError(f"{where}: the response is not {named or 'UTF-8'}: {error}{said}") from None

    @property
    def _named_encoding(self) -> str | None:
        return self.encoding if "charset" in self.headers.get("Content-Type", "").lower() else None


class Client:
    """Client that sends one request at a time and keeps its connections until it is closed."""

    def __init__(self, connection: Connection, failure: Callable[[str], ConnectorError]) -> None:
        """Create a client; ``failure`` converts a message to an error."""
        self._connection = connection
        self._failure = failure
        self._session: requests.Session | None = None

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def send(self, request: Request) -> Answer:
        """Send a request, and return the whole response.

        Raises:
            ConnectorError: No response arrived, or it has an error status; retryable if a retry may succeed.
        """
        with self._errors_explained(request), self._opened(request) as response:
            return Answer(
                status=response.status_code,
                content=response.content,
                headers=response.headers,
                encoding=response.encoding,
            )

    def pieces(self, request: Request, size: int) -> Generator[tuple[Mapping[str, str], bytes], None, None]:
        """Yield the content in pieces of ``size`` bytes, each together with the headers; yield at least one piece."""
        with self._errors_explained(request), self._opened(request) as response:
            held = bytearray()
            given = False
            for block in response.iter_content(1 << 16):
                held += block
                while len(held) >= size:
                    given = True
                    yield response.headers, bytes(held[:size])
                    del held[:size]
            if held or not given:
                yield response.headers, bytes(held)

    def reach(self, request: Request) -> None:
        """Check with a HEAD request that the service is reachable and its certificate is accepted."""
        with self._errors_explained(request):
            self._sent(Request(method="HEAD", url=request.url, hides_path=request.hides_path)).close()

    def refused(self, request: Request, status: int, reason: str, content: str) -> ConnectorError:
        """Return the error for a response with an error status."""
        connection = self._connection
        hint = _HINTS.get(status, "").format(credentials=connection.credentials, url=connection.url_option)
        said = self.scrubbed(content, request)
        error = self._failure(
            f"{request.shown} answered {status} {reason}".rstrip()
            + (f": {hint}" if hint else "")
            + (f". Response: {said}" if said else "")
        )
        error.retryable = status in (408, 425, 429) or (status >= 500 and status not in _LASTING)
        return error

    def scrubbed(self, content: str, request: Request) -> str:
        """Return the beginning of a response on one line, with secrets of the request replaced by ``***``."""
        text = " ".join(content[: 20 * _SHOWN].split())
        for secret in sorted({*self._connection.hidden, *_secrets_in(request)}, key=len, reverse=True):
            if len(secret) >= SHORTEST_SECRET:
                text = text.replace(secret, "***")
        shown = "".join(sign if sign.isprintable() else "�" for sign in text)
        return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"

    # -- inside ---------------------------------------------------------------------------------------------------

    def _opened(self, request: Request) -> "requests.Response":
        response = self._sent(request)
        for _ in range(_MOST_REDIRECTS):
            following = response.next if request.method == "GET" else None
            if following is None or not same_host(request.url, str(following.url)):
                break
            response.close()
            response = self._prepared(following)
        if 200 <= response.status_code < 300:
            return response
        with response:
            if response.is_redirect:
                leads = urlsplit(response.headers["Location"])
                where = f"{leads.scheme}://{leads.hostname}" if leads.hostname else "another path"
                raise self._failure(
                    f"{request.shown} answered {response.status_code} with a redirect to {where}. Redirects "
                    "to other hosts and redirects of POST requests are not followed; correct the url"
                )
            raise self.refused(request, response.status_code, response.reason or "", response.text)

    def _sent(self, request: Request) -> "requests.Response":
        """Send a request and return its response, whatever the status. Retry statuses such as 429."""
        return self._in_session().request(
            request.method,
            request.url,
            params=None if request.as_form else dict(request.params),
            data=request.data(),
            headers=request.sent_headers(),
            allow_redirects=False,
            stream=True,
            **self._how(),
        )

    def _prepared(self, prepared: "requests.PreparedRequest") -> "requests.Response":
        session = self._in_session()
        settings = session.merge_environment_settings(prepared.url or "", {}, True, self._how()["verify"], None)
        return session.send(prepared, **{**settings, **self._how()}, allow_redirects=False)

    def _how(self) -> dict[str, Any]:
        connection = self._connection
        certificate: Any = connection.certificate or None
        if certificate and len(certificate) == 1:
            (certificate,) = certificate
        return {
            "timeout": (max(connection.connect_timeout_ms, 1) / 1000, max(connection.socket_timeout_ms, 1) / 1000),
            "verify": connection.ca_file or True,
            "cert": certificate,
        }

    def _in_session(self) -> "requests.Session":
        if self._session is None:
            import requests

            self._session = requests.Session()
            self._session.headers["User-Agent"] = "seatunnel-core"
            adapter = requests.adapters.HTTPAdapter(max_retries=self._retry())
            self._session.mount("http://", adapter)
            self._session.mount("https://", adapter)
            self._session.auth = _in_url
        return self._session

    def _retry(self) -> Any:
        connection = self._connection
        return retry_kind()(
            total=connection.retries,
            status_forcelist=_REPEATED,
            allowed_methods=None,  # Repeating is safe: a source only reads, and a sink sends at least once.
            backoff_factor=connection.backoff_ms / 1000,
            backoff_max=connection.backoff_max_ms / 1000,
            retry_after_max=_LONGEST_WAIT_S,
            raise_on_status=False,
        )

    def _errors_explained(self, request: Request) -> "ErrorsExplained":
        return ErrorsExplained(request, self._connection, self._failure)


def _in_url(prepared: "requests.PreparedRequest") -> "requests.PreparedRequest":
    """Authenticate with the user and password in the URL. Ignore ~/.netrc, whose credentials would replace a header."""
    from requests.auth import HTTPBasicAuth

    parts = urlsplit(prepared.url or "")
    if parts.username is not None:
        HTTPBasicAuth(unquote(parts.username), unquote(parts.password or ""))(prepared)
    return prepared


def _secrets_in(request: Request) -> Iterator[str]:
    """Yield the strings of a request that may be secrets."""
    parts = urlsplit(request.url)
    yield from (unquote(each) for each in (parts.username, parts.password) if each)
    yield from (value for _, value in parse_qsl(parts.query))
    yield from request.params.values()
    if request.hides_path:
        yield from parts.path.split("/")
    yield from request.header_secrets()
    try:
        yield from _secret_members(json.loads(request.body or "null"))
    except ValueError:
        return


def _secret_members(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        for key, value in document.items():
            if isinstance(value, str) and any(word in str(key).lower() for word in _SECRET_NAMES):
                yield value
            yield from _secret_members(value)
    elif isinstance(document, list):
        for value in document:
            yield from _secret_members(value)
