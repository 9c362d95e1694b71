"""``seatunnel -m cluster``: what is asked of a cluster, and what is said when there is none."""

import contextlib
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from seatunnel_core.cli import cluster_client
from seatunnel_core.cli.cluster_arguments import asks_cluster, parse_cluster
from seatunnel_core.cli.cluster_client import _variables, client_place
from seatunnel_core.cli.main import main
from seatunnel_core.errors import ConfigError, UsageError


@pytest.mark.parametrize(
    ("argv", "environment", "cluster"),
    [
        (["-m", "cluster", "-l"], {}, True),
        (["-c", "j", "--deploy-mode=cluster"], {}, True),
        (["-c", "j", "-m", "local"], {"SEATUNNEL_COMMAND": "x/seatunnel.sh", "SEATUNNEL_MODE": "cluster"}, False),
        (["-c", "j"], {"SEATUNNEL_COMMAND": "x/seatunnel.sh", "SEATUNNEL_MODE": "cluster"}, True),
        (["-c", "j"], {"SEATUNNEL_COMMAND": "x/seatunnel.sh"}, False),
        (["-c", "j"], {"SEATUNNEL_MODE": "cluster"}, False),
        (["init", "x"], {"SEATUNNEL_COMMAND": "x/seatunnel.sh", "SEATUNNEL_MODE": "cluster"}, False),
        ([], {"SEATUNNEL_COMMAND": "x/seatunnel.sh", "SEATUNNEL_MODE": "cluster"}, False),
    ],
)
def test_which_commands_ask_a_cluster(argv: list[str], environment: dict[str, str], cluster: bool) -> None:
    assert asks_cluster(argv, environment) is cluster


def test_the_arguments_of_a_submit() -> None:
    given = parse_cluster(["-m", "cluster", "-c", "j", "-i", "p=hunter2", "-n", "copy", "-r", "7", "--async"])
    assert (given.config, given.name, given.restore, given.leave) == (Path("j"), "copy", "7", True)
    assert given.variables == {"p": "hunter2"}
    assert "hunter2" not in repr(given)
    assert parse_cluster(["-m", "cluster", "-can", "1", "2", "-f"]).cancelled == ("1", "2")
    assert not parse_cluster(["-m", "cluster", "-c", "j", "-cj", "false"]).close_job


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "Nothing to do"),
        (["-c", "j", "-l"], "cannot be combined"),
        (["-c", "j", "--retract"], "--retract is not available with -m cluster"),
        (["-c", "j", "-i", "x"], "expected NAME=VALUE"),
        (["-l", "-can", "1"], "not allowed with"),
    ],
)
def test_mistakes(argv: list[str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_cluster(["-m", "cluster", *argv])
    assert said in str(refused.value)


def test_the_clients_file_of_the_seed_says_where(tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir()
    asked = parse_cluster(["-m", "cluster", "-l"])
    assert client_place(asked, {"SEATUNNEL_HOME": str(tmp_path)}).members == ("127.0.0.1:5801",)
    (config / "seatunnel.yaml").write_text("seatunnel: {engine: {backup-count: 1}}")
    (config / "hazelcast-client.yaml").write_text(
        "hazelcast-client:\n  cluster-name: prod\n  properties:\n      hazelcast.logging.type: log4j2\n"
        "  network:\n    cluster-members:\n      - hostname1:5801\n      - hostname2\n"
    )
    place = client_place(asked, {"SEATUNNEL_HOME": str(tmp_path)})
    assert (place.cluster, place.members[:2]) == ("prod", ("hostname1:5801", "hostname2:5801"))
    assert place.members[2:] == ("hostname2:5802", "hostname2:5803"), "where one without a port may be, too"


def test_a_cluster_that_cannot_be_reached_is_an_error_and_no_local_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEATUNNEL_HOME", str(tmp_path))
    config = tmp_path / "config"
    config.mkdir()
    (config / "seatunnel.yaml").write_text("seatunnel: {engine: {backup-count: 1}}")
    (config / "hazelcast-client.yaml").write_text(
        "hazelcast-client:\n  network:\n    cluster-members: ['127.0.0.1:1']\n"
    )
    (tmp_path / "job.conf").write_text("env {}")
    assert main(["-m", "cluster", "-c", "job.conf"]) == 1
    said = capsys.readouterr()
    assert "Mode: cluster 'seatunnel' at 127.0.0.1:1" in said.out
    assert "the cluster 'seatunnel' cannot be reached: 127.0.0.1:1:" in said.err


def test_secrets_of_the_clients_environment_stay_there(capsys: pytest.CaptureFixture[str]) -> None:
    text = """env { job.name = ${NAME} }\nsource { Http { url = "http://${HOST}/x?token=${TOKEN}" } }"""
    environment = {"NAME": "mine", "HOST": "h", "TOKEN": "hunter2", "OTHER": "x"}
    assert _variables(text, "job.conf", {"NAME": "given"}, environment) == {"NAME": "given", "HOST": "h"}
    said = capsys.readouterr().out
    assert "${TOKEN} is not sent, because source.Http.url is a secret: each node uses its own value" in said
    assert "hunter2" not in said


def test_a_secret_on_the_command_line_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ConfigError, match=r"\$\{PW\} is used in the secret sink.Jdbc.password") as refused:
        _variables("sink { Jdbc { password = ${PW} } }", "job.conf", {"PW": "hunter2"}, {})
    assert "hunter2" not in str(refused.value)


def test_what_the_file_itself_defines_is_not_taken_from_the_environment() -> None:
    """It was, on a cluster only: the environment's value went along as if ``-i`` had given it."""
    assert _variables("day = 1, env { job.name = ${day} }", "job.conf", {}, {"day": "2"}) == {}


class _Answering:
    """A cluster that accepts a job with a warning, and runs it with another one."""

    def ask(self, _method: str, path: str, _body: object = None) -> dict[str, Any]:
        if path.endswith("/submit"):
            return {"jobName": "j", "warnings": ["job.conf:1:7: the source FakeSource has no option 'rownum'"]}
        times = {"createTime": "2026-01-31 10:00:00", "finishTime": "2026-01-31 10:00:01"}
        pipelines = [{"id": 1, "name": "a -> b", "warnings": ["3 rows have the key 'ID' and no 'id'"]}]
        return {"jobStatus": "FINISHED", "metrics": {}, "pipelines": pipelines if "job-info" in path else [], **times}


def test_the_client_prints_warnings_of_the_plan_and_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.conf").write_text("source { FakeSource { rownum = 1 } }\nsink { Console {} }\n")
    monkeypatch.setattr(cluster_client, "_learn", lambda _: None)
    monkeypatch.setattr(cluster_client, "job_progress_line", lambda: contextlib.nullcontext(Mock()))
    arguments = parse_cluster(["-m", "cluster", "-c", str(tmp_path / "job.conf")])
    assert cluster_client._submit(_Answering(), arguments) == 0  # type: ignore[arg-type]
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("warning: ")]
    assert said == [
        "warning: job.conf:1:7: the source FakeSource has no option 'rownum'",
        "warning: 3 rows have the key 'ID' and no 'id'",
    ]
