"""The shape of the house: folders that one looks over at a glance."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("seatunnel_core", "seatunnel_storage_api", "plugins", "tests")
MOST_MODULES = 25
MOST_LINES = 400
MOST_LINES_OF_CODE = 40
"""Of a function, without its docstring."""

LONG_FILES = {
    "seatunnel_core/checkpoint/coordinator.py": "one state machine: its handlers are read together, and what stands "
    "apart from them (start, publishing, savepoints, health) is apart",
    "seatunnel_storage_api/blob.py": "one class, and the page that authors of storages read",
    "tests/checkpoint/simulation/engine.py": "one driver, which carries out each command of the protocol by a model",
    "tests/checkpoint/simulation/world.py": "one world: what outlives engines, and each step that may happen to them",
    "tests/server/simulation/world.py": "one world: its nodes, and each step that may happen to them",
}
LONG_FUNCTIONS = {
    "seatunnel_core/runtime/job_run.py JobRun.__init__": "a field for each argument",
    "seatunnel_core/runtime/job_threads.py JobThreads.__init__": "a field for each argument",
    "tests/server/nemesis/campaign.py play_batch": "a field for each figure of a batch",
    "tests/server/simulation/world.py _patches": "one table of what is simulated",
}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_folder_holds_more_than_25_modules(package: str) -> None:
    folders = Counter(path.parent for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py")
    crowded = {str(folder): count for folder, count in folders.items() if count > MOST_MODULES}
    assert not crowded


def test_every_package_says_what_lives_in_it() -> None:
    """In the first sentence of its ``__init__.py``; a folder of templates has none."""
    silent = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "seatunnel_core").rglob("__init__.py")
        if not path.read_text(encoding="utf-8").startswith('"""')
    ]
    assert not silent


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if not {"build", ".venv"} & set(path.relative_to(ROOT).parts):
                yield path


def test_files_are_short_except_those_listed() -> None:
    """One that has become short leaves the list, so that it cannot grow again unnoticed."""
    counts = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {file for file, count in counts.items() if count > MOST_LINES} == LONG_FILES.keys()


def test_functions_are_short_except_those_listed() -> None:
    long = {
        f"{path.relative_to(ROOT)} {name}"
        for path in modules()
        for name, function in functions(ast.parse(path.read_text(encoding="utf-8")))
        if lines_of_code(function) > MOST_LINES_OF_CODE
    }
    assert long == LONG_FUNCTIONS.keys()


def functions(node: ast.AST, within: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from functions(child, f"{within}{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + child.name, child
            yield from functions(child, f"{within}{child.name}.")


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    described = 0 if docstring is None else (docstring.end_lineno or 0) - docstring.lineno + 1
    return (function.end_lineno or 0) - function.lineno + 1 - described
