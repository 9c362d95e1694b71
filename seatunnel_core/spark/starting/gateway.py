"""PySpark's gateway to the JVM: launch, state and reset, without unwanted side effects."""

import logging
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from seatunnel_core.control.private_files import open_private
from seatunnel_storage_api.secret import shown

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext


logger = logging.getLogger("seatunnel.spark")

_DRIVER_FLAGS = "spark.driver.extraJavaOptions"
_AT_SUBMIT = ("spark.jars.", "spark.submit.")
_SUBMIT = "PYSPARK_SUBMIT_ARGS"
"""Environment variable with further arguments of ``spark-submit``, which PySpark reads."""

END_S = 5.0
"""Time limit for a JVM to exit on its own after its standard input is closed, in seconds."""

QUERY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers that PySpark uses to print queries that cannot be planned."""


def launch(conf: "SparkConf", log_file: Path) -> "SparkContext":
    """Start Spark in the existing JVM, or in a new JVM that writes its output to ``log_file``."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    gateway = SparkContext._gateway
    if gateway is not None and not is_alive(gateway):
        forget()
        gateway = None
    is_new = gateway is None
    if gateway is None:
        keep_to_its_logger()
        leave_pandas_alone()
        with (
            open_private(log_file) as log,
            TemporaryDirectory(prefix="seatunnel-") as folder,
            _submitted_with(secret_file(conf, Path(folder))),
        ):
            gateway = launch_gateway(public_part(conf, Path(folder)), {"stdout": log, "stderr": log})
    try:
        context = SparkContext(conf=conf, gateway=gateway)
    except BaseException:
        if is_new:
            _end(gateway)
        raise
    # When the JVM dies, PySpark's server for accumulators would print a traceback into the user's terminal.
    with suppress(AttributeError):
        context._accumulatorServer.handle_error = lambda *_: logger.debug("lost a connection to Spark")
    return context


def public_part(conf: "SparkConf", folder: Path) -> "SparkConf":
    """Return the configuration without secrets.

    PySpark launches the JVM with the configuration on its command line, which all users of the machine can read. The
    context receives the complete configuration over the gateway. Java options with secrets are written to a file in
    ``folder``, which the JVM reads when it starts.
    """
    from pyspark import SparkConf

    public = SparkConf(loadDefaults=False, _jvm=None)
    for key, value in conf.getAll():
        if key == _DRIVER_FLAGS:
            public.set(key, _public_flags(value, folder))
        elif shown(key, value) == value:
            public.set(key, value)
    return public


def secret_file(conf: "SparkConf", folder: Path) -> Path | None:
    """Write secrets that Spark needs before its context exists, such as repository logins, to a file, if any."""
    found = {key: value for key, value in conf.getAll() if key.startswith(_AT_SUBMIT) and shown(key, value) != value}
    if not found:
        return None
    path = folder / "spark.conf"
    with open_private(path) as file:
        file.write("".join(f"{key} {value}\n" for key, value in found.items()).encode())
    return path


@contextmanager
def _submitted_with(properties: Path | None) -> Iterator[None]:
    """Make PySpark pass a properties file to Spark when it launches the JVM."""
    before = os.environ.get(_SUBMIT)
    if properties is not None:
        os.environ[_SUBMIT] = f"--properties-file {shlex.quote(str(properties))} {before or 'pyspark-shell'}"
    try:
        yield
    finally:
        if properties is not None:
            os.environ.pop(_SUBMIT)
            os.environ.update({} if before is None else {_SUBMIT: before})


def _public_flags(written: str, folder: Path) -> str:
    """Replace Java options that contain secrets with a file reference, ``@FILE``."""
    if shown(_DRIVER_FLAGS, written) == written:
        return written
    flags = shlex.split(written)
    secret = [flag for flag in flags if shown(_DRIVER_FLAGS, flag) != flag]
    path = folder / "java-options"
    with open_private(path) as file:
        file.write("".join(f"{quoted(flag, always=True)}\n" for flag in secret).encode())
    return " ".join([*(quoted(flag) for flag in flags if flag not in secret), f"@{path}"])


def quoted(flag: str, *, always: bool = False) -> str:
    """Quote an option for Spark and Java argument files, if necessary."""
    if not always and not set(flag) & set(" \t\"'\\"):
        return flag
    return '"' + flag.replace("\\", "\\\\").replace('"', '\\"') + '"'


def keep_to_its_logger() -> None:
    """Keep py4j's messages in its own logger, and prevent PySpark from printing each query that cannot be planned.

    Otherwise py4j prints a traceback for a lost connection, and PySpark prints the JVM's stack. The errors raised by
    the driver report both in one sentence.
    """
    from py4j import java_gateway
    from pyspark.logger import PySparkLogger

    java_gateway.logging = java_gateway.logger
    for name in QUERY_LOGGERS:
        PySparkLogger.getLogger(name).disabled = True


@cache
def leave_pandas_alone() -> None:
    """Prevent PySpark from importing pandas when it passes a value to Java.

    PySpark checks whether each value has a NumPy type. To do this, it imports its test helpers, which import pandas and
    take almost a second at startup. If NumPy is not imported, no value can have such a type.
    """
    from pyspark.sql import types

    def spared(ask: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
        def can_convert(converter: Any, value: Any) -> bool:
            numpy = sys.modules.get("numpy")
            kinds = tuple(getattr(numpy, name) for name in ("generic", "ndarray") if hasattr(numpy, name))
            return isinstance(value, kinds) and ask(converter, value)

        return can_convert

    for converter in (types.NumpyScalarConverter, types.NumpyArrayConverter):
        converter.can_convert = spared(converter.can_convert)


def is_alive(gateway: Any) -> bool:
    """Return True if the JVM of a gateway is running."""
    process = getattr(gateway, "proc", None)
    if process is not None:
        return process.poll() is None
    try:
        gateway.jvm.System.nanoTime()
    except Exception:
        return False
    return True


def _end(gateway: Any) -> None:
    """End the JVM of a gateway without a context. Otherwise it would stay idle until this process ends."""
    forget()
    process = gateway.proc
    if process is not None:
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def forget() -> None:
    """Reset PySpark after the JVM has ended, so that the same Python process can start another one."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    for close in (gateway.shutdown, gateway.proc.stdin.close) if gateway is not None and gateway.proc else ():
        with suppress(Exception):  # the other end is closed
            close()
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
