"""Tables of Iceberg with a catalog in SQLite, both below a folder: jobs write them, and tests read them."""

from pathlib import Path
from typing import Any

from pyiceberg.catalog import load_catalog

_SINK = """
  Iceberg {{
    plugin_input = {source}
    iceberg.catalog.config = {{ type = sql, uri = "{uri}", warehouse = "{warehouse}" }}
    namespace = shop
    table = {source}
    {more}
  }}
"""


def catalog_of(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}


def table_in(folder: Path, name: str) -> Any:
    """The table of the namespace ``shop`` as it is now."""
    return load_catalog("default", **catalog_of(folder)).load_table(("shop", name))


def iceberg_sink(source: str, folder: Path, *, more: str = "") -> str:
    """A sink of a job, into the table of the source's name."""
    catalog = catalog_of(folder)
    return _SINK.format(source=source, uri=catalog["uri"], warehouse=catalog["warehouse"], more=more)
