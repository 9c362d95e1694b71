"""Requests to a service."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from attrs import evolve, field, frozen

from seatunnel_core.connector_api.errors import UsageError

JSON_TYPE, FORM_TYPE = "application/json", "application/x-www-form-urlencoded"

SHORTEST_SECRET = 6
"""Minimum length of secrets that are replaced within strings. Shorter secrets may be part of ordinary words."""

_PUBLIC_HEADERS = {"accept", "content-type", "user-agent", "accept-encoding", "notion-version", "revision"}


@frozen(kw_only=True)
class Request:
    """A request. Its parts may contain secrets, so messages must only use ``shown``."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    params: Mapping[str, str] = field(factory=dict, repr=False)
    body: str | None = field(default=None, repr=False)
    as_form: bool = False
    """True if ``params`` are sent as a form instead of in the URL."""

    as_both: bool = False
    """True if ``params`` are sent both as a form and in the URL."""

    hides_path: bool = False
    """True if the path of the URL is secret, for example for a webhook."""

    @property
    def shown(self) -> str:
        """URL for messages, without user, password and query, and without tokens from headers in its path."""
        parts = urlsplit(self.url)
        path = "/…" if self.hides_path else parts.path
        for secret in sorted(self.header_secrets(), key=len, reverse=True):
            path = path.replace(secret, "***")
        return f"{parts.scheme}://{self.address}{path}"

    def header_secrets(self) -> set[str]:
        """Return parts of headers that may be secrets: whole values, and their last words (after ``Bearer``)."""
        values = [value for name, value in self.headers.items() if name.lower() not in _PUBLIC_HEADERS]
        found = {*values, *(value.rpartition(" ")[2] for value in values)}
        return {each for each in found if len(each) >= SHORTEST_SECRET}

    @property
    def address(self) -> str:
        """Host and port, as written in the URL."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def is_form(self) -> bool:
        """True if the header ``Content-Type`` specifies a form."""
        return self._header("content-type").partition(";")[0].strip().lower() == FORM_TYPE

    def _header(self, name: str) -> str:
        return next((value for key, value in self.headers.items() if key.lower() == name), "")

    def sent_headers(self) -> dict[str, str]:
        """Return the headers, with a ``Content-Type`` if there is a body."""
        if self.body is None or self.as_form or self._header("content-type"):
            return dict(self.headers)
        return {**self.headers, "Content-Type": JSON_TYPE}

    def data(self) -> Any:
        """Return the body in a form that ``requests`` accepts: bytes, the pairs of a form, or ``None``."""
        if self.as_form or (self.as_both and (self.is_form or not self._header("content-type"))):
            return dict(self.params)
        if self.body is None:
            return None
        pairs = _object_of(self.body) if self.is_form else None
        if pairs is not None:
            return {key: _form_value(value) for key, value in pairs.items() if value is not None}
        return self.body.encode()

    def with_param(self, name: str, value: str | None) -> "Request":
        """Return the request with a parameter set in ``params``, or removed if the value is ``None``."""
        others = {key: each for key, each in self.params.items() if key != name}
        return evolve(self, params=others if value is None else {**others, name: value})

    def with_key(self, name: str, value: str | None) -> "Request":
        """Return the request with a new value for a key in the parameters, the JSON body or the headers.

        The first of these that contains the key is changed; if none contains it, the parameters are. ``None`` changes
        nothing.
        """
        if value is None:
            return self
        body = _object_of(self.body)
        if name not in self.params and body is not None and name in body:
            number = isinstance(body[name], int) and not isinstance(body[name], bool) and value.isdecimal()
            return evolve(self, body=json.dumps({**body, name: int(value) if number else value}, ensure_ascii=False))
        if name not in self.params and name in self.headers:
            return evolve(self, headers={**self.headers, name: value})
        return self.with_param(name, value)

    def with_placeholder(self, name: str, value: str | None) -> "Request":
        """Return the request with ``${name}`` replaced. For the value ``None``, remove entries equal to ``${name}``."""
        mark = f"${{{name}}}"

        def kept(pairs: Mapping[str, str]) -> dict[str, str]:
            return {
                key: each.replace(mark, value or "")
                for key, each in pairs.items()
                if value is not None or each.strip() != mark
            }

        body = self.body
        if body is not None and value is None and (document := _object_of(body)) is not None:
            body = json.dumps(_without(document, mark), ensure_ascii=False)
        return evolve(
            self,
            url=self.url.replace(mark, value or ""),
            headers=kept(self.headers),
            params=kept(self.params),
            body=None if body is None else body.replace(mark, value or ""),
        )

    def has_placeholder(self, name: str) -> bool:
        """Return True if any part of the request contains ``${name}``."""
        places = (self.url, self.body or "", *self.headers.values(), *self.params.values())
        return any(f"${{{name}}}" in each for each in places)


def same_host(url: str, other: str) -> bool:
    """Return True if a request that is redirected from one URL to the other may keep all its headers."""
    here, there = urlsplit(url), urlsplit(other)
    secure = here.scheme == there.scheme or (here.scheme, there.scheme) == ("http", "https")
    same_port = here.port == there.port or here.scheme != there.scheme
    return here.hostname == there.hostname and secure and same_port


def checked_url(url: str, option: str = "url") -> str:
    """Return the URL without surrounding whitespace. Raise ``UsageError`` unless it is an HTTP or HTTPS URL."""
    try:
        parts = urlsplit(url.strip())
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
    if not known:
        raise UsageError(f"option {option!r}: expected http://host:port/path or https://…")
    return url.strip()


def _object_of(body: str | None) -> dict[str, Any] | None:
    try:
        found = json.loads(body or "")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _form_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _without(document: Any, mark: str) -> Any:
    """Return a JSON value without the members and elements that equal the marker."""
    if isinstance(document, dict):
        return {key: _without(value, mark) for key, value in document.items() if value != mark}
    if isinstance(document, list):
        return [_without(value, mark) for value in document if value != mark]
    return document
