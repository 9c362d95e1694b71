"""Files of the page and their HTTP headers."""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from attrs import frozen

START = "index.html"
"""File served at the address of the page. It refers to the other files below ``page/``."""

_STATIC = Path(__file__).with_name("static")

_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""Headers of each file. Scripts, styles and requests are limited to this origin; inline code and embedding in other
sites are forbidden. Browsers revalidate cached files each time, so an upgrade of the engine also upgrades the page."""


@frozen(kw_only=True)
class Asset:
    """A file of the page."""

    body: bytes
    kind: str
    """Media type."""

    tag: str
    """Value of the HTTP header ``ETag``, derived from the content."""


def asset(name: str) -> Asset | None:
    """Return a file by its name below ``page/``, such as ``vendor/preact.js``, or ``None``."""
    return _assets().get(name)


@cache
def _assets() -> Mapping[str, Asset]:
    """Return all files by name. A requested name is only looked up and never used as a path."""
    found = {}
    for path in sorted(_STATIC.rglob("*")):
        if path.suffix in _KINDS and path.is_file():
            body = path.read_bytes()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            found[path.relative_to(_STATIC).as_posix()] = Asset(body=body, kind=_KINDS[path.suffix], tag=tag)
    return found
