"""Findings about independent parts of an option or a schema, raised as one error."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from attrs import define, field

from seatunnel_core.errors import SeaTunnelError, UsageError, each_of

T = TypeVar("T")


@define
class Findings:
    """Collector of errors that are raised in the context ``part``; ``raise_all`` raises them as one error."""

    kind: type[SeaTunnelError] = UsageError
    """Class of the error that ``raise_all`` raises, unless all errors are of the same subclass."""

    _messages: list[str] = field(factory=list, init=False)
    _classes: set[type[Exception]] = field(factory=set, init=False)

    @contextmanager
    def part(self, prefix: str = "") -> Iterator[None]:
        """Collect an error of the ``with`` block, with a prefix, and continue; raise a retryable error at once."""
        try:
            yield
        except (SeaTunnelError, ValueError) as error:
            if getattr(error, "retryable", False):
                raise
            self._messages += [f"{prefix}{message}" for message in each_of(error)]
            self._classes.add(type(error))

    def of(self, make: Callable[[], T], default: T, prefix: str = "") -> T:
        """Return the result of ``make``; if it raises an error, collect the error and return the default."""
        with self.part(prefix):
            return make()
        return default

    @property
    def found(self) -> bool:
        """True if an error was collected."""
        return bool(self._messages)

    def raise_all(self) -> None:
        """Raise one error with all distinct findings, if there are any."""
        if not self._messages:
            return
        [*found] = self._classes
        kind = found[0] if len(found) == 1 and issubclass(found[0], self.kind) else self.kind
        raise kind.joined(tuple(dict.fromkeys(self._messages)))


def check_each(check: Callable[[T], object], parts: Iterable[T], kind: type[SeaTunnelError] = UsageError) -> None:
    """Check independent parts, and raise one error with all findings."""
    findings = Findings(kind)
    for part in parts:
        with findings.part():
            check(part)
    findings.raise_all()
