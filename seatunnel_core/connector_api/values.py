"""Values that the engine and connectors exchange."""

from seatunnel_core.work.committable import Committable
from seatunnel_core.work.retraction import Retraction
from seatunnel_core.work.split import Split
from seatunnel_core.work.unit import WorkUnit
from seatunnel_core.work.window import Cursor, Window

__all__ = ["Committable", "Cursor", "Retraction", "Split", "Window", "WorkUnit"]
