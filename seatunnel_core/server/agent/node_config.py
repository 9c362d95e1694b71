"""Configuration of a node, from ``seatunnel.yaml``, ``hazelcast.yaml``, ``kylin.properties`` and the command line."""

import logging
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from seatunnel_core.config import cluster_options
from seatunnel_core.config.engine import EngineConfig, default_engine, find_engine_file, load_engine
from seatunnel_core.config.engine_options import (
    DYNAMIC_SLOT,
    ENGINE_OF_NODES,
    HISTORY_EXPIRE,
    METRIC_ENABLED,
    SCHEDULE_STRATEGY,
    SLOT_NUM,
)
from seatunnel_core.config.hazelcast import ClusterConfig, addresses, load_hazelcast
from seatunnel_core.config.kylin_properties import kylin_folder, read_kylin
from seatunnel_core.config.option import Option, Options
from seatunnel_core.config.problem import Problems
from seatunnel_core.control.signing import OLD_SECRET_FILE, SECRET_FILE, Secret, read_secret
from seatunnel_core.errors import ConfigError, UsageError
from seatunnel_core.findings import Findings
from seatunnel_core.server.discovery.own_address import is_loopback, is_own, own_host
from seatunnel_core.server.election import Timing
from seatunnel_core.server.member_role import MemberRole
from seatunnel_core.server.transport.http_config import HttpConfig, http_config
from seatunnel_core.spark.starting.log_folder import log_folder

logger = logging.getLogger("seatunnel.cluster")

_ALONE = ClusterConfig(
    name="seatunnel",
    tcp_ip=False,
    members=(),
    port=MemberRole.MASTER_AND_WORKER.default_port,
    auto_increment=True,
    properties={},
)
"""Configuration of a cluster with a single node."""


@frozen(kw_only=True)
class NodeConfig:
    """Configuration of one node."""

    role: MemberRole = MemberRole.MASTER_AND_WORKER
    cluster: str
    engine: EngineConfig
    engine_file: Path | None
    hazelcast_file: Path | None
    host: str
    """Host name or address at which other members reach this node."""

    port: int
    """First port to try."""

    port_count: int = 1
    """Number of ports to try; more than one with ``auto-increment``."""

    public_port: int | None = None
    """Port at which other members reach this node, if it differs from the port on which it listens."""

    members: tuple[str, ...]
    """Possible addresses of other members, as ``host:port``; may include this node."""

    zookeeper: str | None = None
    """ZooKeeper servers for the registration of members; ``None`` if ZooKeeper is not used."""

    metadata_url: str | None = field(default=None, repr=False)
    """URL of the database for the cluster state, in Kylin's format; ``None`` if there is none. May contain a
    password."""

    alone: bool = False
    """True if no other node of the cluster can lead. The node does not start if there is another one."""

    secret: Secret | None = field(repr=False)
    old_secret: Secret | None = field(default=None, repr=False)
    """Previous secret, used to decrypt records of the state that are still encrypted with it."""

    http: HttpConfig = field(factory=HttpConfig)
    """Configuration of REST v2."""

    serves_v1: bool = False
    """True if users may use REST v1 on the member port."""

    serves_metrics: bool = False

    logs: Path
    slots: int
    """Number of concurrent Spark tasks of one worker process."""

    offered: int = 0
    """Number of slots that the node offers; 0 for dynamic slots, which are not counted."""

    waits: bool = False
    """True if jobs wait for free slots instead of being rejected."""

    timing: Timing = field(factory=Timing)
    history_s: float = 86_400.0
    attributes: Mapping[str, str] = field(factory=dict)
    """``member-attributes``: tags by which jobs select members."""

    worker_grace_s: float = 60.0
    """Time without a master after which a worker node exits, in seconds."""

    @property
    def bind(self) -> str:
        """Address on which the node listens: loopback, unless all requests must be signed."""
        if self.secret is None or is_loopback(self.host):
            return "::1" if self.host == "[::1]" else "127.0.0.1"
        return "::" if self.host.startswith("[") else "0.0.0.0"


