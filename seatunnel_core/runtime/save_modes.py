"""Save modes, applied once per job and target before any pipeline of the job publishes to the target (R4)."""

import threading
from collections import defaultdict

from attrs import define, field

from seatunnel_core.connector_api.capabilities import SupportsSaveMode
from seatunnel_core.connector_api.sink import Sink, SinkContext


@define
class SaveModes:
    """Save modes that one process applies for all pipelines of a job."""

    _guard: threading.Lock = field(factory=lambda: threading.Lock())
    _locks: dict[str, threading.Lock] = field(factory=lambda: defaultdict(lambda: threading.Lock()))
    _acted: set[str] = field(factory=set)
    """Targets to which this process has applied a save mode."""

    def apply(self, sink: Sink, context: SinkContext) -> None:
        """Apply the save mode of a sink, unless another sink of the job has applied it to the same target."""
        if not isinstance(sink, SupportsSaveMode):
            return
        mode = sink.save_mode
        if mode is None or sink.defers_save_mode:
            sink.apply_save_mode(context)
            return
        with self._guard:
            lock = self._locks[mode.target]
        with lock:
            if mode.target not in self._acted:
                sink.apply_save_mode(context)
                self._acted.add(mode.target)
