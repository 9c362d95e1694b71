"""How ``seatunnel help`` prints the page of an error and a page of the documentation."""

import textwrap

from seatunnel_core.manual.errors import coded, error_page
from seatunnel_core.manual.pages import pages


def print_page(name: str) -> bool:
    """Print a page, and return whether it exists."""
    page = pages().get(name.lower())
    if page is None:
        return False
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(page.read_text(encoding="utf-8")))
    return True


def error_text(code: str, width: int) -> str:
    """Return what is printed about a code, in any case; ``""`` if no class has it."""
    kind = coded().get(code.upper())
    if kind is None:
        return ""
    page = error_page(kind)
    a_kind_of = f", a kind of {page.parent}" if page.parent else ""
    parts = [f"{heading}:\n{_wrapped(text, width)}" for heading, text in page.parts.items()]
    return "\n\n".join([f"{page.code}: {page.name}{a_kind_of}", _wrapped(page.meaning, width), *parts])


def _wrapped(text: str, width: int) -> str:
    indent = "  "
    lines = (textwrap.wrap(line, width, initial_indent=indent, subsequent_indent=indent) for line in text.splitlines())
    return "\n".join(line for wrapped in lines for line in wrapped)
