"""What is asked of a service: one request, and how names in it are given values."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from attrs import evolve, field, frozen

from seatunnel_core.errors import UsageError

JSON_TYPE, FORM_TYPE = "application/json", "application/x-www-form-urlencoded"


@frozen(kw_only=True)
class Request:
    """One request. Its parts may hold secrets, so only ``shown`` goes into messages."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    params: Mapping[str, str] = field(factory=dict, repr=False)
    body: str | None = field(default=None, repr=False)
    as_form: bool = False
    """Whether ``params`` are sent as a form, and not in the url."""

    as_both: bool = False
    """Whether ``params`` are sent as a form, and in the url, too."""

    hides_path: bool = False
    """Whether the path of the url is a secret, as in webhooks."""

    @property
    def shown(self) -> str:
        """The url for a message: without user, password and what stands behind ``?``."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{self.address}{'/…' if self.hides_path else parts.path}"

    @property
    def address(self) -> str:
        """Host and port, as they are written."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def is_form(self) -> bool:
        return self._header("content-type").partition(";")[0].strip().lower() == FORM_TYPE

    def _header(self, name: str) -> str:
        return next((value for key, value in self.headers.items() if key.lower() == name), "")

    def sent_headers(self) -> dict[str, str]:
        """The headers, with the type of the body."""
        if self.body is None or self.as_form or self._header("content-type"):
            return dict(self.headers)
        return {**self.headers, "Content-Type": JSON_TYPE}

    def data(self) -> Any:
        """The body as the client takes it: bytes, or the pairs of a form."""
        if self.as_form or (self.as_both and (self.is_form or not self._header("content-type"))):
            return dict(self.params)
        if self.body is None:
            return None
        pairs = _object_of(self.body) if self.is_form else None
        if pairs is not None:
            return {key: _form_value(value) for key, value in pairs.items() if value is not None}
        return self.body.encode()

    # -- pages ----------------------------------------------------------------------------------------------------

    def with_param(self, name: str, value: str | None) -> "Request":
        """With this value among ``params``, or without any of that name."""
        others = {key: each for key, each in self.params.items() if key != name}
        return evolve(self, params=others if value is None else {**others, name: value})

    def with_key(self, name: str, value: str | None) -> "Request":
        """With this value where the key of that name stands: in params, in the JSON of the body, or in headers; where
        it stands nowhere, in params. ``None`` leaves everything as it is written."""
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
        """With this value in the place of each ``${name}``; ``None`` leaves out what consists of it."""
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
        """Whether ``${name}`` stands anywhere in it."""
        places = (self.url, self.body or "", *self.headers.values(), *self.params.values())
        return any(f"${{{name}}}" in each for each in places)


def same_host(url: str, other: str) -> bool:
    """Whether a request may be led from one to the other with all its headers."""
    here, there = urlsplit(url), urlsplit(other)
    secure = here.scheme == there.scheme or (here.scheme, there.scheme) == ("http", "https")
    same_port = here.port == there.port or here.scheme != there.scheme
    return here.hostname == there.hostname and secure and same_port


def checked_url(url: str, option: str = "url") -> str:
    """The url, if requests can go there.

    Raises:
        UsageError: it is none of http or https.
    """
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
    """A JSON value without the members that consist of the mark."""
    if isinstance(document, dict):
        return {key: _without(value, mark) for key, value in document.items() if value != mark}
    if isinstance(document, list):
        return [_without(value, mark) for value in document if value != mark]
    return document
