"""Tables of Iceberg with a catalog in SQLite, both below a folder: jobs write them, and tests read them."""

from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.iceberg.sink import IcebergSink

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


def shop_in(folder: Path) -> Catalog:
    """A new catalog that has the namespace ``shop``, and no table."""
    made = load_catalog("default", **catalog_of(folder))
    made.create_namespace("shop")
    return made


def orders_sink(folder: Path, **more: Any) -> IcebergSink:
    """A sink, driven without a job, into the table ``orders`` of ``shop``."""
    values = {"iceberg.catalog.config": catalog_of(folder), "namespace": "shop", "table": "orders", **more}
    return IcebergSink(options_of(IcebergSink, values))


def table_in(folder: Path, name: str) -> Any:
    """The table of the namespace ``shop`` as it is now."""
    return load_catalog("default", **catalog_of(folder)).load_table(("shop", name))


def iceberg_sink(source: str, folder: Path, *, more: str = "") -> str:
    """A sink of a job, into the table of the source's name."""
    catalog = catalog_of(folder)
    return _SINK.format(source=source, uri=catalog["uri"], warehouse=catalog["warehouse"], more=more)
