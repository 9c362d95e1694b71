"""``seatunnel init``: what it writes can be used as it is."""

import os
import subprocess
from pathlib import Path

import pytest

from seatunnel_core.cli.cluster_arguments import asks_cluster, parse_cluster
from seatunnel_core.cli.cluster_client import client_place
from seatunnel_core.cli.main import main
from seatunnel_core.config.engine import load_engine
from seatunnel_core.config.job_file import load_job
from seatunnel_core.errors import UsageError
from seatunnel_core.server.agent.node_config import node_config
from seatunnel_core.server.member_role import MemberRole


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "a home"
    assert main(["init", str(folder)]) == 0
    return folder


def test_the_files_of_a_seatunnel_home(home: Path) -> None:
    assert sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()) == [
        "bin/seatunnel.sh",
        "config/seatunnel.yaml",
        "config/v2.batch.config.template",
        "config/v2.streaming.conf.template",
        "jobs/cities.csv",
        "jobs/first.conf",
    ]


def test_the_engine_file_is_found_and_valid(home: Path) -> None:
    engine = load_engine(environment={"SEATUNNEL_HOME": str(home)})
    assert engine.file == home / "config/seatunnel.yaml"
    assert engine.storage.type == "hdfs"
    assert engine.storage.plugin_config["namespace"] == f"{home}/checkpoints/"


@pytest.mark.parametrize("job", ["v2.batch.config.template", "v2.streaming.conf.template", "../jobs/first.conf"])
def test_the_jobs_are_valid(home: Path, job: str) -> None:
    raw = load_job(home / "config" / job, strict=True)
    assert raw.problems.found == []
    assert {block.kind.value for block in raw.blocks} >= {"source", "sink"}


def test_nothing_is_overwritten(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "config/seatunnel.yaml").write_text("mine")
    (home / "bin/seatunnel.sh").unlink()
    assert main(["init", str(home)]) == 2
    assert "already contains config/seatunnel.yaml" in capsys.readouterr().err
    assert (home / "config/seatunnel.yaml").read_text() == "mine"
    assert not (home / "bin/seatunnel.sh").exists()


def test_a_file_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.conf").touch()
    assert main(["init", str(tmp_path / "job.conf")]) == 2
    assert capsys.readouterr().err == f"{tmp_path}/job.conf is a file: choose a folder, which is created if missing\n"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", str(tmp_path / "file" / "home")]) == 2
    assert "cannot be written" in capsys.readouterr().err


OF_A_CLUSTER = [
    "bin/seatunnel-cluster.sh",
    "bin/stop-seatunnel-cluster.sh",
    "config/cluster.secret",
    "config/hazelcast-client.yaml",
    "config/hazelcast-master.yaml",
    "config/hazelcast-worker.yaml",
    "config/hazelcast.yaml",
    "config/jvm_options",
]


class TestCluster:
    """``seatunnel init DIR --cluster``; ``tests/server/test_seeds.py`` starts what it writes."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        folder = tmp_path / "a home"
        assert main(["init", str(folder), "--cluster"]) == 0
        return folder

    def test_the_files(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        home = tmp_path / "home"
        assert main(["init", "--cluster", str(home)]) == 0
        found = sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())
        assert set(OF_A_CLUSTER) < set(found)
        assert len(found) == len(OF_A_CLUSTER) + 6
        secret = home / "config/cluster.secret"
        assert secret.stat().st_mode & 0o777 == 0o600
        told = capsys.readouterr().out
        assert secret.read_text().strip() not in told
        assert f"{home}/bin/seatunnel-cluster.sh -d" in told

    def test_a_secret_is_not_overwritten(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        before = (home / "config/cluster.secret").read_text()
        for path in home.rglob("*"):
            if path.is_file() and path.name != "cluster.secret":
                path.unlink()
        assert main(["init", str(home), "--cluster"]) == 2
        assert "already contains config/cluster.secret" in capsys.readouterr().err
        assert (home / "config/cluster.secret").read_text() == before

    def test_a_node_and_a_client_read_them(self, home: Path) -> None:
        environment = {"SEATUNNEL_HOME": str(home)}
        masters = ("127.0.0.1:5801", "127.0.0.1:5802")
        ports = []
        for role in MemberRole:
            config = node_config(role=role, environment=environment)
            assert (config.members, config.host, config.cluster) == (masters, "127.0.0.1", "seatunnel")
            assert config.secret is not None
            ports.append(config.port)
        assert ports == [5801, 5801, 5802, 5801]
        assert client_place(parse_cluster(["-l"]), environment).members == masters

    def test_the_script_means_the_cluster_and_the_command_does_not(self, home: Path) -> None:
        by_script = {"SEATUNNEL_HOME": str(home), "SEATUNNEL_COMMAND": "bin/seatunnel.sh"}
        assert asks_cluster(["-c", "j"], by_script)
        assert not asks_cluster(["-c", "j"], {"SEATUNNEL_HOME": str(home)})
        assert not asks_cluster(["-c", "j"], {**by_script, "SEATUNNEL_MODE": "local"})
        assert not asks_cluster(["-c", "j", "-m", "local"], by_script)
        assert not asks_cluster(["-c", "j", "--check"], by_script)
        with pytest.raises(UsageError, match="SEATUNNEL_MODE is 'on': expected local or cluster"):
            asks_cluster(["-c", "j"], {**by_script, "SEATUNNEL_MODE": "on"})


class TestScript:
    """``bin/seatunnel.sh`` with a command in the interpreter's place that says how it was called."""

    @pytest.fixture
    def called(self, home: Path, tmp_path: Path) -> str:
        spy = tmp_path / "spy"
        spy.write_text('#!/bin/sh\necho "$SEATUNNEL_HOME|$SEATUNNEL_COMMAND|$JAVA_OPTS"\nprintf "[%s]" "$@"\n')
        spy.chmod(0o755)
        script = home / "bin/seatunnel.sh"
        lines = script.read_text().splitlines()
        lines[-1] = f'exec "{spy}" "$@"'
        script.write_text("\n".join(lines) + "\n")
        return str(script)

    def say(self, script: str, *arguments: str, **environment: str) -> str:
        base = {key: value for key, value in os.environ.items() if key not in ("SEATUNNEL_HOME", "JAVA_OPTS")}
        return subprocess.run(
            [script, *arguments], env=base | environment, capture_output=True, text=True, check=True
        ).stdout

    def test_its_own_folder_is_the_home(self, called: str, home: Path) -> None:
        assert self.say(called, "--config", "my job.conf") == f"{home}|{called}|\n[--config][my job.conf]"

    def test_java_opts_and_the_jvm_option_get_through(self, called: str) -> None:
        said = self.say(called, "-DJvmOption=-Xms2G -Xmx2G", JAVA_OPTS="-Xss4m", SEATUNNEL_HOME="/other")
        assert said == f"/other|{called}|-Xss4m\n[-DJvmOption=-Xms2G -Xmx2G]"

    def test_it_starts_the_command(self, home: Path) -> None:
        assert self.say(str(home / "bin/seatunnel.sh"), "--version").startswith("seatunnel-core ")
