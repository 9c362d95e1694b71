"""The shape of the house: folders that one looks over at a glance."""

from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_MODULES = 25


@pytest.mark.parametrize("package", ["seatunnel_core", "seatunnel_storage_api", "plugins", "tests"])
def test_no_folder_holds_more_than_25_modules(package: str) -> None:
    modules = (path for path in (ROOT / package).rglob("*.py") if path.name != "__init__.py")
    crowded = {
        str(folder): count for folder, count in Counter(m.parent for m in modules).items() if count > MOST_MODULES
    }
    assert not crowded


def test_every_package_says_what_lives_in_it() -> None:
    """In the first sentence of its ``__init__.py``; a folder of templates has none."""
    silent = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "seatunnel_core").rglob("__init__.py")
        if not path.read_text(encoding="utf-8").startswith('"""')
    ]
    assert not silent
