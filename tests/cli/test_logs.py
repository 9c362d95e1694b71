"""Log records as text and as JSON lines."""

import json
import logging

from seatunnel_core.cli.logs import ROOT, logs_sent_to

LOG = logging.getLogger("seatunnel.test")


def test_a_json_line_says_where_it_is_from() -> None:
    lines: list[str] = []
    with logs_sent_to(lines.append, level="INFO", format="json"):
        LOG.info("stored %d bytes", 5, extra={"job": "42", "pipeline": 2, "checkpoint": 7, "figures": {"rows": 3}})
    record = json.loads(lines[0])
    assert record.pop("time").endswith("+00:00")
    assert record == {
        "level": "INFO", "logger": "seatunnel.test", "message": "stored 5 bytes",
        "job": "42", "pipeline": 2, "checkpoint": 7, "rows": 3,
    }  # fmt: skip


def test_a_json_record_stays_on_one_line() -> None:
    lines: list[str] = []
    with logs_sent_to(lines.append, level="INFO", format="json"):
        try:
            raise ValueError("first\nsecond")
        except ValueError:
            LOG.exception("a\nb")
    assert "\n" not in lines[0]
    assert "first\nsecond" in json.loads(lines[0])["exception"]


def test_text_names_level_and_pipeline() -> None:
    lines: list[str] = []
    with logs_sent_to(lines.append, level="WARNING", format="text"):
        LOG.info("not shown")
        LOG.warning("slow", extra={"pipeline": 2})
        LOG.warning("pipeline 2, sink out: slow", extra={"pipeline": 2})
        LOG.warning("slower")
    assert lines == ["WARNING pipeline 2: slow", "WARNING pipeline 2, sink out: slow", "WARNING: slower"]


def test_afterwards_the_logger_is_as_it_was() -> None:
    logger = logging.getLogger(ROOT)
    before = list(logger.handlers), logger.propagate, logger.level
    lines: list[str] = []
    with logs_sent_to(lines.append, level="DEBUG", format="text"):
        assert logger.propagate is False
    LOG.warning("not for us")
    assert (list(logger.handlers), logger.propagate, logger.level, lines) == (*before, [])


def test_libraries_warn_among_our_lines_and_a_broken_connection_to_spark_shows_no_traceback() -> None:
    """When the JVM was killed, py4j logged its traceback to the root logger, and from there to the terminal."""
    lines: list[str] = []
    with logs_sent_to(lines.append, level="ERROR", format="text"):
        logging.getLogger("library").warning("old option")
        logging.getLogger("library").info("not shown")
        of_py4j = logging.LogRecord("root", logging.ERROR, "/lib/py4j/java_gateway.py", 1, "Exception …", (), None)
        logging.getLogger().handle(of_py4j)
    logging.getLogger("library").warning("after the block")
    assert lines == ["WARNING: old option"]
