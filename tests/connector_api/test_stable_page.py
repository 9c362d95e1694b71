"""The stable interface of connectors: the page lists it, and built-in connectors and examples use it."""

import ast
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

from seatunnel_core import connector_api
from seatunnel_core.connector_api.capabilities import SupportsRollback, SupportsSaveMode, can_roll_back
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.console import ConsoleSink
from tests.connector_api.stable_page import MODULES, PACKAGE, PAGE, ROOT, page

_SUITES = {"testing.endless_suite", "testing.kill_suite", "testing.killing", "testing.save_mode_suite",
           "testing.sink_suite", "testing.source_suite", "testing.transform_suite"}  # fmt: skip
FOUND = {each.name.removeprefix(f"{PACKAGE}.") for each in pkgutil.walk_packages(connector_api.__path__, f"{PACKAGE}.")}


def test_the_page_lists_the_names_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.connector_api.stable_page"


def test_the_page_has_every_module() -> None:
    assert set(MODULES) | _SUITES == FOUND


@pytest.mark.parametrize("module", sorted(FOUND))
def test_a_module_exports_what_it_has(module: str) -> None:
    code = import_module(f"{PACKAGE}.{module}")
    assert [name for name in code.__all__ if not hasattr(code, name)] == []


@pytest.mark.parametrize("file", ["minimal_source", "minimal_sink"])
def test_an_example_imports_stable_names_only(file: str) -> None:
    code = ast.parse((ROOT / "examples" / file / f"{file}.py").read_text(encoding="utf-8"))
    imports = [each for each in ast.walk(code) if isinstance(each, ast.ImportFrom)]
    ours = {each.module: [name.name for name in each.names] for each in imports if "seatunnel" in str(each.module)}
    assert ours
    for module, names in ours.items():
        assert set(names) <= set(import_module(str(module)).__all__)
        assert str(module).startswith(PACKAGE)


def test_the_tutorial_imports_from_the_stable_package_only() -> None:
    text = (Path(ROOT) / "docs/start/write-a-connector.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("from seatunnel", "import seatunnel"))]
    assert lines
    assert [line for line in lines if not line.startswith(f"from {PACKAGE}.")] == []


def test_only_a_rollback_can_be_ruled_out_for_one_sink() -> None:
    """Nothing else reads what is ruled out: a sink that ruled out its save mode would have emptied a table."""
    sink = ConsoleSink(options_of(ConsoleSink, {}))
    with pytest.raises(ValueError, match="only SupportsRollback"):
        sink.disable(SupportsSaveMode)
    sink.disable(SupportsRollback)
    assert not can_roll_back(sink)
