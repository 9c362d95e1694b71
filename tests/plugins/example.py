"""The plugins in ``examples``, installed as a stranger would."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


@contextmanager
def installed(name: str, target: Path) -> Iterator[None]:
    """Importable and with its entry points, in a folder of its own."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--disable-pip-version-check", "--target", target, EXAMPLES / name], check=True)
    sys.path.append(str(target))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(target))
