"""The options of ``seatunnel.yaml`` that only the nodes and clients of a cluster read."""

from typing import Any

from seatunnel_core.config.option import BOOLEAN, ENUM, STRING, Option, within

_SECONDS = within(1, 31_536_000)

MODE = Option(
    "mode",
    ENUM("local", "cluster"),
    default="local",
    doc="What the script `seatunnel.sh` does where neither `-m` nor `SEATUNNEL_MODE` says it: run a job itself, or "
    "submit it to the cluster. The command `seatunnel` runs jobs itself.",
)
SERVER_MODE = Option(
    "cluster.server-mode",
    ENUM("all", "job", "query"),
    default="all",
    doc="What a node does where `-r` of `seatunnel-cluster` does not say it: `all` and `job` lead and run jobs, "
    "`query` takes requests and hands them to the leader.",
)
WORKER_GRACE = Option(
    "cluster.worker-grace-seconds",
    _SECONDS,
    default=60,
    unit="s",
    doc="A worker of a cluster (`seatunnel-cluster -r worker`) that has found no master for so long ends.",
)
SPARK_MASTER = Option(
    "cluster.spark-master",
    STRING,
    doc="A Spark cluster that is there already, as `spark://HOST:PORT`, on which the jobs of a cluster's nodes run. "
    "Nodes then start no Spark of their own, and need no workers. `yarn` and `k8s://…` are handed on to Spark.",
)
INSTANCE_HOST = Option(
    "cluster.instance-host", STRING, doc="By which host or address others reach this node; it finds out by itself."
)
ZOOKEEPER = Option(
    "cluster.zookeeper-connect-string",
    STRING,
    doc="`host:port` of ZooKeeper's servers, with commas, and `/path` behind the last one. Nodes write their address "
    "there and find the others', beside those of `member-list`.",
)
METADATA = Option(
    "cluster.metadata-url",
    STRING,
    secret=True,
    doc="The database that holds the state of the cluster where `hazelcast.yaml` has no `map:` block, as Kylin writes "
    "it: `PREFIX@jdbc,url=jdbc:postgresql://host:5432/db,username=…,password=…`. The names of its tables begin with "
    "PREFIX.",
)
LEADER_RACE = Option(
    "cluster.leader-race.enabled",
    BOOLEAN,
    default=True,
    doc="Whether other nodes may lead when this one dies; `false` refuses to start beside other nodes that may.",
)
HEART_BEAT_INTERVAL = Option(
    "cluster.leader-race.heart-beat-interval", _SECONDS, default=2, unit="s", doc="Between two beats of the leader."
)
HEART_BEAT_TIMEOUT = Option(
    "cluster.leader-race.heart-beat-timeout",
    _SECONDS,
    default=10,
    unit="s",
    doc="A leader without a new beat for so long is replaced; the same on all nodes.",
)

CLUSTER: tuple[Option[Any], ...] = (
    *(MODE, SERVER_MODE, WORKER_GRACE, SPARK_MASTER, INSTANCE_HOST, ZOOKEEPER, METADATA),
    *(LEADER_RACE, HEART_BEAT_INTERVAL, HEART_BEAT_TIMEOUT),
)
