"""``--check`` of jobs of which only Spark knows the columns."""

import logging
import sys
from pathlib import Path

import pytest
from pyspark.logger import PySparkLogger

from seatunnel_core.cli.main import main
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.planning.check import spark_to_ask
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.registry import lookup
from seatunnel_core.spark.starting.gateway import QUERY_LOGGERS

JOB = """
source {
  FakeSource { plugin_output = people, schema { fields { id = bigint, name = string } } }
  Spark { plugin_output = cities, format = csv, path = "FOLDER", schema = "city STRING, size BIGINT" }
}
transform {
  SparkSql { plugin_input = people, plugin_output = loud, query = "SELECT id, upper(name) AS n FROM people" }
  Filter { plugin_input = loud, plugin_output = less, include_fields = [n] }
}
sink {
  Console { plugin_input = less }
  Console { plugin_input = cities }
}
"""


def checked(folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str) -> tuple[int, str, str]:
    """Exit code, output and errors of the command, for the job with ``new`` in the place of ``old``."""
    (folder / "in").mkdir()
    (folder / "job.conf").write_text(JOB.replace("FOLDER", f"{folder}/in").replace(old or new, new))
    code = main(["-c", str(folder / "job.conf"), "--check"])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.usefixtures("backend")
def test_the_columns_that_spark_reports_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = checked(tmp_path, capsys, "", "")
    assert (code, err) == (0, "")
    for lines in (
        "  transform loud (SparkSql) <- people\n    people: id bigint, n string\n",
        "  transform less (Filter) <- loud\n    people: n string\n",
        "  source cities (Spark), parallelism 1\n    cities: city string, size bigint\n",
    ):
        assert lines in out
    assert "known when the data is read" not in out


@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("upper(name)", "uper(name)", "the transform 'loud' cannot process the rows of people: SparkSql: the query"),
        (
            "[n]",
            "[name]",
            "the transform 'less' cannot process the rows of 'loud': Filter: the table people has no column",
        ),
        ("format = csv", "format = cvs", "the source 'cities': Spark: "),
    ],
)
def test_what_spark_refuses_is_found_and_nothing_else_is_printed(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    old: str,
    new: str,
    said: str,
) -> None:
    for name in QUERY_LOGGERS:  # new ones, which print to where this test looks: as in a session of somebody else's
        monkeypatch.delitem(logging.Logger.manager.loggerDict, name, raising=False)
    code, out, err = checked(tmp_path, capsys, old, new)
    assert (code, out) == (2, "")
    assert err.startswith(said)
    assert not any(PySparkLogger.getLogger(name).disabled for name in QUERY_LOGGERS)
    assert "stacktrace" not in err


@pytest.mark.parametrize(
    ("text", "master"),
    [
        (JOB, "spark://host:7077"),
        ("source { FakeSource { schema { fields { id = int } } } }\nsink { Console {} }", None),
    ],
    ids=["on other machines", "nothing for Spark"],
)
def test_spark_is_started_only_where_it_can_find_something(
    tmp_path: Path, text: str, master: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)  # a session that other tests left here would be asked
    (tmp_path / "job.conf").write_text(text)
    engine = load_engine(environment={"HOME": str(tmp_path)}, folder=tmp_path)
    job = plan_job(load_job(tmp_path / "job.conf"), lookup, engine, master=master)
    with spark_to_ask(job, master=master) as spark:
        assert spark is None
