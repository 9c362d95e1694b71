"""A test kit for connectors: subclass ``SourceConformance``, ``EndlessSourceConformance`` or ``SinkConformance``, say
how to build yours, run pytest.

The kit needs no Spark: it calls a connector as the engine does, in one process.
"""

from seatunnel_core.connectors.testing.drive import Skipped, commit, options_of, plan, read, stage
from seatunnel_core.connectors.testing.endless_suite import EndlessSourceConformance
from seatunnel_core.connectors.testing.sink_suite import SinkConformance
from seatunnel_core.connectors.testing.source_suite import SourceConformance

__all__ = [
    "EndlessSourceConformance",
    "SinkConformance",
    "Skipped",
    "SourceConformance",
    "commit",
    "options_of",
    "plan",
    "read",
    "stage",
]
