"""One server of a kind for all jobs of this process."""

import atexit
import threading
from typing import Any, Protocol, TypeVar, cast


class Startable(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...


Kind = TypeVar("Kind", bound=Startable)

_starting = threading.Lock()
_running: dict[type[Any], Any] = {}


def shared(kind: type[Kind]) -> Kind:
    """The server, started for whoever asks first; several may ask at the same time. It is stopped with the process."""
    with _starting:
        if kind not in _running:
            made = kind()
            made.start()
            atexit.register(made.stop)
            _running[kind] = made
        return cast(Kind, _running[kind])
