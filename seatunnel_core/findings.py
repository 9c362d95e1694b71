"""Findings about independent parts of an option or a schema, raised together."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from attrs import define, field

from seatunnel_core.errors import SeaTunnelError, UsageError, each_of

T = TypeVar("T")


@define
class Findings:
    """Collector of the errors of parts, each raised inside ``part``, until ``raise_all``."""

    kind: type[SeaTunnelError] = UsageError
    """Class of the error that ``raise_all`` raises, or a subclass of it that all errors have."""

    _messages: list[str] = field(factory=list, init=False)
    _classes: set[type[Exception]] = field(factory=set, init=False)

    @contextmanager
    def part(self, prefix: str = "") -> Iterator[None]:
        """Keep the error of the body, with a prefix, and continue after it; raise a retryable error immediately."""
        try:
            yield
        except (SeaTunnelError, ValueError) as error:
            if getattr(error, "retryable", False):
                raise
            self._messages += [f"{prefix}{message}" for message in each_of(error)]
            self._classes.add(type(error))

    def of(self, make: Callable[[], T], default: T, prefix: str = "") -> T:
        """Return the result of ``make``, or the default if it raises an error, which is kept."""
        with self.part(prefix):
            return make()
        return default

    @property
    def found(self) -> bool:
        """True if at least one finding was collected."""
        return bool(self._messages)

    def raise_all(self) -> None:
        """Raise one error with all distinct findings, if any."""
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
