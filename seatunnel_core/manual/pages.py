"""Documentation pages for ``seatunnel help``, such as ``restore`` or ``Jdbc``, which wheels include."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import seatunnel_core

_OF_PLUGINS = ("connectors", "transforms")


def pages() -> dict[str, Traversable]:
    """Return the general pages by name, from the wheel or, in a clone, from its ``docs``."""
    shipped = _shipped()
    if shipped.is_dir():
        return {page.name.removesuffix(".md"): page for page in shipped.iterdir() if page.is_file()}
    docs = _docs()
    if docs is None:
        return {}
    found: dict[str, Traversable] = {page.stem: page for page in docs.glob("*/*.md")}
    return found | {"sql-functions": docs / "reference" / "transforms" / "Sql.md"}


def plugin_pages() -> dict[str, Traversable]:
    """Return the pages of built-in connectors and transforms by lower-case name."""
    shipped, docs = _shipped(), _docs()
    if shipped.is_dir():
        folder: Traversable = shipped
    elif docs is not None:
        folder = docs / "reference"
    else:
        return {}
    every = (page for kind in _OF_PLUGINS for page in folder.joinpath(kind).iterdir())
    return {page.name.removesuffix(".md").lower(): page for page in every}


def page_text(name: str) -> str | None:
    """Return the Markdown of a page, or ``None``. The name is not case-sensitive."""
    key = name.lower()
    page = plugin_pages().get(key) or pages().get(key)
    return None if page is None else page.read_text(encoding="utf-8")


def _shipped() -> Traversable:
    return files("seatunnel_core.manual").joinpath("documentation")


def _docs() -> Path | None:
    clone = Path(seatunnel_core.__file__).parents[1]
    return clone / "docs" if (clone / "mkdocs.yml").is_file() else None
