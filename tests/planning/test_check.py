import json
from pathlib import Path

import pytest

from seatunnel_core.cli.main import main
from seatunnel_core.config.engine import load_engine
from seatunnel_core.connectors.file.listing import Listing
from seatunnel_core.connectors.file.reading import FileReading
from seatunnel_core.errors import JobError, PlatformError
from seatunnel_core.planning.check import check_report
from seatunnel_core.planning.planner import plan_job
from seatunnel_core.spark.starting.session import refuse_connect
from seatunnel_core.spark.starting.settings import SparkSettings
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import StorageConfigurationError, UnknownStorageError
from tests.planning.plugins_for_plans import Plugins
from tests.planning.test_planner import raw

JOB = """
env { checkpoint.interval = 1000, spark.app.password = hush, spark.cores.max = 2 }
source {
  LocalFile { path = /a, file_format_type = csv, plugin_output = a, schema { fields { id = bigint } }, password = hush }
  LocalFile { path = /b, file_format_type = csv, plugin_output = b }
}
transform {
  Keep { plugin_input = a, plugin_output = c, columns = [id] }
  Keep { plugin_input = b, plugin_output = d }
}
sink {
  Console { plugin_input = c }
  LocalFile { plugin_input = d, path = /out }
}
"""


def report(text: str = JOB, file: Path | None = None, *, verbose: bool = True) -> str:
    engine = load_engine(file, environment={"HOME": "/home/me"}, folder=Path("/nowhere"))
    return check_report(plan_job(raw(text), Plugins(), engine, look=True), engine, verbose=verbose)


def test_it_says_which_engine_file_was_used(tmp_path: Path) -> None:
    assert "\nengine file: none, built-in defaults\n" in report()
    file = tmp_path / "seatunnel.yaml"
    file.write_text(
        "seatunnel: {engine: {checkpoint: {timeout: 5000, storage: {plugin-config: {fs.s3a.secret.key: hush}}}}}"
    )
    shown = report(file=file)
    assert f"\nengine file: {file}\n" in shown
    assert "  checkpoint.timeout = 5000 ms\n" in shown
    assert "  checkpoint.interval = 300000 ms  (default)\n" in shown
    assert "  type = localfile\n" in shown
    assert "  plugin-config.fs.s3a.secret.key = ***\n" in shown


def test_it_shows_the_job_and_its_pipelines() -> None:
    shown = report()
    for line in (
        "  checkpoint.interval = 1000 ms\n",
        "  parallelism = 1  (default)\n",
        "  spark.cores.max = 2\n",
        "  plugin-config.namespace = /home/me/.local/state/seatunnel/checkpoint/\n",
        "pipeline 1\n  source a (LocalFile), parallelism 1\n    people: id bigint, name string\n"
        "  transform c (Keep) <- a\n    people: id bigint\n  sink Console-sink-c (Console) <- c\n"
        "    target not checked\n"
        "  guarantee: at-least-once, because the sink 'Console-sink-c' (Console) cannot roll back rows\n",
        "pipeline 2\n  source b (LocalFile), parallelism 1\n    schema: known when the data is read\n"
        "  transform d (Keep) <- b\n    schema: known when the data is read\n"
        "  sink LocalFile-sink-d (LocalFile) <- d\n"
        "    target not checked\n  guarantee: exactly-once\n",
        "checkpoints: every 1000 ms",
    ):
        assert line in shown


def test_the_plan_comes_first_and_defaults_when_asked_for() -> None:
    """Forty options at their defaults stood before the plan."""
    shown = report(verbose=False)
    assert shown.startswith("pipeline 1\n")
    assert "(default)" not in shown
    assert shown.index("guarantee:") < shown.index("checkpoints: every") < shown.index("checkpoint.interval = 1000 ms")
    assert shown.endswith("options with default values are omitted; --verbose shows them")


def test_it_shows_no_secret_inside_a_value() -> None:
    text = JOB.replace("env {", 'env { spark.driver.extraJavaOptions = "-Djavax.net.ssl.trustStorePassword=hush",', 1)
    assert "spark.driver.extraJavaOptions = ***" in report(text)


def test_it_shows_no_secret() -> None:
    assert "hush" not in report()


def test_it_shows_the_warnings() -> None:
    assert (
        report(JOB.replace("path = /b", "path = /b, colur = red")).splitlines()[-1].startswith("warning: job.conf:5:")
    )


def test_it_says_when_checkpoints_are_taken() -> None:
    text = JOB.replace("checkpoint.interval = 1000, ", "")
    assert "checkpoints: only at the start and at the end" in report(text)
    assert "checkpoints: every 300000 ms" in report(text.replace("env {", "env { job.mode = streaming, "))


def test_a_transform_that_does_not_fit_is_an_error_that_names_it() -> None:
    with pytest.raises(JobError) as raised:
        report(JOB.replace("[id]", "[idd]"))
    assert str(raised.value) == "the transform 'c' cannot process the rows of 'a': there is no column 'idd'"


# -- what cannot start ------------------------------------------------------------------------------------------------


