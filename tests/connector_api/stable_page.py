"""``python -m tests.connector_api.stable_page`` writes the page of the stable interface from ``connector_api``."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from seatunnel_core.connector_api.option import Option, OptionType

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "connector-api.md"
PACKAGE = "seatunnel_core.connector_api"
MODULES = (
    "source", "sink", "transform", "capabilities", "source_progress", "replication_slot", "option", "batch", "schema",
    "values", "errors", "sink_context", "several_tables", "increments", "written_options", "within_extent", "testing",
    "testing.drive",
)  # fmt: skip
"""The modules on the page, in its order. The suites of ``testing`` are on the page by their package."""

_HEAD = """<!-- made by python -m tests.connector_api.stable_page from the code -->
# Connector API

Import only from `seatunnel_core.connector_api` when you write a source, sink or transform. The names on this page are
its stable interface: `__all__` of each module. Everything else in the project may change without notice;
[versions](versions.md) defines these promises. [Write a connector](../start/write-a-connector.md) is the tutorial, and
[connector interface](connector-interface.md) describes the contract of the methods.
"""


def page() -> str:
    """Return the text of the page."""
    text, listed = _HEAD, set[str]()
    for module in MODULES:
        code = import_module(f"{PACKAGE}.{module}")
        names = [name for name in code.__all__ if name not in listed]
        if not names:
            continue
        listed.update(names)
        text += f"\n## {module}\n\n{_summary(inspect.getdoc(code) or '')}\n\n| name | meaning |\n|---|---|\n"
        text += "".join(f"| `{name}` | {_meaning(code, name)} |\n" for name in names)
    return text


def _meaning(code: Any, name: str) -> str:
    value = getattr(code, name)
    said = dict(_said_of_names(code)).get(name)
    if said is None and isinstance(value, OptionType):
        said = dict(_said_of_names(import_module("seatunnel_core.config.option"))).get(name)
        return f"Option type: {value.name}." + (f" {_summary(said)}" if said else "")
    if said is None and isinstance(value, Option):
        said = f"The option ``{value.key}``: {value.doc}"
    if said is None and (inspect.isclass(value) or inspect.isfunction(value)):
        said = inspect.getdoc(value)
    return _summary(said or _said_where_it_is_defined(code, name) or f"The value `{value!r}`.")


def _said_where_it_is_defined(code: Any, name: str) -> str | None:
    """Return the text below an imported name, in the module from which it is imported."""
    imports = (each for each in ast.parse(inspect.getsource(code)).body if isinstance(each, ast.ImportFrom))
    module = next((each.module for each in imports if name in {alias.name for alias in each.names}), None)
    return dict(_said_of_names(import_module(module))).get(name) if module else None


def _said_of_names(code: Any) -> Iterator[tuple[str, str]]:
    """Yield the names to which a module assigns values, each with the text below it."""
    body = ast.parse(inspect.getsource(code)).body
    for statement, following in pairwise(body):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            yield from ((each.id, str(following.value.value)) for each in targets if isinstance(each, ast.Name))


def _summary(text: str) -> str:
    """Return the first sentence as Markdown of a table's cell."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[a-z`)»\"'])\. (?=[A-Z`])", paragraph)[0].rstrip(".")
    return re.sub(r"``(.+?)``", r"`\1`", sentence).replace("|", "\\|") + "."


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
