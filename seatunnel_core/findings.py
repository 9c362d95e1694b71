"""Findings about independent parts of one option or schema, raised together instead of the first one only."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from attrs import define, field

from seatunnel_core.errors import SeaTunnelError, UsageError, each_of

T = TypeVar("T")


@define
class Findings:
    """Collects the errors of parts, each inside of ``part``, until ``raise_all``."""

    kind: type[SeaTunnelError] = UsageError
    """The class of the error that ``raise_all`` raises, or its ancestor if all errors are of one class."""

    _messages: list[str] = field(factory=list, init=False)
    _classes: set[type[Exception]] = field(factory=set, init=False)

    @contextmanager
    def part(self, prefix: str = "") -> Iterator[None]:
        """Keep the error of what is inside, with a prefix, and continue behind it.

        An error that a retry may correct is no finding and is raised at once.
        """
        try:
            yield
        except (SeaTunnelError, ValueError) as error:
            if getattr(error, "retryable", False):
                raise
            self._messages += [f"{prefix}{message}" for message in each_of(error)]
            self._classes.add(type(error))

    def of(self, make: Callable[[], T], default: T, prefix: str = "") -> T:
        """Return what ``make`` returns, or the default if it raises, which ``raise_all`` then reports."""
        with self.part(prefix):
            return make()
        return default

    @property
    def found(self) -> bool:
        """Whether there is a finding so far."""
        return bool(self._messages)

    def raise_all(self) -> None:
        """Raise one error with all findings, each once; do nothing without any."""
        if not self._messages:
            return
        [*found] = self._classes
        kind = found[0] if len(found) == 1 and issubclass(found[0], self.kind) else self.kind
        raise kind.joined(tuple(dict.fromkeys(self._messages)))


def check_each(check: Callable[[T], object], parts: Iterable[T], kind: type[SeaTunnelError] = UsageError) -> None:
    """Check parts that do not depend on each other, and raise one error with all findings."""
    findings = Findings(kind)
    for part in parts:
        with findings.part():
            check(part)
    findings.raise_all()
