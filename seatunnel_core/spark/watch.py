"""Restartable timer."""

import threading
from collections.abc import Callable


class Watch:
    """Timer that calls a function after a delay in seconds. The function may restart it. Thread-safe."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._cancelled = False

    def start(self, call: Callable[[], object]) -> None:
        """Call the function after the delay, in a separate thread, unless the timer was cancelled."""
        with self._lock:
            if self._cancelled:
                return
            self._timer = threading.Timer(self._seconds, call)
            self._timer.daemon = True
            self._timer.start()

    def cancel(self) -> None:
        """Stop the timer permanently. A call that is already running continues."""
        with self._lock:
            self._cancelled = True
            if self._timer is not None:
                self._timer.cancel()
