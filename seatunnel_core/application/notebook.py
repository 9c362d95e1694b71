"""Progress of a job in a notebook: one output below the cell, updated in place through IPython's display handle.

Jupyter, JupyterLab, VS Code and nbconvert support this without a widget. Only the thread that runs the cell updates it,
because output from another thread may appear below another cell.
"""

import sys
from typing import Any, Protocol


class Shown(Protocol):
    """Object with an HTML and a plain-text representation for notebooks."""

    def _repr_html_(self) -> str: ...


class Output:
    """Output area below the running cell. Shows nothing outside notebooks."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted and _in_notebook()
        self._handle: Any = None
        self._last: dict[str, str] = {}

    def show(self, shown: Shown) -> None:
        """Show the current state of an object in place of the previous output."""
        if not self._wanted:
            return
        content = {"text/html": shown._repr_html_(), "text/plain": repr(shown)}
        if self._handle is None:
            from IPython.display import display

            self._handle = display(content, raw=True, display_id=True)
        elif content != self._last:
            self._handle.update(content, raw=True)
        self._last = content

    def stands_for(self, result: Shown) -> None:
        """Show a result in place of the progress display if the result is the value of the running cell.

        Otherwise the notebook would show it a second time. In another cell, the result is displayed as usual.
        """
        if self._handle is None:
            return
        shell = sys.modules["IPython"].get_ipython()
        cell = shell.execution_count

        def show_here(found: object) -> None:
            if found is not result or shell.execution_count != cell:
                raise NotImplementedError  # IPython then shows it in this output
            self.show(result)

        shell.display_formatter.ipython_display_formatter.for_type(type(result), show_here)


def _in_notebook() -> bool:
    """Return True if this code runs in a notebook kernel. Does not import IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")
