"""The address of Spark: the values that ``spark.master`` in a job's ``env`` and ``--master`` may have."""

import re

from seatunnel_core.config.document import Scalar, Value
from seatunnel_core.config.problem import Problems

_MASTER = re.compile(
    r"local|local\[(\*|0*[1-9]\d*)(\s*,\s*\d+)?\]|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|spark://.+|k8s://.+|yarn"
)
"""What Spark itself takes. It says so only when it starts, which is after the job was claimed."""


def refuse_master(written: Value | None, problems: Problems) -> None:
    """Report a ``spark.master`` with which no Spark can start."""
    if not isinstance(written, Scalar) or written.value is None or _MASTER.fullmatch(written.text):
        return
    problems.error(f"env: 'spark.master': {no_master(written.text)}", written.position)


def no_master(text: str) -> str:
    """Return why a text is no master, and what to write instead."""
    if text.startswith("sc://"):
        return (
            "Spark Connect has no job tags and no scheduler pools, which this engine needs to cancel and share work. "
            "Write the address of the master itself: spark://HOST:PORT"
        )
    return f"expected local, local[N] with N from 1, or spark://HOST:PORT, found {text!r}"
