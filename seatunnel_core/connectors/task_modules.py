"""Driver-side check for missing modules that plugins import in tasks."""

from collections.abc import Iterable
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from typing import Any

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.source import Source

_OTHER_NAMES = {
    "jsonpath": "python-jsonpath",
    "adbc_driver_postgresql": "adbc-driver-postgresql",
    "psycopg": "'psycopg[binary]'",
    "dlt": "'dlt>=1.31'",
}
"""Names of pip packages that differ from the module name, for messages about missing modules."""


def needed(plugins: Iterable[Any]) -> dict[str, str]:
    """Return the modules that tasks import, each with a plugin that needs it: ``{"duckdb": "the transform Sql"}``."""
    return {module: _title(plugin) for plugin in plugins for module in plugin.task_modules}


def missing(plugin: Any) -> str | None:
    """Return a message about missing modules that a plugin imports in tasks; ``None`` if all are installed."""
    lacking = [module for module in plugin.task_modules if find_spec(module) is None]
    if not lacking:
        return None
    return f"{_title(plugin)} needs {' and '.join(lacking)} (not installed here): run pip install {packages(lacking)}"


def packages(modules: Iterable[str]) -> str:
    """Return the pip requirements for modules, as far as they can be determined on this machine."""
    distributions = packages_distributions()
    return " ".join(sorted({distributions.get(module, [_OTHER_NAMES.get(module, module)])[0] for module in modules}))


def _title(plugin: Any) -> str:
    made: Any = plugin if isinstance(plugin, type) else type(plugin)
    kind = "source" if issubclass(made, Source) else "sink" if issubclass(made, Sink) else "transform"
    return f"the {kind} {plugin.identifier}"
