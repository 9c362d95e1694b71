"""``python -m tests.application.example_notebook``: runs the example's notebook, and takes the picture of the guide."""

import os
import tempfile
from pathlib import Path
from typing import Any

from tests.page.browsing import chromium, watched
from tests.page.pictures import take
from tests.runtime.command import engine_file

NOTEBOOK = Path(__file__).parents[2] / "examples/notebook/first_steps.ipynb"
OUTPUTS = ".jp-OutputArea-output"
"""What a page of nbconvert has for each thing that a cell shows."""


def executed(folder: Path) -> Any:
    """Run the notebook in a folder as Jupyter does, without a browser; return it with what its cells show.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell failed.
    """
    import nbformat
    from nbclient import NotebookClient

    engine_file(folder)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=180, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ, "IPYTHONDIR": str(folder / "ipython")})
    return notebook


def as_page(notebook: Any, path: Path, *, dark: bool = False) -> str:
    """Write a notebook as nbconvert's page, and return its address."""
    from nbconvert import HTMLExporter

    content, _ = HTMLExporter(theme="dark" if dark else "light").from_notebook_node(notebook)
    path.write_text(content, encoding="utf-8")
    return path.as_uri()


def main() -> None:
    """Take the picture of the last cells, with the report."""
    with tempfile.TemporaryDirectory(prefix="notebook-") as name, chromium() as browser:
        address = as_page(executed(Path(name)), Path(name, "page.html"))
        with watched(browser, address, width=1000, height=700) as seen:
            seen.page.goto(address)
            seen.page.get_by_role("heading", name="The report").scroll_into_view_if_needed()
            take(seen, "notebook")


if __name__ == "__main__":
    main()
