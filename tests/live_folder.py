"""Listing of folders in which running processes create and remove files."""

import os
from pathlib import Path


def paths_below(folder: Path) -> list[Path]:
    """Return all files and folders below a folder, sorted. ``Path.rglob`` fails when a folder disappears meanwhile, as
    the temporary ones of Spark and of staging do."""
    return sorted(Path(where, name) for where, folders, files in os.walk(folder) for name in (*folders, *files))


def files_below(folder: Path) -> list[Path]:
    """Return the files below a folder, sorted."""
    return [path for path in paths_below(folder) if path.is_file()]


def content_of(path: Path) -> bytes:
    """Return the content of a file, or nothing if it has disappeared."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
