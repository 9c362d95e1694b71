"""The pages of the documentation that messages name, as in ``seatunnel help restore``; a wheel brings them along."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import seatunnel_core


def pages() -> dict[str, Traversable]:
    """Return the pages by name, from the wheel or, in a clone, from its ``docs``."""
    folder = files("seatunnel_core.manual").joinpath("documentation")
    if folder.is_dir():
        return {page.name.removesuffix(".md"): page for page in folder.iterdir()}
    clone = Path(seatunnel_core.__file__).parents[1]
    if not (clone / "mkdocs.yml").is_file():
        return {}
    found: dict[str, Traversable] = {page.stem: page for page in (clone / "docs").glob("*/*.md")}
    return found | {"sql-functions": clone / "docs" / "reference" / "transforms" / "Sql.md"}