def node_config(
    *,
    role: MemberRole | None = None,
    engine_file: Path | None = None,
    cluster: str | None = None,
    port: int | None = None,
    http_port: int | None = None,
    environment: Mapping[str, str] = os.environ,
    folder: Path | None = None,
) -> NodeConfig:
    """Read the configuration files and return the configuration of this node.

    The arguments override the files. ``role`` and ``cluster`` default to those in the files. ``http_port`` takes effect
    even if ``http.enable-http`` is not set. ``folder`` contains the folder ``config``. Ineffective keys are logged.

    Raises:
        ConfigError: The files contain problems. The message lists the problems of all files.
        UsageError: Options contradict each other. The message lists all of them.
    """
    files = _read_files(role, engine_file, environment, folder or Path())
    found, options, stated = files.cluster, files.engine.options, files.stated
    return NodeConfig(
        role=files.role,
        cluster=cluster or found.name,
        engine=files.engine,
        engine_file=files.engine_file,
        hazelcast_file=files.hazelcast_file,
        **_checked_together(files, http_port),
        port=port or found.port,
        port_count=found.port_count if port is None and found.auto_increment else 1,
        public_port=None if found.public_address is None else found.public_address.port,
        members=files.members,
        zookeeper=stated[cluster_options.ZOOKEEPER],
        metadata_url=stated[cluster_options.METADATA],
        alone=not stated[cluster_options.LEADER_RACE],
        secret=files.secret,
        old_secret=files.old_secret,
        serves_v1=found.rest_api,
        serves_metrics=bool(options[METRIC_ENABLED]),
        logs=log_folder(environment),
        slots=_slots(options),
        offered=0 if options[DYNAMIC_SLOT] else int(options[SLOT_NUM]),
        waits=options[SCHEDULE_STRATEGY] == "WAIT",
        history_s=60.0 * options[HISTORY_EXPIRE],
        attributes=found.attributes,
        worker_grace_s=stated[cluster_options.WORKER_GRACE],
    )


def _checked_together(files: "_Files", http_port: int | None) -> dict[str, Any]:
    """Return ``host``, ``http`` and ``timing``, or raise a single error that lists all problems."""
    options, findings = files.engine.options, Findings()
    host = findings.of(lambda: _host(files, files.members), "")
    http = findings.of(lambda: http_config(options, has_secret=files.secret is not None, port=http_port), HttpConfig())
    timing = findings.of(lambda: _timing(files.stated), Timing())
    findings.raise_all()
    return {"host": host, "http": http, "timing": timing}


@frozen
class _Stated:
    """Effective options of a node: from ``seatunnel.yaml``, then from ``kylin.properties``, then the defaults."""

    engine: Options
    kylin: Mapping[str, Any]

    def __getitem__(self, option: Option[Any]) -> Any:
        return self.engine[option] if self.engine.is_set(option) else self.kylin.get(option.key, option.default)


@frozen(kw_only=True)
class _Files:
    """Contents and paths of a node's configuration files."""

    role: MemberRole
    engine: EngineConfig
    engine_file: Path | None
    hazelcast_file: Path | None
    cluster: ClusterConfig
    stated: _Stated
    secret_file: Path
    secret: Secret | None = field(repr=False)
    old_secret: Secret | None = field(repr=False)

    @property
    def members(self) -> tuple[str, ...]:
        """Possible addresses of other members."""
        found = self.cluster
        return addresses(found.members, found.port, auto_increment=found.auto_increment)


def _read_files(
    role: MemberRole | None, engine_file: Path | None, environment: Mapping[str, str], folder: Path
) -> _Files:
    """Read the files for a role, by default the role in the files; log keys that have no effect."""
    path = find_engine_file(engine_file, environment, folder)
    config = path.parent if path is not None else folder / "config"
    problems, findings = Problems(), Findings(ConfigError)
    engine = findings.of(
        lambda: load_engine(engine_file, environment=environment, folder=folder, of_node=True),
        default_engine(environment, ENGINE_OF_NODES),
    )
    kylin: Mapping[str, Any] = findings.of(lambda: read_kylin(kylin_folder(environment, config), problems), {})
    stated = _Stated(engine.options, kylin)
    role = role or _role(stated)
    hazelcast_file = _hazelcast_file(config, role)
    cluster = findings.of(lambda: _cluster_of(hazelcast_file, role, problems), _ALONE)
    with findings.part():
        problems.raise_errors()
    findings.raise_all()
    for warning in (*engine.warnings, *problems.warnings):
        logger.warning("%s", warning)
    if cluster.attributes and not role.leads:
        logger.warning(
            "member-attributes have no effect on this %s, because tag_filter selects only masters", role.value
        )
    return _Files(
        role=role,
        engine=engine,
        engine_file=path,
        hazelcast_file=hazelcast_file,
        cluster=cluster,
        stated=stated,
        secret_file=config / SECRET_FILE,
        secret=(secret := read_secret(config / SECRET_FILE)),
        old_secret=None if secret is None else read_secret(config / OLD_SECRET_FILE),
    )


