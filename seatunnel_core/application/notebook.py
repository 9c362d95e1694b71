"""Progress of a job in a notebook: one output below the cell, which IPython's display handle updates in place.

Jupyter, JupyterLab, VS Code and nbconvert support it without a widget. The thread that runs the cell updates it,
because an output of another thread may land below another cell.
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
        """Replace the progress display with a result that is the value of the running cell: it is shown only once.

        In another cell the result is shown like any other value.
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
    """Return True if this code runs in a kernel, which can show HTML. Does not import IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")
