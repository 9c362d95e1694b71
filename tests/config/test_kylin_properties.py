"""``kylin.properties``: the keys of Kylin's page on clusters, and Java's way to write them."""

from pathlib import Path

import pytest

from seatunnel_core.config.kylin_properties import kylin_folder, read_kylin
from seatunnel_core.config.problem import Problems
from seatunnel_core.errors import ConfigError

OF_THE_PAGE = r"""
kylin.env.zookeeper-connect-string=host1:2181,host2:2181,host3:2181
spring.cloud.zookeeper.discovery.instance-host=10.1.2.3
kylin.server.mode=all
kylin.server.leader-race.heart-beat-timeout=60
kylin.server.leader-race.heart-beat-interval=30
kylin.job.ssh-username=username
kylin.job.ssh-password=password
kylin.storage.columnar.spark-conf.spark.gluten.sql.columnar.backend.ch.runtime_config.x=hdfs://olivernameservice/
kylin.engine.spark-conf.spark.gluten.sql.columnar.backend.ch.runtime_config.x=hdfs://olivernameservice/
spring.session.store-type=jdbc
kylin.server.leader-race.enabled=false
"""


def read(folder: Path, text: str, override: str = "") -> tuple[dict[str, object], list[str]]:
    (folder / "kylin.properties").write_text(text)
    if override:
        (folder / "kylin.properties.override").write_text(override)
    problems = Problems()
    found = read_kylin(folder, problems)
    problems.raise_errors()
    return found, [str(warning) for warning in problems.warnings]


def test_the_keys_of_the_page(tmp_path: Path) -> None:
    found, said = read(tmp_path, OF_THE_PAGE)
    assert found == {
        "cluster.zookeeper-connect-string": "host1:2181,host2:2181,host3:2181",
        "cluster.instance-host": "10.1.2.3",
        "cluster.server-mode": "all",
        "cluster.leader-race.enabled": False,
        "cluster.leader-race.heart-beat-interval": 30,
        "cluster.leader-race.heart-beat-timeout": 60,
    }
    assert len(said) == 3, "one warning for ssh, Gluten and the sessions each"
    assert "kylin.properties:7:1: 'kylin.job.ssh-username' has no effect" in said[0]
    assert "Gluten and internal tables" in said[1]
    assert "sessions are not used" in said[2]


def test_the_override_wins_and_the_environment_names_the_folder(tmp_path: Path) -> None:
    found, _ = read(tmp_path, OF_THE_PAGE, "kylin.server.leader-race.heart-beat-timeout: 90\n")
    assert found["cluster.leader-race.heart-beat-timeout"] == 90
    assert kylin_folder({"KYLIN_HOME": "/k"}, tmp_path) == Path("/k/conf")
    assert kylin_folder({}, tmp_path) == tmp_path
    assert read_kylin(tmp_path / "empty", Problems()) == {}


@pytest.mark.parametrize(
    "written",
    [
        "kylin.server.mode = job",
        "  kylin.server.mode:job\n# kylin.server.mode=all\n! kylin.server.mode=all",
        "kylin.server.mode job",
        "kylin.server.\\\n    mode=\\\n  job",
        "kylin.server.mode=\\u006aob\r\n\r\n",
        "\\kylin.server.mode=job\\",
    ],
)
def test_entries_as_java_reads_them(tmp_path: Path, written: str) -> None:
    assert read(tmp_path, written)[0] == {"cluster.server-mode": "job"}


def test_a_wrong_value_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"kylin.properties:2:1.*expected one of all, job, query, found 'both'"):
        read(tmp_path, "#\nkylin.server.mode=both\n")


def test_other_keys_are_one_warning_without_their_values(tmp_path: Path) -> None:
    found, said = read(tmp_path, "kylin.z=hunter2\nkylin.a=1\nkylin.b=2\nkylin.c=3\n")
    assert found == {}
    assert len(said) == 1
    assert "kylin.z, kylin.a, kylin.b, …: these Kylin keys have no effect" in said[0]
    assert "hunter2" not in said[0]
