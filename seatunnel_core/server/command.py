"""The commands ``seatunnel-cluster`` and ``stop-seatunnel-cluster``, with or without SeaTunnel's suffix ``.sh``.

The exit codes are the same as for ``seatunnel``: 0 for success, 1 for failure, 2 for wrong usage or configuration.
"""

import argparse
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from attrs import evolve

from seatunnel_core import stored
from seatunnel_core.config.file import read_text
from seatunnel_core.control.cluster import ClusterClient
from seatunnel_core.control.private_files import open_private, private_folder
from seatunnel_core.control.signing import SECRET_FILE, write_secret
from seatunnel_core.control.sockets import control_folder
from seatunnel_core.errors import SeaTunnelError, StoredValueError, UsageError
from seatunnel_core.server.agent.node_config import NodeConfig, node_config
from seatunnel_core.server.member_role import MemberRole
from seatunnel_core.server.node import run_node
from seatunnel_core.server.transport.page_login import PASSWORD_FILE, USER, with_page
from seatunnel_storage_api.errors import CheckpointStorageError

DONE, FAILED, WRONG_USAGE = 0, 1, 2

_READY_S = 60.0
_STOP_S = 60.0

logger = logging.getLogger("seatunnel.cluster")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See: {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Start a node, list the members of its cluster, or write a secret; return the exit code."""
    return _reported(lambda: _start(sys.argv[1:] if argv is None else argv))


def stop(argv: Sequence[str] | None = None) -> int:
    """Stop the nodes of this user on this machine; return the exit code."""
    return _reported(lambda: _stop(sys.argv[1:] if argv is None else argv))


def _reported(command: Any) -> int:
    try:
        return int(command())
    except UsageError as error:
        print(error, file=sys.stderr)
        return WRONG_USAGE
    except (SeaTunnelError, CheckpointStorageError) as error:
        print(error, file=sys.stderr)
        return FAILED


def node_parser() -> argparse.ArgumentParser:
    """Return the parser of ``seatunnel-cluster``."""
    parser = _Parser(
        prog="seatunnel-cluster",
        description="Starts a node of a cluster, which accepts and runs jobs.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-d", "--daemon", action="store_true",
        help="run in the background, with a log in logs/seatunnel-engine-server.log (-master, -worker)")  # fmt: skip
    add("-r", "--role", type=_role, metavar="ROLE",
        help="role of the node: master, worker, master_and_worker, or query")  # fmt: skip
    add("-cn", "--cluster", metavar="NAME", help="cluster name, which overrides cluster-name in hazelcast.yaml")
    add("-m", "--member", action="store_true", help="list the members of the cluster")
    add(
        "--port",
        type=int,
        help="member port, which overrides the port in hazelcast.yaml; if this port is taken, no other port is tried",
    )
    add("--http-port", type=int, help="serve REST v2 on this port of http.bind-address (loopback unless set), "
        "regardless of http.enable-http")  # fmt: skip
    add("--page", action="store_true", help=argparse.SUPPRESS)  # set by -d for the process that it starts
    add("--engine-config", metavar="FILE", type=Path, help="engine file instead of the default seatunnel.yaml; "
        "its folder contains hazelcast.yaml and cluster.secret")  # fmt: skip
    add("--make-secret", action="store_true", help=f"write config/{SECRET_FILE}, which all nodes and clients need")
    add("-DJvmOption", dest="jvm_option", default="", help="JVM options of Spark in worker processes")
    return parser


def _role(text: str) -> MemberRole:
    try:
        return MemberRole.of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _start(argv: Sequence[str]) -> int:
    values = node_parser().parse_args(argv)
    if values.make_secret:
        return _make_secret(values.engine_config)
    if not (values.member or values.daemon):
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        logging.getLogger("seatunnel").setLevel(logging.INFO)
    config = node_config(
        role=values.role,
        engine_file=values.engine_config,
        cluster=values.cluster,
        port=values.port,
        http_port=values.http_port,
    )
    if values.member:
        return _list_members(config)
    if values.daemon:
        return _daemon([argument for argument in argv if argument not in ("-d", "--daemon")], config)
    if values.page:
        options, folder = config.engine.options, _config_folder(config)
        http = with_page(config.http, options, folder, has_secret=config.secret is not None)
        config = evolve(config, http=http)
    os.environ["JAVA_OPTS"] = " ".join(
        (*_jvm_options(config), os.environ.get("JAVA_OPTS", ""), values.jvm_option)
    ).strip()
    logger.info("mode: cluster %r, as a %s", config.cluster, config.role.value)
    with contextlib.ExitStack() as resources:
        run_node(config, on_ready=lambda address, page: resources.enter_context(_noted(config, address, page)))
    return DONE


def _config_folder(config: NodeConfig) -> Path:
    """Return the folder of the engine's configuration file, or the log folder if there is no such file."""
    return config.logs if config.engine_file is None else config.engine_file.parent


def _jvm_options(config: NodeConfig) -> list[str]:
    """Return the JVM options from the file for the node's role, which is next to the engine's configuration file."""
    path = (config.engine_file or Path("config/seatunnel.yaml")).parent / config.role.jvm_options_file
    if not path.is_file():
        return []
    lines = (line.strip() for line in read_text(path).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


@contextlib.contextmanager
def _noted(config: NodeConfig, address: str, page: str) -> Iterator[None]:
    """Register this process for ``stop-seatunnel-cluster`` while it runs."""
    path = _notes() / f"{address.rpartition(':')[2]}-{os.getpid()}.json"
    note = {"pid": os.getpid(), "cluster": config.cluster, "address": address, "page": page}
    path.write_text(json.dumps(note))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _notes() -> Path:
    folder = control_folder(os.environ) / "nodes"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _running_nodes(cluster: str | None) -> dict[int, str]:
    """Return the addresses of this user's nodes on this machine, keyed by process ID."""
    found: dict[int, str] = {}
    for path in sorted(_notes().glob("*.json")):
        try:
            note = stored.parse(path.read_bytes())
            pid, name, address = (
                stored.number(note, "pid"),
                stored.text(note, "cluster"),
                stored.text(note, "address"),
            )
        except (OSError, StoredValueError):
            continue
        if not _is_node(pid):
            path.unlink(missing_ok=True)
        elif cluster is None or name == cluster:
            found[pid] = address
    return found


def _is_node(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"seatunnel_core.server" in command or b"seatunnel-cluster" in command


def _daemon(argv: Sequence[str], config: NodeConfig) -> int:
    private_folder(config.logs)
    path = config.logs / config.role.log_file
    with open_private(path) as log:
        node = subprocess.Popen(
            [sys.executable, "-m", "seatunnel_core.server", "--page", *argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    until = time.monotonic() + _READY_S
    while time.monotonic() < until:
        code = node.poll()
        if code is not None:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
            print("\n".join(lines), file=sys.stderr)
            return code or FAILED
        address = _running_nodes(None).get(node.pid)
        if address is not None:
            print(f"Node {address} of cluster {config.cluster!r} runs in process {node.pid}. Log: {path}")
            print(_page_line(config, _page_of(node.pid)))
            node.returncode = 0  # keeps Popen from warning that the process still runs
            return DONE
        time.sleep(0.05)
    print(f"The node is not listening after {_READY_S:.0f} s: see {path}", file=sys.stderr)
    return FAILED


def _page_of(pid: int) -> str:
    """Return the URL of a node's web page; empty if the node does not serve one."""
    for path in _notes().glob(f"*-{pid}.json"):
        with contextlib.suppress(OSError, StoredValueError):
            return stored.text(stored.parse(path.read_bytes()), "page")
    return ""


def _page_line(config: NodeConfig, page: str) -> str:
    if not page:
        return "The web page is off: seatunnel.yaml configures REST, but http.enable-http is not true."
    if config.http.login is None and config.secret is not None and config.http.port is None:
        return f"Web page: {page} (log in as {USER} with the password in {_config_folder(config) / PASSWORD_FILE})"
    return f"Web page: {page}"


def _list_members(config: NodeConfig) -> int:
    members = config.members or (f"{config.host}:{config.port}",)
    found = ClusterClient(members, config.cluster, config.secret).ask("GET", "/internal/v1/members")
    print(f"{'Address':<24}{'Role':<16}Version")
    for address in found["members"]:
        role = "ACTIVE MASTER" if address == found["leader"] else "MASTER"
        print(f"{address:<24}{role:<16}{found['version']}")
    for address in found["workers"]:
        print(f"{address:<24}{'WORKER':<16}{found['version']}")
    for address in found.get("queries", ()):
        print(f"{address:<24}{'QUERY':<16}{found['version']}")
    return DONE


def _make_secret(engine_file: Path | None) -> int:
    folder = engine_file.parent if engine_file is not None else Path(os.environ.get("SEATUNNEL_HOME", "."), "config")
    path = folder / SECRET_FILE
    write_secret(path)
    print(f"Wrote {path}. Copy it to all nodes and clients of the cluster, with mode 600.")
    return DONE


def _stop(argv: Sequence[str]) -> int:
    parser = _Parser(
        prog="stop-seatunnel-cluster",
        description="Stops your nodes on this machine. Their jobs take a final checkpoint, and resume when a node of "
        "the cluster starts again.",
        allow_abbrev=False,
    )
    parser.add_argument("-cn", "--cluster", metavar="NAME", help="only nodes of this cluster")
    nodes = _running_nodes(parser.parse_args(argv).cluster)
    if not nodes:
        print("You have no running nodes on this machine.")
        return DONE
    for pid in nodes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + _STOP_S
    while any(map(_is_node, nodes)) and time.monotonic() < until:
        time.sleep(0.05)
    left = [pid for pid in nodes if _is_node(pid)]
    for pid, address in nodes.items():
        print(f"The node {address} (process {pid}) {'is still stopping' if pid in left else 'has stopped'}.")
    return FAILED if left else DONE
