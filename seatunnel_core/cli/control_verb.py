"""What can be asked of running jobs."""

import enum


class ControlVerb(enum.Enum):
    """The requests to running jobs."""

    LIST = "list"
    METRICS = "metrics"
    SAVEPOINT = "savepoint"
    STOP = "stop"
