"""Log output of the command line: short text, or one JSON object per line."""

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

ROOT = "seatunnel"
"""Parent logger of this project. Loggers of libraries are not changed."""

REACHING = frozenset(
    {"urllib3", "requests", "botocore", "boto3", "s3transfer", "fsspec", "oss2", "azure", "google", "hdfs", "hvac"}
    | {"paramiko", "pyiceberg", "sqlalchemy", "asyncmy", "psycopg", "confluent_kafka", "kazoo", "asyncio", "pyspark"}
)
"""Loggers of libraries that access services and storages."""

CONTEXT = ("job", "pipeline", "checkpoint", "code")
"""Record attributes that identify the origin, and the code of a reported error."""


class TextFormatter(logging.Formatter):
    """Formatter for lines such as ``WARNING pipeline 2: …``."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        pipeline = getattr(record, "pipeline", None)
        origin = "" if pipeline is None else f" pipeline {pipeline}"
        named = message.startswith(f"pipeline {pipeline},")
        text = f"{record.levelname} {message}" if named else f"{record.levelname}{origin}: {message}"
        return f"{text}\n{_exception(record)}" if record.exc_info else text


class JsonFormatter(logging.Formatter):
    """Formatter for JSON lines: ``time`` (UTC), ``level``, ``logger``, ``message``, then origin, then counters."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key in CONTEXT if (value := getattr(record, key, None)) not in (None, "")}
        line |= getattr(record, "figures", {})
        if record.exc_info:
            line["exception"] = _exception(record)
        return json.dumps(line, ensure_ascii=False, default=str)


class WritingHandler(logging.Handler):
    """Handler that passes each formatted record to a function."""

    def __init__(self, write: Callable[[str], None]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._write(self.format(record))
        except Exception:
            self.handleError(record)


@contextmanager
def logs_sent_to(
    write: Callable[[str], None],
    *,
    level: str,
    format: str,
    wanted: Callable[[logging.LogRecord], bool] = lambda _: True,
) -> Iterator[None]:
    """Send log records to ``write`` instead of other outputs while the context is open.

    ``level`` and ``wanted`` filter the records of this project. Warnings of libraries are included, except those about
    Spark's connection. Libraries that access services are included only in JSON or for a ``level`` below WARNING: the
    engine itself reports their errors.
    """
    logger, root = logging.getLogger(ROOT), logging.getLogger()
    before = logger.handlers, logger.propagate, logger.level
    handler, of_libraries = WritingHandler(write), WritingHandler(write)
    for each in (handler, of_libraries):
        each.setFormatter(JsonFormatter() if format == "json" else TextFormatter())
    of_libraries.setLevel(logging.WARNING)
    detailed = format == "json" or level.upper() in ("DEBUG", "INFO")
    of_libraries.addFilter(lambda record: "py4j" not in record.pathname)
    of_libraries.addFilter(lambda record: detailed or record.name.partition(".")[0] not in REACHING)
    handler.addFilter(wanted)
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(level)
    root.addHandler(of_libraries)  # py4j logs to the root logger, which without a handler prints tracebacks
    try:
        yield
    finally:
        root.removeHandler(of_libraries)
        logger.handlers, logger.propagate = before[:2]
        logger.setLevel(before[2])


def _exception(record: logging.LogRecord) -> str:
    assert record.exc_info
    return "".join(traceback.format_exception(*record.exc_info)).rstrip()
