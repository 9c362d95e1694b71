"""URLs of next pages: RFC 3986 references relative to the current page, and ``Link`` headers."""

import re
from collections.abc import Iterator
from urllib.parse import urldefrag, urljoin, urlsplit, urlunsplit

from attrs import evolve

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connectors.http.request import Request, same_host

_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PARAMETER = r';\s*([^\s=;,"]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^\s;,"]*))?\s*'
_LINK = re.compile(rf"<([^>]*)>\s*((?:{_PARAMETER})*)")


def is_address(cursor: str, url: str) -> bool:
    """Return True if a cursor is a URL or a reference relative to ``url``, instead of an opaque string.

    A base64 cursor may start with ``/``, so a path without a query must share the first path segment of ``url``.
    """
    if _WITH_SCHEME.match(cursor) or cursor.startswith(("//", "?", "./", "../")) or "?" in cursor:
        return True
    return cursor.startswith("/") and cursor.split("/")[1:2] == urlsplit(url).path.split("/")[1:2]


def addressed(request: Request, reference: str) -> Request:
    """Return the request for the page at a URL. It must be on the same host, because the request contains headers."""
    try:
        url = urldefrag(urljoin(request.url, reference.strip())).url
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
        other = is_web and not same_host(request.url, url)
    except ValueError:
        is_web = other = False
    if not is_web:
        raise SourceError(f"{request.shown}: the address of the next page does not start with http:// or https://")
    if other:
        raise SourceError(
            f"{request.shown}: the next page is on another host, {parts.hostname}; requests are sent only to the host "
            "of url"
        )
    user = urlsplit(request.url).netloc.rpartition("@")[0]
    if user and "@" not in parts.netloc:
        url = urlunsplit(parts._replace(netloc=f"{user}@{parts.netloc}"))
    return evolve(request, url=url, params={})


def next_link(header: str) -> str | None:
    """Return the URL with relation ``next`` in a ``Link`` header (RFC 8288); ``None`` if there is none."""
    for reference, parameters in _links(header):
        relations = parameters.get("rel", "").lower().strip("'").split()  # Some services write rel='next'.
        if "next" in relations and "anchor" not in parameters:
            return reference
    return None


def _links(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the URL and the parameters of each link. If a parameter is repeated, its first value is used."""
    for found in _LINK.finditer(header):
        parameters: dict[str, str] = {}
        for each in re.finditer(_PARAMETER, found[2]):
            value = each[2] or ""
            value = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
            parameters.setdefault(each[1].lower(), value)
        yield found[1].strip(), parameters
