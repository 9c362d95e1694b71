"""Timers of an epoch on the loop."""

import asyncio
from collections.abc import Callable

from attrs import define, field

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.events import Event
from seatunnel_core.clock import now_ms


@define(eq=False)
class Timers:
    """Timers by key. All methods run on the loop's thread."""

    _loop: asyncio.AbstractEventLoop
    _deliver: Callable[[Callable[[int], Event]], None]
    """Function that delivers an event. Its argument creates the event for the current time."""

    _handles: dict[str, asyncio.TimerHandle] = field(factory=dict, init=False)

    def set(self, command: commands.SetTimer) -> None:
        """Set a timer, replacing any timer with the same key."""
        self.cancel(command)
        delay_s = max(0, command.at_ms - now_ms()) / 1000
        self._handles[command.key] = self._loop.call_later(delay_s, self._fired, command)

    def cancel(self, command: commands.SetTimer | commands.CancelTimer) -> None:
        """Cancel the timer with the key of the command, if it is set."""
        handle = self._handles.pop(command.key, None)
        if handle is not None:
            handle.cancel()

    def cancel_all(self) -> None:
        """Cancel all timers."""
        for handle in self._handles.values():
            handle.cancel()
        self._handles.clear()

    def _fired(self, timer: commands.SetTimer) -> None:
        del self._handles[timer.key]
        self._deliver(lambda now: events.TimerFired(now_ms=max(now, timer.at_ms), key=timer.key))
