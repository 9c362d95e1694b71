"""The progress of a job on a cluster: one line that stays in place on a terminal, otherwise a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from seatunnel_core.quantity import count, rate, size

EVERY_S = 10.0
"""Between two lines where there is no terminal."""


class JobProgressLine:
    """Says how a job stands, from the answers of ``job-info``.

    Args:
        show: shows a line that the next one replaces; ``None`` where lines stay.
        write: writes a line that stays.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        show: Callable[[str], None] | None,
        write: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._show = show
        self.write = write
        self._clock = clock
        self._next = clock() + EVERY_S
        self._last: tuple[float, int] | None = None
        self._rate = 0.0

    def tell(self, job: Mapping[str, Any]) -> None:
        """Show the figures of a running job."""
        now, read = self._clock(), _figure(job, "SourceReceivedCount")
        if self._last is not None and now - self._last[0] >= 1.0:
            self._rate = max(0.0, (read - self._last[1]) / (now - self._last[0]))
        if self._last is None or now - self._last[0] >= 1.0:
            self._last = (now, read)
        line = (
            f"Job {job['jobId']}: {job['jobStatus']}, {count(read)} rows read, "
            f"{size(_figure(job, 'SourceReceivedBytes'))}, {rate(self._rate)}, "
            f"{count(_figure(job, 'SinkCommittedCount'))} committed"
        )
        if self._show is not None:
            self._show(line)
        elif now >= self._next:
            self._next = now + EVERY_S
            self.write(line)


def _figure(job: Mapping[str, Any], name: str) -> int:
    try:
        return int(float(job["metrics"].get(name, 0)))
    except (KeyError, TypeError, ValueError, OverflowError):  # a node of another version
        return 0


@contextmanager
def job_progress_line() -> Iterator[JobProgressLine]:
    """Yield what shows a job on this standard output."""
    if not sys.stdout.isatty():
        yield JobProgressLine(None, lambda line: print(line, flush=True))
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(highlight=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield JobProgressLine(
            lambda line: live.update(Text(line, overflow="ellipsis", no_wrap=True), refresh=True),
            lambda line: console.print(line, markup=False, soft_wrap=True),
        )
