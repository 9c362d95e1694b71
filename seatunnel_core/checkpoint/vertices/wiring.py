"""Delivery of messages inside one pipeline, and collection of its commands."""

from collections import deque
from collections.abc import Callable
from typing import Any

from seatunnel_core.checkpoint.commands import CancelTimer, Command, SetTimer
from seatunnel_core.checkpoint.vertices.messages import Message

Receiver = Callable[[Any], None]
"""Receiver of the messages sent in one direction, which the unions in ``messages`` list."""


class Channel:
    """First-in, first-out channel that neither loses nor duplicates messages."""

    __slots__ = ("_queue", "_receive", "_wiring")

    def __init__(self, wiring: "Wiring", receive: Receiver) -> None:
        self._wiring = wiring
        self._receive = receive
        self._queue: deque[Message] = deque()

    def send(self, message: Message) -> None:
        """Append a message; ``Wiring.deliver`` delivers it."""
        self._queue.append(message)
        self._wiring.ready.append(self)

    def deliver_one(self) -> None:
        """Deliver the oldest message to the receiver."""
        self._receive(self._queue.popleft())


class Wiring:
    """Channels of one pipeline, its timers, and the commands for the current event.

    ``ready`` contains a channel once for every message in it. The protocol is correct for any order between channels;
    the simulation delivers in random order and with delays.
    """

    def __init__(self) -> None:
        self.now_ms = 0
        """Time of the current event; it never decreases."""

        self.ready: deque[Channel] = deque()
        self._commands: list[Command] = []
        self._timers: dict[str, tuple[int, Callable[[], None]]] = {}
        self._new_timers: dict[str, SetTimer] = {}

    def deliver(self) -> None:
        """Deliver messages until none is left."""
        while self.ready:
            self.ready.popleft().deliver_one()

    def do(self, command: Command) -> None:
        """Add a command for the runtime."""
        self._commands.append(command)

    def take_commands(self) -> tuple[Command, ...]:
        """Return the commands added since the last call, without timers that were set and cancelled in between."""
        commands = tuple(self._commands)
        self._commands.clear()
        self._new_timers.clear()
        return commands

    def set_timer(self, key: str, at_ms: int, action: Callable[[], None]) -> None:
        """Call ``action`` at ``at_ms``; replace any timer with the same key."""
        armed = self._timers.get(key)
        self._timers[key] = (at_ms, action)
        if armed is not None and armed[0] == at_ms:
            return
        command = SetTimer(key=key, at_ms=at_ms)
        if armed is None:
            self._new_timers[key] = command
        self.do(command)

    def cancel_timer(self, key: str) -> None:
        """Cancel the timer with this key, if it exists."""
        if self._timers.pop(key, None) is None:
            return
        new = self._new_timers.pop(key, None)
        if new is not None and self._commands[-1] is new:
            self._commands.pop()
        else:
            self.do(CancelTimer(key=key))

    def fire(self, key: str) -> None:
        """Call the action of a timer; ignore a timer that was cancelled or postponed, or that has already fired."""
        at_ms, action = self._timers.get(key, (self.now_ms + 1, None))
        if action is not None and at_ms <= self.now_ms:
            del self._timers[key]
            action()

    def end(self) -> None:
        """Drop all messages and timers, so that nothing more is delivered."""
        self.ready.clear()
        self._timers.clear()
