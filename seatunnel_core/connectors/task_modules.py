"""What the tasks of plugins import beyond pyarrow: found missing in the driver, and told with what to install.

On the executors the same modules are looked for by the probe of the Spark layer.
"""

from collections.abc import Iterable
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from typing import Any

from seatunnel_core.connectors.sink import Sink
from seatunnel_core.connectors.source import Source

_OTHER_NAMES = {
    "jsonpath": "python-jsonpath",
    "adbc_driver_postgresql": "adbc-driver-postgresql",
    "psycopg": "'psycopg[binary]'",
}
"""What pip calls a module that is not installed, where a package of the module's own name is another one."""


def needed(plugins: Iterable[Any]) -> dict[str, str]:
    """Each module that the tasks of these plugins import, and who needs it: ``{"duckdb": "the transform Sql"}``."""
    return {module: _title(plugin) for plugin in plugins for module in plugin.task_modules}


def missing(plugin: Any) -> str | None:
    """What to tell a person whose Python has not got what a plugin's tasks import; ``None`` when nothing is missing."""
    lacking = [module for module in plugin.task_modules if find_spec(module) is None]
    if not lacking:
        return None
    return f"{_title(plugin)} needs {' and '.join(lacking)}, not installed here: run pip install {packages(lacking)}"


def packages(modules: Iterable[str]) -> str:
    """What pip has to be given for the modules, as far as this machine can tell."""
    distributions = packages_distributions()
    return " ".join(sorted({distributions.get(module, [_OTHER_NAMES.get(module, module)])[0] for module in modules}))


def _title(plugin: Any) -> str:
    made: Any = plugin if isinstance(plugin, type) else type(plugin)
    kind = "source" if issubclass(made, Source) else "sink" if issubclass(made, Sink) else "transform"
    return f"the {kind} {plugin.identifier}"
