"""Problems in a configuration, collected to show all of them together."""

import difflib
import enum
from collections.abc import Iterable

from attrs import define, field, frozen

from seatunnel_core.config.document import Position
from seatunnel_core.config.limits import Budget
from seatunnel_core.errors import ConfigError, UsageError


class Severity(enum.Enum):
    """Severity of a problem. Only errors cause the file to be rejected."""

    ERROR = "error"
    WARNING = "warning"


@frozen
class Problem:
    """A message with a position and a suggestion."""

    message: str
    position: Position | None = None
    suggestion: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        place = f"{self.position}: " if self.position is not None and self.position.file else ""
        message = " ".join(self.message.splitlines())
        return f"{place}{message}" + (f". {self.suggestion}" if self.suggestion else "")


@define
class Problems:
    """Problems found in one run, in order of discovery."""

    found: list[Problem] = field(factory=list)

    strict: bool = False
    """True if ``lenient`` reports problems as errors."""

    budget: Budget = field(factory=Budget, repr=False)
    """Remaining limits for the document that is being parsed."""

    _said: set[str] = field(factory=set, init=False, repr=False)
    _known: set[Problem] = field(factory=set, init=False, repr=False)

    def error(self, message: str, position: Position | None = None, suggestion: str = "") -> None:
        """Report an error."""
        self._add(Problem(message, position, suggestion))

    def warn(self, message: str, position: Position | None = None, suggestion: str = "") -> None:
        """Report a warning."""
        self._add(Problem(message, position, suggestion, Severity.WARNING))

    def _add(self, problem: Problem) -> None:
        if problem not in self._known:
            self._known.add(problem)
            self.found.append(problem)

    def warn_once(self, message: str, position: Position | None = None, suggestion: str = "") -> None:
        """Report a warning only once, even if each of a thousand tables causes it."""
        if message not in self._said:
            self._said.add(message)
            self.warn(message, position, suggestion)

    def lenient(self, message: str, position: Position | None = None, suggestion: str = "") -> None:
        """Report a problem that existing files may have: a warning by default, an error with ``--strict``."""
        (self.error if self.strict else self.warn)(message, position, suggestion)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Errors, in the order in which they were found."""
        return tuple(problem for problem in self.found if problem.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Warnings, in the order in which they were found."""
        return tuple(problem for problem in self.found if problem.severity is Severity.WARNING)

    def raise_errors(self, kind: type[UsageError] = ConfigError) -> None:
        """Raise ``kind`` with all errors, one per line, if there are any."""
        if self.errors:
            raise kind("\n".join(str(problem) for problem in self.errors))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most similar to ``word``, or ``None``. Case, ``-``, ``_`` and ``.`` are ignored."""
    folded = {_folded(candidate): candidate for candidate in known}
    close = difflib.get_close_matches(_folded(word), folded, n=1, cutoff=0.75)
    return folded[close[0]] if close else None


def _folded(word: str) -> str:
    return word.lower().replace("-", "_").replace(".", "_")
