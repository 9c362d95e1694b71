"""Log records as text and as JSON lines."""

import json
import logging

from seatunnel_core.cli.logs import ROOT, logs_sent_to
from seatunnel_core.cli.progress import PlainDisplay
from seatunnel_core.cli.screen import Backlog, Screen
from seatunnel_core.reporting.notices import PipelineLog
from seatunnel_core.reporting.report import JobProgress, PipelineView

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
        logging.getLogger("urllib3.connectionpool").warning("Retrying (Retry(total=2, …")
        of_py4j = logging.LogRecord("root", logging.ERROR, "/lib/py4j/java_gateway.py", 1, "Exception …", (), None)
        logging.getLogger().handle(of_py4j)
    logging.getLogger("library").warning("after the block")
    assert lines == ["WARNING: old option"]


def test_who_asks_for_more_sees_the_lines_of_connections() -> None:
    for level, format in (("INFO", "text"), ("WARNING", "json")):
        lines: list[str] = []
        with logs_sent_to(lines.append, level=level, format=format):
            logging.getLogger("urllib3.connectionpool").warning("Retrying")
        assert len(lines) == 1


def test_why_the_only_pipeline_failed_is_told_once() -> None:
    """Its error stood on the screen twice, one below the other."""
    written: list[str] = []
    display = PlainDisplay(written.append, interval_s=1000)
    shown = Screen(display, Backlog(written.append), say=written.append)
    for pipelines, times in ((1, 0), (2, 1)):
        views = tuple(PipelineView(id=number, name="a", phase="running") for number in range(pipelines))
        shown.show(JobProgress(job_id="1", name="j", pipelines=views))
        lines: list[str] = []
        with logs_sent_to(lines.append, level="WARNING", format="text", wanted=shown.says_it_now):
            PipelineLog("1", 1).error("no such file")
        assert len(lines) == times
