"""What a node of a cluster is told: by ``seatunnel.yaml``, ``hazelcast.yaml`` and the command line."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from seatunnel_core.config.engine import EngineConfig, find_engine_file, load_engine
from seatunnel_core.config.engine_options import DYNAMIC_SLOT, HISTORY_EXPIRE, SLOT_NUM
from seatunnel_core.config.hazelcast import ClusterConfig, load_hazelcast
from seatunnel_core.config.option import Options
from seatunnel_core.config.problem import Problems
from seatunnel_core.control.signing import SECRET_FILE, Secret, read_secret
from seatunnel_core.errors import UsageError
from seatunnel_core.server.election import Timing
from seatunnel_core.spark.starting.log_folder import log_folder

DEFAULT_PORT = 5801
LOOPBACK = ("localhost", "127.", "::1", "[::1]")


@frozen(kw_only=True)
class NodeConfig:
    """The configuration of one node."""

    cluster: str
    engine: EngineConfig
    engine_file: Path | None
    hazelcast_file: Path | None
    host: str
    """By which other members reach this node."""

    port: int
    """The first port that is tried."""

    auto_increment: bool
    members: tuple[str, ...]
    """Where other members may be, as ``host:port``."""

    secret: Secret | None = field(repr=False)
    http_login: tuple[str, str] | None = field(repr=False)
    """User and password of REST v2; ``None`` lets everybody in who reaches its port."""

    http_port: int | None
    """Of REST v2 beside the member port; ``None`` when it is not enabled."""

    logs: Path
    slots: int
    timing: Timing = field(factory=Timing)
    history_s: float = 86_400.0

    @property
    def bind(self) -> str:
        """The address on which the node listens: loopback, unless all requests are signed."""
        return "0.0.0.0" if self.secret is not None and not is_loopback(self.host) else "127.0.0.1"


def is_loopback(host: str) -> bool:
    """Return whether an address is of this machine alone."""
    return host.startswith(LOOPBACK)


def node_config(
    *,
    engine_file: Path | None = None,
    cluster: str | None = None,
    port: int | None = None,
    http_port: int | None = None,
    environment: Mapping[str, str] = os.environ,
    folder: Path | None = None,
) -> NodeConfig:
    """Read the files and return what they say of this node.

    Raises:
        ConfigError: a file has problems.
        UsageError: members on other machines are configured, and no secret is.
    """
    working = folder or Path()
    path = find_engine_file(engine_file, environment, working)
    engine = load_engine(engine_file, environment=environment, folder=working)
    config = path.parent if path is not None else working / "config"
    hazelcast_file = config / "hazelcast.yaml"
    found = _cluster_of(hazelcast_file)
    secret = read_secret(config / SECRET_FILE)
    first = port or (DEFAULT_PORT if found is None else found.port)
    members = () if found is None else tuple(_with_port(str(each), each.port, first) for each in found.members)
    host = _own_host(members)
    away = [each for each in members if not is_loopback(each)]
    if away and secret is None:
        raise UsageError(
            f"the members {', '.join(away)} are on other machines, and there is no {config / SECRET_FILE}: without a "
            "secret this node listens on loopback only. Write one with `seatunnel-cluster --make-secret`, and copy it "
            "to all nodes and clients"
        )
    return NodeConfig(
        cluster=cluster or ("seatunnel" if found is None else found.name),
        engine=engine,
        engine_file=path,
        hazelcast_file=hazelcast_file if hazelcast_file.is_file() else None,
        host=host,
        port=first,
        auto_increment=port is None and (found is None or found.auto_increment),
        members=members,
        secret=secret,
        http_login=_http_login(engine.options, secret),
        http_port=http_port or _http_port(engine.options),
        logs=log_folder(environment),
        slots=_slots(engine.options),
        history_s=60.0 * engine.options[HISTORY_EXPIRE],
    )


def _cluster_of(path: Path) -> ClusterConfig | None:
    if not path.is_file():
        return None
    problems = Problems()
    found = load_hazelcast(path, problems)
    problems.raise_errors()
    return found if isinstance(found, ClusterConfig) else None


def _with_port(text: str, port: int | None, default: int) -> str:
    return text if port is not None else f"{text}:{default}"


def _own_host(members: tuple[str, ...]) -> str:
    """Return the host of the member that is this machine; loopback when none is."""
    for member in members:
        host = member.rpartition(":")[0]
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                probe.bind((host, 0))  # possible for the addresses of this machine only
        except OSError:
            continue
        return host
    return "127.0.0.1"


def _http_port(options: Options) -> int | None:
    return int(options["http.port"]) if options["http.enable-http"] else None


def _http_login(options: Options, secret: Secret | None) -> tuple[str, str] | None:
    """Return who may use REST v2.

    Raises:
        UsageError: https is asked for; or a password without a secret, so that the member port would ask nobody.
    """
    if options["http.enable-https"]:
        raise UsageError(
            "http.enable-https is not available in this version: put a proxy before REST, and leave it out"
        )
    if not options["http.enable-basic-auth"]:
        return None
    user, password = options["http.basic-auth-username"] or "admin", options["http.basic-auth-password"] or ""
    if password in ("", "admin"):
        raise UsageError("http.basic-auth-password is not set, or is admin, which everybody knows: set another one")
    if secret is None:
        raise UsageError(
            f"http.enable-basic-auth asks users for a password, and without config/{SECRET_FILE} the member port asks "
            "nobody. Write one with `seatunnel-cluster --make-secret`"
        )
    return user, password


def _slots(options: Options) -> int:
    cores = os.cpu_count() or 1
    return cores if options[DYNAMIC_SLOT] else min(cores, int(options[SLOT_NUM]))
