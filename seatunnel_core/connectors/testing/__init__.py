"""A test kit for connectors: subclass ``SourceConformance``, ``EndlessSourceConformance``, ``SinkConformance`` or
``TransformConformance``, say how to build yours, run pytest.

The kit needs no Spark: it calls a connector as the engine does, in one process.
"""

from seatunnel_core.connectors.testing.drive import Skipped, commit, options_of, plan, read, stage
from seatunnel_core.connectors.testing.endless_suite import EndlessSourceConformance
from seatunnel_core.connectors.testing.sink_suite import SinkConformance
from seatunnel_core.connectors.testing.source_suite import SourceConformance
from seatunnel_core.connectors.testing.transform_suite import TransformConformance

__all__ = [
    "EndlessSourceConformance",
    "SinkConformance",
    "Skipped",
    "SourceConformance",
    "TransformConformance",
    "commit",
    "options_of",
    "plan",
    "read",
    "stage",
]
