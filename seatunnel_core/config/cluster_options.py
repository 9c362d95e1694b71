"""Options of ``seatunnel.yaml`` that only nodes and clients of a cluster read."""

from typing import Any

from seatunnel_core.config.option import BOOLEAN, ENUM, STRING, Option, within

_SECONDS = within(1, 31_536_000)

MODE = Option(
    "mode",
    ENUM("local", "cluster"),
    default="local",
    doc="Mode of the script `seatunnel.sh` unless `-m` or `SEATUNNEL_MODE` sets it: run a job itself, or submit it to "
    "the cluster. The command `seatunnel` runs jobs itself.",
)
SERVER_MODE = Option(
    "cluster.server-mode",
    ENUM("all", "job", "query"),
    default="all",
    doc="Role of a node unless `-r` of `seatunnel-cluster` sets it: `all` and `job` lead and run jobs, `query` accepts "
    "requests and forwards them to the leader.",
)
WORKER_GRACE = Option(
    "cluster.worker-grace-seconds",
    _SECONDS,
    default=60,
    unit="s",
    doc="Time after which a worker (`seatunnel-cluster -r worker`) exits if it cannot reach a master.",
)
SPARK_MASTER = Option(
    "cluster.spark-master",
    STRING,
    doc=(
        "Address of an existing Spark cluster, `spark://HOST:PORT`, that runs the jobs of the cluster's nodes. Nodes "
        "then do not start Spark or need workers. `yarn` and `k8s://…` are passed to Spark."
    ),
)
INSTANCE_HOST = Option(
    "cluster.instance-host", STRING, doc="Host or address at which other nodes reach this node; detected by default."
)
ZOOKEEPER = Option(
    "cluster.zookeeper-connect-string",
    STRING,
    doc=(
        "`host:port` of ZooKeeper's servers, separated by commas, with an optional `/path` after the last one. Nodes "
        "register their addresses there and find other nodes, in addition to those of `member-list`."
    ),
)
METADATA = Option(
    "cluster.metadata-url",
    STRING,
    secret=True,
    doc="Database for the state of the cluster if `hazelcast.yaml` has no `map:` block, in Kylin's format: "
    " `PREFIX@jdbc,url=jdbc:postgresql://host:5432/db,username=…,password=…`. The names of its tables begin with "
    "PREFIX.",
)
LEADER_RACE = Option(
    "cluster.leader-race.enabled",
    BOOLEAN,
    default=True,
    doc="Allow other nodes to lead when this one fails. With `false` the node does not start if other nodes may lead.",
)
HEART_BEAT_INTERVAL = Option(
    "cluster.leader-race.heart-beat-interval", _SECONDS, default=2, unit="s", doc="Interval of the leader's heartbeats."
)
HEART_BEAT_TIMEOUT = Option(
    "cluster.leader-race.heart-beat-timeout",
    _SECONDS,
    default=10,
    unit="s",
    doc="Time without a heartbeat after which the leader is replaced; the same on all nodes.",
)

CLUSTER: tuple[Option[Any], ...] = (
    *(MODE, SERVER_MODE, WORKER_GRACE, SPARK_MASTER, INSTANCE_HOST, ZOOKEEPER, METADATA),
    *(LEADER_RACE, HEART_BEAT_INTERVAL, HEART_BEAT_TIMEOUT),
)
