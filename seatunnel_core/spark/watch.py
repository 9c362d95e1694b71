"""A call that is made when a time has passed."""

import threading
from collections.abc import Callable


class Watch:
    """Calls once in so many seconds, and may be started again from that call."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._cancelled = False

    def start(self, call: Callable[[], object]) -> None:
        with self._lock:
            if self._cancelled:
                return
            self._timer = threading.Timer(self._seconds, call)
            self._timer.daemon = True
            self._timer.start()

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._timer is not None:
                self._timer.cancel()
