"""Simulation of a kill between two lines of code: effects of earlier lines remain, and later lines have none."""

import ast
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

__all__ = ["Killed", "Killing", "code_of"]

_ENDING = {"open", "socket.connect", "sqlite3.connect", "subprocess.Popen"}
_ENDING_GROUPS = ("os.", "shutil.", "tempfile.")
"""Python audit events that are blocked after the kill, so that cleanup code in ``finally`` has no effect."""

_dead: list["Killing"] = []
_watched = False


class Killed(BaseException):
    """Simulated kill; a ``BaseException``, so that ``except Exception`` does not catch it."""


class Killing:
    """Context manager that counts the executed lines of given files, and stops the code before one of them.

    ::

        with Killing([Path("sink.py")], at=17) as killing:
            sink.commit(…)
        killing.place      # file and line of the kill; None if there were fewer lines
    """

    def __init__(self, files: Iterable[Path], at: int | None) -> None:
        """Count the executed lines of files or folders, and stop the code before line number ``at``, if given."""
        self.lines = 0
        self.place: str | None = None
        self._at = at
        self._wanted = tuple(str(file) for file in files)
        self._known: dict[str, bool] = {}
        self._former: Any = None

    def __enter__(self) -> "Killing":
        _watch()
        self._former = sys.gettrace()
        sys.settrace(self._on_call)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        sys.settrace(self._former)
        if self in _dead:
            _dead.remove(self)
        return self.place is not None

    def _on_call(self, frame: FrameType, event: str, argument: object) -> Any:
        name = frame.f_code.co_filename
        if name not in self._known:
            self._known[name] = name.startswith(self._wanted) and not name.startswith(_OWN)
        return self._on_line if self._known[name] else None

    def _on_line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line" and self.place is None and not _leaves_with(frame):
            self.lines += 1
            if self.lines == self._at:
                self.place = f"{Path(frame.f_code.co_filename).name}, before line {frame.f_lineno}"
                _dead.append(self)
                raise Killed(self.place)
        return self._on_line


def _leaves_with(frame: FrameType) -> bool:
    """Return True if Python has returned to the line of a ``with`` statement to exit it.

    A simulated kill there would keep the resources of the ``with``, such as a module lock, unlike a real one.
    """
    code, line = frame.f_code, frame.f_lineno
    if line not in _lines_of_with(code.co_filename):
        return False
    return frame.f_lasti != min(start for start, _, number in code.co_lines() if number == line)


@cache
def _lines_of_with(file: str) -> frozenset[int]:
    tree = ast.parse(Path(file).read_bytes())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.With)]
    # Python 3.13 leaves each of several items at that item's own line.
    return frozenset(
        line for node in found for line in (node.lineno, *(each.context_expr.lineno for each in node.items))
    )


_OWN = str(Path(__file__).parent)


def code_of(plugin: type, base: type) -> list[Path]:
    """Return the files, or package folders, with the code of a class and of its bases below ``base``."""
    found = []
    for each in plugin.__mro__[: plugin.__mro__.index(base)]:
        module = sys.modules[each.__module__]
        file = Path(str(module.__file__))
        found.append(file.parent if "." in each.__module__ else file)
    return found


def _watch() -> None:
    global _watched
    if not _watched:
        sys.addaudithook(_refuse)
        _watched = True


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if _dead and (event in _ENDING or event.startswith(_ENDING_GROUPS)):
        raise Killed(f"{event}, after the kill at {_dead[-1].place}")
