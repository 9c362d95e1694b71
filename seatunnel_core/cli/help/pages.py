"""``seatunnel help PAGE``: the pages of the documentation that messages name, which a wheel brings along."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import seatunnel_core


def pages() -> dict[str, Traversable]:
    """Return the pages by name, from the wheel or, in a clone, from its ``docs``."""
    folder = files("seatunnel_core.cli").joinpath("pages")
    if folder.is_dir():
        return {page.name.removesuffix(".md"): page for page in folder.iterdir()}
    clone = Path(seatunnel_core.__file__).parents[1]
    if not (clone / "mkdocs.yml").is_file():
        return {}
    found: dict[str, Traversable] = {page.stem: page for page in (clone / "docs").glob("*/*.md")}
    return found | {"sql-functions": clone / "docs" / "reference" / "transforms" / "Sql.md"}


def print_page(name: str) -> bool:
    """Print a page, and return whether it exists."""
    page = pages().get(name.lower())
    if page is None:
        return False
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(page.read_text(encoding="utf-8")))
    return True
