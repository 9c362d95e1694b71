"""Test kit that calls connectors as the engine does, in one process and without Spark.

Subclass ``SourceConformance``, ``EndlessSourceConformance`` or ``SinkConformance``, describe your connector in the
abstract methods, and run pytest. For transforms, subclass ``TransformConformance``.
"""

from seatunnel_core.connector_api.testing.drive import Skipped, commit, options_of, plan, read, stage
from seatunnel_core.connector_api.testing.endless_suite import EndlessSourceConformance
from seatunnel_core.connector_api.testing.sink_suite import SinkConformance
from seatunnel_core.connector_api.testing.source_suite import SourceConformance
from seatunnel_core.connector_api.testing.transform_suite import TransformConformance

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
