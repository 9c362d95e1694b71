"""Options of ``seatunnel.yaml``."""

from typing import Any

from attrs import evolve

from seatunnel_core.config.cluster_options import CLUSTER
from seatunnel_core.config.http_options import HTTP, HTTP_URL
from seatunnel_core.config.option import BOOLEAN, DURATION_MS, ENUM, MAP, STRING, Option, within

_SECONDS = within(1, 31_536_000)
_COUNT = within(1, 1_000_000)

BACKUP_COUNT = Option(
    "backup-count",
    within(0, 6),
    default=1,
    doc="Replicas of the engine's state.",
    no_effect="the state is in the checkpoint storage, or in the storage that the map: block of hazelcast.yaml "
    "configures; that storage replicates it",
)
QUEUE_TYPE = Option(
    "queue-type",
    ENUM("blockingqueue", "disruptor"),
    default="blockingqueue",
    doc="Queue between tasks.",
    no_effect="rows do not pass through queues of the engine",
)
PRINT_EXECUTION_INFO = Option(
    "print-execution-info-interval",
    _SECONDS,
    default=60,
    unit="s",
    doc="Interval at which the engine logs its current activity (level INFO).",
)
PRINT_JOB_METRICS = Option(
    "print-job-metrics-info-interval",
    _SECONDS,
    default=60,
    unit="s",
    doc="Interval at which each pipeline's counters are printed if there is no terminal, or logged with "
    "`--log-format json`.",
)
METRICS_BACKUP = Option(
    "job-metrics-backup-interval",
    _SECONDS,
    default=10,
    unit="s",
    doc="Interval at which counters are backed up.",
    no_effect="rows and bytes are part of each checkpoint; all other counters exist only in the job's process",
)
THREAD_SHARE_MODE = Option(
    "task_execution_thread_share_mode",
    ENUM("ALL", "OFF", "PART"),
    default="PART",
    doc=(
        "Sharing of Spark jobs between work units: `ALL` lets units of all pipelines share a job, `OFF` only units of "
        "the same pipeline, and `PART` also units of different pipelines if they are predicted to be short."
    ),
)
DYNAMIC_SLOT = Option(
    "slot-service.dynamic-slot",
    BOOLEAN,
    default=True,
    doc="True if only Spark's slots limit concurrent work units.",
)
SLOT_NUM = Option(
    "slot-service.slot-num",
    _COUNT,
    default=2,
    doc="Maximum concurrent work units of a process if slots are not dynamic. Jobs of one process share them: "
    "each takes as many free slots as its sources have parallel readers. In a cluster: number of slots of a node; a "
    "job holds one for each source, and one for each of its parallel readers, over all nodes.",
)
SCHEDULE_STRATEGY = Option(
    "job-schedule-strategy",
    ENUM("REJECT", "WAIT"),
    default="REJECT",
    doc="Handling of a job submitted while other jobs of the process hold all slots: `REJECT` rejects it, `WAIT` "
    "queues it until a job ends. In a cluster, this applies to the slots of all nodes, and a small job may overtake a "
    "larger one that has waited for less than a minute. No effect with dynamic slots.",
)
HISTORY_EXPIRE = Option(
    "history-job-expire-minutes",
    _COUNT,
    default=1440,
    unit="minutes",
    doc="Time for which finished jobs remain listed.",
    no_effect="only the nodes of a cluster (seatunnel-cluster) list finished jobs",
)
CHECKPOINT_INTERVAL = Option(
    "checkpoint.interval", DURATION_MS, default=300_000, unit="ms", doc="Time between two checkpoints."
)
CHECKPOINT_TIMEOUT = Option("checkpoint.timeout", DURATION_MS, default=600_000, unit="ms", doc="Checkpoint timeout.")
CHECKPOINT_MIN_PAUSE = Option(
    "checkpoint.min-pause",
    within(-1, 2**31 - 1),
    default=-1,
    unit="ms",
    doc="Minimum time between the end of one checkpoint and the start of the next; -1 for none.",
)
MAX_CONCURRENT = Option(
    "checkpoint.max-concurrent", _COUNT, default=1, doc="Maximum number of concurrent checkpoints of a pipeline."
)
TOLERABLE_FAILURE = Option(
    "checkpoint.tolerable-failure",
    within(0, 1_000_000),
    default=0,
    doc="Number of consecutive checkpoint failures that a pipeline tolerates; one more restarts it.",
)
RETAIN_AFTER_CANCEL = Option(
    "checkpoint.retain-after-job-cancelled",
    BOOLEAN,
    default=True,
    doc="True to retain the checkpoints of a cancelled job.",
    no_effect="this version always retains the checkpoints of a cancelled job",
)
STORAGE_TYPE = Option("type", STRING, default="localfile", doc="Name of the checkpoint storage plugin.")
MAX_RETAINED = Option("max-retained", _COUNT, default=3, doc="Number of checkpoints to retain for each pipeline.")
PLUGIN_CONFIG = Option("plugin-config", MAP, doc="Keys of the plugin, passed as strings.", secret=True)

STORAGE: tuple[Option[Any], ...] = (STORAGE_TYPE, MAX_RETAINED, PLUGIN_CONFIG)
"""Keys of ``checkpoint.storage``, in ``seatunnel.yaml`` and in a job's ``env``."""

METRIC_ENABLED = Option(
    "telemetry.metric.enabled",
    BOOLEAN,
    default=False,
    doc="True to serve a node's metrics over REST, at `/metrics` and `/openmetrics`.",
    no_effect="the process of a job has no REST server; `seatunnel --metrics JOB_ID --open-metrics` prints the "
    "page that Prometheus reads",
)

_NO_EVENTS = "only the nodes of a cluster (seatunnel-cluster) report events"
EVENT_URL = Option(
    "event-report-http.url",
    HTTP_URL,
    doc="URL to which the leader of a cluster posts job events, as lists of JSON objects.",
    no_effect=_NO_EVENTS,
)
EVENT_HEADERS = Option(
    "event-report-http.headers", MAP, doc="Headers of these requests.", no_effect=_NO_EVENTS, secret=True
)

ENGINE: tuple[Option[Any], ...] = (
    BACKUP_COUNT,
    QUEUE_TYPE,
    PRINT_EXECUTION_INFO,
    PRINT_JOB_METRICS,
    METRICS_BACKUP,
    THREAD_SHARE_MODE,
    DYNAMIC_SLOT,
    SLOT_NUM,
    SCHEDULE_STRATEGY,
    HISTORY_EXPIRE,
    CHECKPOINT_INTERVAL,
    CHECKPOINT_TIMEOUT,
    CHECKPOINT_MIN_PAUSE,
    MAX_CONCURRENT,
    TOLERABLE_FAILURE,
    RETAIN_AFTER_CANCEL,
    *HTTP,
    METRIC_ENABLED,
    EVENT_URL,
    EVENT_HEADERS,
    *CLUSTER,
)
"""Keys of ``seatunnel.engine``, except ``checkpoint.storage``."""

_BY_NODES = (HISTORY_EXPIRE, *HTTP, METRIC_ENABLED, EVENT_URL, EVENT_HEADERS)
ENGINE_OF_NODES: tuple[Option[Any], ...] = tuple(
    evolve(option, no_effect="") if option in _BY_NODES else option for option in ENGINE
)
"""The keys in ``ENGINE``, with the meaning that they have on cluster nodes."""
