"""The libraries of the page: which ones, from where, and how they come into ``static/vendor`` again.

``make page-libraries`` fetches them with npm, and writes the files and ``libraries.json``. Nobody needs that to build,
install or run anything: the files lie in the clone.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

PAGE = Path(__file__).parents[2] / "seatunnel_core/page"
VENDOR = PAGE / "static/vendor"
NOTE = PAGE / "libraries.json"


@frozen(kw_only=True)
class Library:
    """One package of the npm registry."""

    name: str
    version: str
    licence: str
    integrity: str
    """Of the package, as the registry states it."""

    files: Mapping[str, str]
    """By their names in ``static/vendor``: their names in the package."""


LIBRARIES = (
    Library(
        name="preact",
        version="11.2.0",
        licence="MIT",
        integrity="sha512-/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        files={
            "preact.js": "dist/preact.mjs",
            "hooks.js": "hooks/dist/hooks.mjs",
            "preact.LICENSE.txt": "LICENSE",
        },
    ),
    Library(
        name="htm",
        version="3.1.1",
        licence="Apache-2.0",
        integrity="sha512-983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        files={"htm.js": "dist/htm.mjs", "htm.LICENSE.txt": "LICENSE"},
    ),
    Library(
        name="uplot",
        version="1.6.32",
        licence="MIT",
        integrity="sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        files={"uplot.js": "dist/uPlot.iife.min.js", "uplot.css": "dist/uPlot.min.css", "uplot.LICENSE.txt": "LICENSE"},
    ),
)

CHANGES: Mapping[str, Callable[[str], str]] = {
    "hooks.js": lambda text: text.replace('from"preact"', 'from"./preact.js"'),  # a browser knows no packages
    "uplot.js": lambda text: f"{text}\nexport default uPlot;\n",  # a script becomes a module
}
"""What is changed of a file, beside the reference to its source map, which is left out."""


def written(name: str, text: str) -> str:
    """Return a file as it lies in ``static/vendor``."""
    lines = [line for line in text.splitlines() if not line.startswith("//# sourceMappingURL=")]
    return CHANGES.get(name, str)("\n".join(lines).strip() + "\n")


def fetch(library: Library, folder: Path) -> None:
    """Fetch a package into a folder, and write its files.

    Raises:
        ValueError: it is not what was fetched the last time.
    """
    command = ["npm", "pack", "--json", "--pack-destination", str(folder), f"{library.name}@{library.version}"]
    (packed,) = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    if packed["integrity"] != library.integrity:
        raise ValueError(f"{library.name} {library.version} is {packed['integrity']}, not {library.integrity}")
    with tarfile.open(folder / packed["filename"]) as package:
        for name, member in library.files.items():
            found = package.extractfile(f"package/{member}")
            assert found is not None, member
            (VENDOR / name).write_text(written(name, found.read().decode()))


def note() -> str:
    """Return what ``libraries.json`` says of the files that lie there."""
    listed = [
        {
            "name": library.name,
            "version": library.version,
            "licence": library.licence,
            "integrity": library.integrity,
            "sha256": {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in library.files},
        }
        for library in LIBRARIES
    ]
    return json.dumps(listed, indent=2) + "\n"


def main() -> None:
    """Fetch all libraries, and note what they are."""
    with tempfile.TemporaryDirectory() as folder:
        for library in LIBRARIES:
            fetch(library, Path(folder))
    NOTE.write_text(note())
    sys.stdout.write(f"{len(LIBRARIES)} libraries lie in {VENDOR}\n")


if __name__ == "__main__":
    main()
