"""Options of a job's ``env`` block."""

import re
from typing import Any

from seatunnel_core.config.document import Scalar, Value
from seatunnel_core.config.option import BOOLEAN, DURATION_MS, ENUM, LIST, LONG, MAP, NESTED, STRING, Option, within
from seatunnel_core.config.problem import Problems

PARALLELISM = Option(
    "parallelism",
    within(1, 100_000),
    default=1,
    doc="Maximum number of concurrent work units of each source; a source's own `parallelism` overrides it.",
)
JOB_NAME = Option("job.name", STRING, default="SeaTunnel_Job", doc="Name of the job, for display.")
STATE_NAME = Option(
    "state.name",
    STRING,
    doc="Name under which the cursors of sources with `incremental` are stored; by default `job.name`.",
)
STREAMING = "STREAMING"
JOB_MODE = Option(
    "job.mode",
    ENUM("BATCH", STREAMING),
    default="BATCH",
    doc="`BATCH`: the job ends when its sources end, and takes checkpoints only if `checkpoint.interval` is set here. "
    "`STREAMING`: the job always takes checkpoints, and some sources never end: `FakeSource` waits after its rows.",
)
RETRY_TIMES = Option(
    "job.retry.times",
    within(0, 1_000_000),
    default=3,
    doc="Maximum number of restarts of a failed pipeline; the count resets after ten minutes without a failure.",
)
RETRY_INTERVAL = Option(
    "job.retry.interval.seconds",
    within(0, 86_400),
    default=3,
    unit="seconds",
    doc="Maximum delay before the first restart. It doubles with each further restart, up to 5 minutes, until rows are "
    "committed again; the actual delay is random, up to this value.",
)
CHECKPOINT_INTERVAL = Option(
    "checkpoint.interval",
    DURATION_MS,
    unit="ms",
    doc="Time between two checkpoints. By default, batch jobs take none, and streaming jobs and jobs with an unbounded "
    "source use the engine's interval.",
)
CHECKPOINT_TIMEOUT = Option(
    "checkpoint.timeout",
    DURATION_MS,
    unit="ms",
    doc="Checkpoint timeout, counted from the barriers; by default the engine's setting. Requires an interval.",
)
CHECKPOINT_MIN_PAUSE = Option(
    "checkpoint.min-pause",
    within(-1, 2**31 - 1),
    aliases=("min-pause",),
    unit="ms",
    doc="Minimum time between the end of one checkpoint and the start of the next; by default the engine's setting.",
)
RETAIN_AFTER_CANCEL = Option(
    "checkpoint.retain-after-job-cancelled",
    BOOLEAN,
    doc="True to retain the checkpoints of a cancelled job; by default the engine's setting.",
    no_effect="this version always retains the checkpoints of a cancelled job",
)
CHECKPOINT_STORAGE = Option(
    "checkpoint.storage",
    NESTED,
    secret=True,
    doc="Checkpoint storage for this job only, instead of the engine's: `type`, `max-retained`, `plugin-config`.",
)
ROWS_PER_SECOND = Option(
    "read_limit.rows_per_second",
    within(1, 2**31 - 1),
    doc="Maximum read rate of each source, in rows per second. Data that can be divided is read in splits of about one "
    "second each; within a split, the rate is not limited.",
    unit="rows/s",
)
BYTES_PER_SECOND = Option(
    "read_limit.bytes_per_second",
    LONG,
    doc="Maximum read rate of each source, in bytes per second. If both limits are set, both apply.",
    unit="bytes/s",
)
SAVE_MODE_LOCATION = Option(
    "savemode.execute.location",
    ENUM("CLIENT", "CLUSTER"),
    default="CLUSTER",
    doc="Process that applies save modes.",
    no_effect="the engine always applies save modes, after the restore point is stored",
)
FLUSH_INTERVAL = Option(
    "sink.flush.interval",
    DURATION_MS,
    unit="ms",
    doc="Interval at which SeaTunnel flushes sinks.",
    no_effect="rows become visible with each checkpoint; `checkpoint.interval` determines how often",
)
JARS = Option("jars", STRING, doc="Java libraries.", no_effect="connectors are Python packages; install them with pip")
CUSTOM_PARAMETERS = Option(
    "custom_parameters", MAP, doc="Parameters of other engines.", no_effect="this engine does not read this option"
)
TAG_FILTER = Option(
    "tag_filter",
    MAP,
    doc="In a cluster: the `member-attributes` that a node must have to run the job.",
    no_effect="only a cluster (seatunnel-cluster) has nodes with tags",
)
ISOLATION = Option(
    "isolation",
    ENUM("thread", "process"),
    default="thread",
    doc="In a cluster: `thread` shares the process and Spark of a node with other jobs, `process` starts separate "
    "ones for the job. A job with `spark.` options always gets separate ones.",
)
SHADE_IDENTIFIER = Option(
    "shade.identifier",
    STRING,
    default="default",
    doc="Encryption of secrets in the file: `default` for none; `base64` is built in, but does not protect secrets.",
)
SHADE_OPTIONS = Option(
    "shade.options",
    LIST(STRING),
    doc=(
        "Encrypted options of sources and sinks in addition to `username`, `password`, `auth`, `token`, `access_key` "
        "and `secret_key`; with dots for nested options."
    ),
)
SHADE_PROPERTIES = Option("shade.properties", MAP, doc="Settings of the shade itself.", secret=True)

ENV: tuple[Option[Any], ...] = (
    PARALLELISM,
    JOB_NAME,
    STATE_NAME,
    JOB_MODE,
    RETRY_TIMES,
    RETRY_INTERVAL,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_TIMEOUT,
    CHECKPOINT_MIN_PAUSE,
    RETAIN_AFTER_CANCEL,
    CHECKPOINT_STORAGE,
    ROWS_PER_SECOND,
    BYTES_PER_SECOND,
    SAVE_MODE_LOCATION,
    FLUSH_INTERVAL,
    JARS,
    CUSTOM_PARAMETERS,
    TAG_FILTER,
    ISOLATION,
    SHADE_IDENTIFIER,
    SHADE_OPTIONS,
    SHADE_PROPERTIES,
)

_MASTER = re.compile(
    r"local|local\[(\*|0*[1-9]\d*)(\s*,\s*\d+)?\]|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|spark://.+|k8s://.+|yarn"
)
"""Pattern of valid Spark masters. Spark itself checks the master only after the job has been claimed."""


def refuse_master(written: Value | None, problems: Problems) -> None:
    """Report an invalid ``spark.master``."""
    if not isinstance(written, Scalar) or written.value is None or _MASTER.fullmatch(written.text):
        return
    problems.error(f"env: 'spark.master': {no_master(written.text)}", written.position)


def no_master(text: str) -> str:
    """Return the reason why a string is not a valid Spark master, and a suggested alternative."""
    if text.startswith("sc://"):
        return (
            "Spark Connect has no job tags and no scheduler pools, which this engine needs to cancel jobs and "
            "share executors. Use the address of the Spark master instead: spark://HOST:PORT"
        )
    return f"expected local, local[N] with N of at least 1, or spark://HOST:PORT, found {text!r}"
