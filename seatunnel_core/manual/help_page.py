"""Help pages as JSON values, for programs that display them."""

import re
from typing import Any

from seatunnel_core.manual.errors import coded, error_page
from seatunnel_core.manual.pages import page_text

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}", re.ASCII)


def help_page(name: str) -> dict[str, Any] | None:
    """Return the page of an error code or of the documentation, like ``seatunnel help NAME``; ``None`` if unknown.

    An error has ``code``, ``meaning`` and ``parts`` by heading. A documentation page has ``name`` and its ``text`` in
    Markdown. Commands are in backquotes.
    """
    if not _NAME.fullmatch(name):
        return None
    kind = coded().get(name.upper())
    if kind is not None:
        page = error_page(kind)
        return {"code": page.code, "meaning": page.meaning, "parts": dict(page.parts)}
    text = page_text(name)
    return None if text is None else {"name": name.lower(), "text": text}
