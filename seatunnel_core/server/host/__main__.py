"""``python -m seatunnel_core.server.host``: entry point of a worker process, which is started by an agent."""

import argparse
import contextlib
import json
import logging
import os
import select
import signal
import socket
import socketserver
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from attrs import evolve

from seatunnel_core.config.engine import EngineConfig, load_engine
from seatunnel_core.config.engine_options import DYNAMIC_SLOT
from seatunnel_core.config.option import Options
from seatunnel_core.control.bounded_server import BoundedServer
from seatunnel_core.control.server import LONGEST_REQUEST, PATIENCE_S, answer
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.reporting.spans import send_spans
from seatunnel_core.server.host.host import Host
from seatunnel_core.server.host.java_watch import JavaWatch
from seatunnel_core.server.host.job_logs import JobLogs
from seatunnel_core.server.host.job_thread import JobThread
from seatunnel_core.server.host.protocol import host_socket
from seatunnel_core.server.host.warm_spark import WarmSpark, host_settings
from seatunnel_core.server.state.records import DesiredState, JobRecord
from seatunnel_core.server.submitted_job import SubmittedJob
from seatunnel_core.spark.backend import SparkBackend
from seatunnel_core.spark.java_metrics import JavaMetrics
from seatunnel_core.spark.starting.settings import SparkSettings

LONGEST_ORDER = 512 * LONGEST_REQUEST
"""Maximum size of an order, in bytes. It contains a whole job."""

_CLEAN_STOP_S = 20.0
_STARTING_S = 0.25
_WARM_S = 1.0
"""Interval between two checks of Spark during and after its start, in seconds. Each check queries the JVM."""


logger = logging.getLogger("seatunnel.cluster")


class _Server(BoundedServer):
    address_family = socket.AF_UNIX
    daemon_threads = True

    def __init__(self, path: str, host: Host) -> None:
        self.verbs = host.verbs()
        super().__init__(path, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.debug("a response could not be delivered: the agent has disconnected")


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = PATIENCE_S

    def handle(self) -> None:
        """Handle requests in sequence until the agent disconnects."""
        while line := self.rfile.readline(LONGEST_ORDER):
            if _has_left(self.connection):
                return  # this process was paused: a valid order will be repeated
            self.connection.settimeout(None)
            self.server.trust(self.connection)
            self.wfile.write(json.dumps(answer(line, self.server.verbs)).encode() + b"\n")


def _has_left(connection: socket.socket) -> bool:
    """Return True if the agent has closed the connection."""
    readable = select.poll()  # select.select does not support descriptors above 1023
    readable.register(connection, select.POLLIN)
    try:
        return bool(readable.poll(0)) and connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True


def main() -> int:
    """Start Spark, listen, and run jobs until an agent sends ``leave`` or agents stop sending requests."""
    values = _arguments()
    logs = JobLogs(values.logs)
    _log_to(logs)
    send_spans(os.environ)
    engine = _with_dynamic_slots(load_engine(values.engine_config))
    backend = SparkBackend(_spark_settings(values))
    spark = WarmSpark(backend, values.slots)
    java = cache(lambda: JavaMetrics(backend.context))
    watch = JavaWatch(lambda: java().read(), {"address": values.address, "host": values.name or "shared"})
    host = Host(
        lambda record: JobThread(record, engine, backend),
        pid=os.getpid(),
        name=values.name,
        boot=values.boot,
        offered=values.offered,
        forget_log=logs.forget,
        look_at_java=watch.probe,
    )
    signal.signal(signal.SIGTERM, lambda *_: host.leaving.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    path = _listen(host_socket(values.cluster, values.address, os.getpid()), host)
    try:
        spark.start()
        _follow(host, spark, values.orphan_after)
        spark.give_up()
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        logger.info("worker process %d ends", os.getpid())
        logs.close()
        sys.stderr.flush()
        backend.leave()
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="seatunnel-host", allow_abbrev=False)
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--address", required=True)
    parser.add_argument("--engine-config", type=Path)
    parser.add_argument(
        "--name", default="", help="job ID of a dedicated process, which first reads the record of this job"
    )
    parser.add_argument("--boot", required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--offered", type=int, default=0)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--spark-master", default="")
    parser.add_argument("--spark-properties", type=Path)
    parser.add_argument("--orphan-after", type=float, default=60.0)
    return parser.parse_args()


def _log_to(logs: JobLogs) -> None:
    """Configure logging: write all records to this process's log, and a job's records to the job's log as well."""
    own = logging.StreamHandler(sys.stderr)
    own.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("seatunnel")
    root.handlers, root.propagate = [own, logs], False
    root.setLevel(logging.INFO)


def _spark_settings(values: argparse.Namespace) -> SparkSettings:
    """Return the settings for Spark. For a dedicated process, they include the options in the job's record on stdin."""
    return host_settings(
        cluster=values.cluster,
        name=values.name,
        slots=values.slots,
        log_file=values.logs / f"spark-{os.getpid()}.log",
        master=values.spark_master,
        address=values.address.rpartition(":")[0],
        properties=values.spark_properties,
        own=_options(sys.stdin.readline()) if values.name else {},
    )


def _listen(path: Path, host: Host) -> Path:
    """Start the request server at a socket, with a thread for each connection, and return the path of the socket."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()  # left by a killed process with the same pid
    server = _Server(str(path), host)
    path.chmod(0o600)
    threading.Thread(target=server.serve_forever, name="orders", daemon=True).start()
    return path


def _follow(host: Host, spark: WarmSpark, orphan_after_s: float) -> None:
    """Wait until an agent sends ``leave`` or agents stop sending requests, and then stop all jobs.

    If the Spark of this process has ended, end immediately: the jobs resume in another process.
    """
    while not host.leaving.wait(_WARM_S if host.spark.slots else _STARTING_S):
        if spark.failure or spark.is_gone():
            logger.error(
                "this process ends, and its jobs resume in another worker process: %s",
                spark.failure or "Spark has ended",
            )
            end_with_all()
        host.spark = spark.probe()
        if host.silence_s > orphan_after_s:
            logger.warning("no agent has sent a request for %.0f s: this worker process ends", host.silence_s)
            host.stop_all(DesiredState.CANCEL_AT_ONCE, 5.0)
            return
    host.stop_all(DesiredState.CANCEL, _CLEAN_STOP_S)


def end_with_all() -> None:
    """Kill this process and its process group, because a hanging JVM would not end by itself."""
    sys.stderr.flush()
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _options(line: str) -> Mapping[str, str]:
    """Return the Spark options in a job's record; empty if it is unreadable: the job then fails at its start."""
    try:
        return SubmittedJob.of(JobRecord.from_bytes(line.encode())).read().spark_options
    except (SeaTunnelError, ValueError) as error:
        logger.error("cannot read the job of this worker process: %s", error)
        return {}


def _with_dynamic_slots(engine: EngineConfig) -> EngineConfig:
    """Return the engine configuration without a slot limit: the leader counts the slots of all nodes."""
    options = engine.options
    given = {option.key: options[option] for option in options.declared if options.is_set(option)}
    return evolve(engine, options=Options({**given, DYNAMIC_SLOT.key: True}, options.declared))


if __name__ == "__main__":
    code = main()
    os._exit(code)  # a hanging job must not keep the process alive