def _role(stated: _Stated) -> MemberRole:
    """Return the role in ``cluster.server-mode``. All nodes accept requests, so ``job`` means the same as ``all``."""
    return MemberRole.QUERY if stated[cluster_options.SERVER_MODE] == "query" else MemberRole.MASTER_AND_WORKER


def _hazelcast_file(folder: Path, role: MemberRole) -> Path | None:
    """Return the cluster file of a role: its specific file, or ``hazelcast.yaml``, or ``None``."""
    own = folder / role.hazelcast_file
    shared = folder / MemberRole.MASTER_AND_WORKER.hazelcast_file
    if own.is_file():
        return own
    if not shared.is_file():
        return None
    logger.info("%s does not exist, so this %s reads %s", own, role.value, shared)
    return shared


def _cluster_of(path: Path | None, role: MemberRole, problems: Problems) -> ClusterConfig:
    """Return the cluster configuration in a file; if there is no file, the configuration of a single node."""
    found = None if path is None else load_hazelcast(path, problems)
    return found if isinstance(found, ClusterConfig) else evolve(_ALONE, port=role.default_port)


def _host(files: _Files, members: tuple[str, ...]) -> str:
    """Return the host at which other nodes reach this node. Reject it if Spark or other nodes could not use it."""
    host = own_host(
        files.cluster,
        members,
        instance_host=files.stated[cluster_options.INSTANCE_HOST],
        others=_servers_of(files.stated[cluster_options.ZOOKEEPER] or ""),
    )
    _require_secret(files.secret, (host, *members), files.secret_file, files.role)
    _require_own_address(host, files.role)
    return host


def _servers_of(zookeeper: str) -> list[str]:
    """Return ZooKeeper's servers, as ``host:port``."""
    servers = [server.strip() for server in zookeeper.partition("/")[0].split(",")]
    return [server if ":" in server else f"{server}:2181" for server in servers if server]


def _require_secret(secret: Secret | None, hosts: tuple[str, ...], path: Path, role: MemberRole) -> None:
    if role in (MemberRole.MASTER, MemberRole.WORKER) and secret is None:
        raise UsageError(
            f"a node with role {role.value} needs the cluster's secret, {path}, because Spark's processes "
            "authenticate with it. Create the secret with `seatunnel-cluster --make-secret`, and copy it to all "
            "nodes and clients"
        )
    away = [each for each in hosts if not is_loopback(each)]
    if away and secret is None:
        raise UsageError(
            f"{', '.join(away)} can be reached from other machines, but there is no {path}: without a secret, any "
            "client could run jobs as this user. Create one with `seatunnel-cluster --make-secret`, and copy it to all "
            "nodes and clients"
        )


def _require_own_address(host: str, role: MemberRole) -> None:
    """Reject an address on which the Spark processes of a master or worker node could not listen."""
    if role in (MemberRole.MASTER, MemberRole.WORKER) and not is_own(host, family_wanted=socket.AF_INET):
        raise UsageError(
            f"a node of the role {role.value} has the address {host}, which is not an IPv4 address of this machine: "
            "Spark's processes on the node could not listen there. Set cluster.instance-host in seatunnel.yaml to "
            "an IPv4 address of this machine"
        )


def _timing(stated: _Stated) -> Timing:
    """Return the timing of the election.

    A leader may act for half the timeout after each heartbeat, so it must send several heartbeats within that time.
    """
    interval_s, timeout_s = stated[cluster_options.HEART_BEAT_INTERVAL], stated[cluster_options.HEART_BEAT_TIMEOUT]
    if timeout_s <= interval_s:
        raise UsageError(
            f"leader-race.heart-beat-timeout is {timeout_s} s and heart-beat-interval is {interval_s} s, so a "
            "leader would be replaced before its next heartbeat. Set a timeout that is at least twice the interval"
        )
    beat_s = min(float(interval_s), timeout_s / 5)
    if beat_s < interval_s:
        logger.info(
            "heartbeats are sent every %.1f s: a leader that cannot store a heartbeat for half the timeout stops "
            "leading",
            beat_s,
        )
    return Timing(beat_s=beat_s, timeout_s=float(timeout_s), look_s=beat_s / 2)


def _slots(options: Options) -> int:
    cores = os.cpu_count() or 1
    return cores if options[DYNAMIC_SLOT] else min(cores, int(options[SLOT_NUM]))