def checked(folder: Path, capsys: pytest.CaptureFixture[str], env: str = "", **engine: str) -> tuple[int, str, str]:
    """Exit code, output and errors of the command, for a job that has nothing else wrong."""
    (folder / "seatunnel.yaml").write_text(engine.get("file", "seatunnel:\n"))
    (folder / "job.conf").write_text(
        f"env {{ {env} }}\nsource {{ FakeSource {{ schema {{ fields {{ id = int }} }} }} }}\nsink {{ Console {{}} }}"
    )
    code = main(["-c", str(folder / "job.conf"), "--engine-config", str(folder / "seatunnel.yaml"), "--check"])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_a_storage_that_is_not_installed_is_refused_with_the_words_of_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UnknownStorageError) as raised:
        open_storage("hdfz", {})
    assert "Did you mean 'hdfs'?" in str(raised.value)
    text = "seatunnel: {engine: {checkpoint: {storage: {type: hdfz}}}}"
    assert checked(tmp_path, capsys, file=text) == (2, "", f"{raised.value}\n")
    assert checked(tmp_path, capsys, "checkpoint.storage.type = hdfz") == (2, "", f"{raised.value}\n")
    assert checked(tmp_path, capsys, "checkpoint.storage.type = hdfs", file=text)[0] == 0, "the engine's is not used"


def test_keys_of_a_storage_that_contradict_each_other_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {"storage.type": "local", "fs.defaultFS": "hdfs://host:1"}
    with pytest.raises(StorageConfigurationError) as raised:
        open_storage("hdfs", keys)
    text = json.dumps({"seatunnel": {"engine": {"checkpoint": {"storage": {"type": "hdfs", "plugin-config": keys}}}}})
    assert checked(tmp_path, capsys, file=text) == (2, "", f"{raised.value}\n")


def test_a_source_is_listed_once_and_its_columns_are_shown_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check of a large folder listed it three times: for the plan, for a look into its files, and for the report."""
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text("id,name\n1,Ada\n")
    (tmp_path / "job.conf").write_text(
        f'source {{ LocalFile {{ path = "{tmp_path}/*.csv", file_format_type = csv, csv_use_header_line = true }} }}\n'
        "sink { Console {} }"
    )
    listed: list[str] = []
    inferred: list[str] = []
    found, infer = Listing.found, FileReading.infer
    monkeypatch.setattr(Listing, "found", lambda self: listed.append(self.path) or found(self))
    monkeypatch.setattr(FileReading, "infer", lambda self, file: inferred.append(file) or infer(self, file))
    assert main(["-c", str(tmp_path / "job.conf"), "--check"]) == 0
    assert "id bigint, name string" in capsys.readouterr().out
    assert listed == [f"{tmp_path}/*.csv"]
    assert len(inferred) == 1 + 3, "for the report, and of each file as its task will"


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        ("seatunnel:\n", ", namespace: {state}/seatunnel/checkpoint/"),
        ("seatunnel: {{engine: {{checkpoint: {{storage: {{type: localfile}}}}}}}}", ""),
    ],
)
def test_a_storage_that_is_deprecated_is_named(
    text: str, namespace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code, out, _ = checked(tmp_path, capsys, file=text.format())
    assert (code, out.count("warning: the checkpoint storage localfile is deprecated")) == (0, 1)
    expected = f"{{storage.type: local{namespace.format(state=tmp_path)}}}"
    assert f"Set type: hdfs, and plugin-config: {expected}" in out


def test_the_storage_that_is_to_be_used_is_not_called_deprecated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "seatunnel: {engine: {checkpoint: {storage: {type: hdfs}}}}"
    assert "deprecated" not in checked(tmp_path, capsys, file=text)[1]


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("sprk://x", "expected local, local[N] with N of at least 1, or spark://HOST:PORT, found 'sprk://x'"),
        ("local[0]", "expected local, local[N] with N of at least 1, or spark://HOST:PORT, found 'local[0]'"),
        ("sc://host", "Spark Connect has no job tags and no scheduler pools"),
    ],
)
@pytest.mark.parametrize("env", ['spark.master = "{}"', '"spark.master" = "{}"', 'spark {{ master = "{}" }}'])
def test_a_master_that_is_none_is_refused_where_it_stands(
    env: str, master: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = checked(tmp_path, capsys, env.format(master))
    assert (code, out) == (2, "")
    assert err.startswith(f"{tmp_path}/job.conf:1:")
    assert expected in err


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[2, 4]", "local-cluster[2,1,512]", "spark://h:7077", "yarn"]
)
def test_what_spark_takes_as_a_master_is_taken(master: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = checked(tmp_path, capsys, f'spark.master = "{master}"')
    assert (code, f"spark.master = {master}\n" in out) == (0, True)


def test_spark_connect_is_refused_with_the_words_of_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(PlatformError) as raised:
        refuse_connect(SparkSettings(options={"spark.remote": "sc://host"}))
    told = f"{raised.value}\nMore: seatunnel help PLATFORM-ERROR\n"
    assert checked(tmp_path, capsys, 'spark.remote = "sc://host"') == (1, "", told)
