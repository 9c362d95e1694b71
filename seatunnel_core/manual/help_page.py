"""A page of help as JSON has it, for programs that show it themselves."""

import re
from typing import Any

from seatunnel_core.manual.errors import coded, error_page
from seatunnel_core.manual.pages import page_text

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}", re.ASCII)


def help_page(name: str) -> dict[str, Any] | None:
    """Return what ``seatunnel help NAME`` says of the code of an error, or a page of the documentation.

    Returns:
        Of an error, ``code``, ``meaning`` and ``parts`` by heading, with commands in backquotes; of a page, ``name``
        and its ``text`` in Markdown; ``None`` when nothing has this name.
    """
    if not _NAME.fullmatch(name):
        return None
    kind = coded().get(name.upper())
    if kind is not None:
        page = error_page(kind)
        return {"code": page.code, "meaning": page.meaning, "parts": dict(page.parts)}
    text = page_text(name)
    return None if text is None else {"name": name.lower(), "text": text}
