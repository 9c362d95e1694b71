"""What a node is told: by which files, for which role."""

from pathlib import Path

import pytest

from seatunnel_core.errors import UsageError
from seatunnel_core.server.agent.node_config import NodeConfig, node_config
from seatunnel_core.server.command import main
from seatunnel_core.server.member_role import MemberRole

CLUSTER = """
hazelcast:
  cluster-name: {name}
  network:
    join:
      tcp-ip:
        enabled: true
        member-list: [127.0.0.1]
    port:
      auto-increment: false
      port: {port}
"""


def configured(folder: Path, role: MemberRole = MemberRole.MASTER_AND_WORKER, **files: str) -> NodeConfig:
    """Return the configuration of a node whose folder has files, by their names without ending."""
    config = folder / "config"
    config.mkdir(exist_ok=True)
    for name, text in {"seatunnel": "seatunnel: {engine: {backup-count: 1}}", **files}.items():
        (config / f"{name.replace('_', '-')}.yaml").write_text(text)
    if role is not MemberRole.MASTER_AND_WORKER:
        (config / "cluster.secret").write_text("s" * 32)
        (config / "cluster.secret").chmod(0o600)
    return node_config(role=role, environment={"SEATUNNEL_HOME": str(folder)}, folder=folder)


def test_each_role_has_a_file_a_port_and_a_log_of_its_own(tmp_path: Path) -> None:
    files = {
        "hazelcast": CLUSTER.format(name="both", port=5801),
        "hazelcast_master": CLUSTER.format(name="masters", port=5801),
        "hazelcast_worker": CLUSTER.format(name="workers", port=5802),
    }
    found = {role: configured(tmp_path, role, **files) for role in MemberRole}
    assert [(config.cluster, config.port) for config in found.values()] == [
        ("both", 5801),
        ("masters", 5801),
        ("workers", 5802),
        ("both", 5801),
    ]
    assert [config.hazelcast_file and config.hazelcast_file.name for config in found.values()] == [
        "hazelcast.yaml",
        "hazelcast-master.yaml",
        "hazelcast-worker.yaml",
        "hazelcast.yaml",
    ]
    assert [role.log_file for role in MemberRole] == [
        f"seatunnel-engine-{part}.log" for part in ("server", "master", "worker", "server")
    ]
    assert all(config.role is role for role, config in found.items())


def test_a_role_without_a_file_of_its_own_reads_the_shared_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "seatunnel.cluster")
    found = configured(tmp_path, MemberRole.WORKER, hazelcast=CLUSTER.format(name="both", port=5901))
    assert (found.cluster, found.port) == ("both", 5901)
    assert "hazelcast-worker.yaml does not exist, so this worker reads" in caplog.text


def test_without_any_file_the_ports_are_those_of_the_roles(tmp_path: Path) -> None:
    assert [configured(tmp_path, role).port for role in MemberRole] == [5801, 5801, 5802, 5801]


@pytest.mark.parametrize("attributes", ["{zone: {type: string, value: a}, rack: 07}", "{zone: a, rack: '07'}"])
def test_attributes_stand_as_hazelcast_has_them_or_short(tmp_path: Path, attributes: str) -> None:
    found = configured(
        tmp_path, hazelcast=CLUSTER.format(name="both", port=5801) + f"  member-attributes: {attributes}\n"
    )
    assert found.attributes == {"zone": "a", "rack": "07"}


@pytest.mark.parametrize(("role", "warns"), [(MemberRole.WORKER, True), (MemberRole.MASTER, False)])
def test_tags_of_workers_are_said_to_have_no_effect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, role: MemberRole, warns: bool
) -> None:
    configured(tmp_path, role, hazelcast=CLUSTER.format(name="c", port=5801) + "  member-attributes: {zone: a}\n")
    assert ("member-attributes have no effect on this worker" in caplog.text) is warns


def test_the_grace_of_workers_is_an_option(tmp_path: Path) -> None:
    assert configured(tmp_path).worker_grace_s == 60
    text = "seatunnel: {engine: {cluster: {worker-grace-seconds: 5}}}"
    assert configured(tmp_path, seatunnel=text).worker_grace_s == 5


def test_roles_are_read_in_any_case_and_others_are_refused() -> None:
    assert MemberRole.of(" Master ") is MemberRole.MASTER
    with pytest.raises(ValueError, match="expected one of master_and_worker, master, worker, query, found 'lead'"):
        MemberRole.of("lead")
    assert [(role.leads, role.works) for role in MemberRole] == [
        *((True, True), (True, False), (False, True), (False, False))
    ]


def test_the_command_refuses_roles_that_are_none_and_roles_without_a_secret(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["-r", "lead"]) == 2
    assert "expected one of master_and_worker, master, worker" in capsys.readouterr().err
    (tmp_path / "seatunnel.yaml").write_text("seatunnel: {engine: {backup-count: 1}}")
    assert main(["-r", "worker", "--engine-config", str(tmp_path / "seatunnel.yaml")]) == 2
    assert f"a node with role worker needs the cluster's secret, {tmp_path}/cluster.secret" in capsys.readouterr().err


def test_members_elsewhere_need_a_secret(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="seatunnel-cluster --make-secret"):
        configured(tmp_path, hazelcast=CLUSTER.format(name="both", port=5801).replace("127.0.0.1", "192.0.2.7"))


KYLIN = """
kylin.server.leader-race.heart-beat-timeout=60
kylin.server.leader-race.heart-beat-interval=30
spring.cloud.zookeeper.discovery.instance-host=127.0.0.9
"""


def test_kylins_keys_and_those_of_the_engines_file_which_win(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/kylin.properties").write_text(KYLIN)
    found = configured(tmp_path)
    assert found.host == "127.0.0.9"
    assert (found.timing.timeout_s, found.timing.beat_s, found.timing.lease_s) == (60, 12, 30)
    text = "seatunnel: {engine: {cluster: {leader-race: {heart-beat-timeout: 5, heart-beat-interval: 1}}}}"
    found = configured(tmp_path, seatunnel=text)
    assert (found.host, found.timing.timeout_s, found.timing.beat_s) == ("127.0.0.9", 5, 1)
    with pytest.raises(UsageError, match="heart-beat-timeout is 30 s and heart-beat-interval is 30 s"):
        configured(tmp_path, seatunnel="seatunnel: {engine: {cluster: {leader-race: {heart-beat-timeout: 30}}}}")


def test_an_address_that_others_reach_needs_a_secret(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"10.1.2.3 can be reached from other machines"):
        configured(tmp_path, seatunnel="seatunnel: {engine: {cluster: {instance-host: 10.1.2.3}}}")
    secret = tmp_path / "config/cluster.secret"
    secret.write_text("s" * 64)
    secret.chmod(0o600)
    assert configured(tmp_path, seatunnel="seatunnel: {engine: {cluster: {instance-host: 10.1.2.3}}}").bind == "0.0.0.0"
    assert configured(tmp_path, seatunnel="seatunnel: {engine: {cluster: {instance-host: '[fd00::1]'}}}").bind == "::"


def test_what_has_no_effect_on_a_node_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    configured(
        tmp_path,
        hazelcast="hazelcast: {network: {rest-api: {enabled: true, endpoint-groups: {DATA: {enabled: true}}}}}",
    )
    assert "'backup-count' has no effect" in caplog.text
    assert "'network.rest-api.endpoint-groups.DATA.enabled' has no effect" in caplog.text
    caplog.clear()
    text = "seatunnel: {engine: {history-job-expire-minutes: 5, http: {enable-http: true}}}"
    configured(tmp_path, seatunnel=text, hazelcast="hazelcast: {}")
    assert caplog.text == "", "a node does what these keys say"


@pytest.mark.parametrize(
    ("mode", "role"), [("all", "master_and_worker"), ("job", "master_and_worker"), ("query", "query")]
)
def test_the_mode_of_a_server_is_its_role_unless_the_command_names_one(tmp_path: Path, mode: str, role: str) -> None:
    text = f"seatunnel: {{engine: {{cluster: {{server-mode: {mode}}}}}}}"
    (tmp_path / "config").mkdir()
    (tmp_path / "config/seatunnel.yaml").write_text(text)
    environment = {"SEATUNNEL_HOME": str(tmp_path)}
    assert node_config(environment=environment).role.value == role
    named = node_config(role=MemberRole.MASTER_AND_WORKER, environment=environment)
    assert named.role is MemberRole.MASTER_AND_WORKER


@pytest.mark.parametrize("host", ["203.0.113.7", "'[::1]'"])
def test_spark_on_a_node_needs_an_address_of_this_machine(tmp_path: Path, host: str) -> None:
    """The node ended in a traceback, or started its Spark worker again and again."""
    engine = f"seatunnel: {{engine: {{cluster: {{instance-host: {host}}}}}}}"
    with pytest.raises(UsageError, match="not an IPv4 address of this machine"):
        configured(tmp_path, MemberRole.MASTER, seatunnel=engine)


def test_all_files_of_a_node_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as found:
        configured(
            tmp_path,
            seatunnel="seatunnel: {engine: {slot-num: many, backup-cuont: 1}}",
            hazelcast="hazelcast: {cluster-name: c, network: {port: {port: high}}}",
        )
    for expected in ("slot-num", "backup-cuont", "'network.port.port'"):
        assert expected in str(found.value)


def test_all_options_of_a_node_that_do_not_go_together_are_reported_together(tmp_path: Path) -> None:
    http = "{enable-https: true, bind-address: everywhere, context-path: 'a b'}"
    with pytest.raises(UsageError) as found:
        configured(tmp_path, seatunnel=f"seatunnel: {{engine: {{http: {http}, cluster: {{instance-host: 10.9.8.7}}}}}}")
    for expected in ("http.key-store-path", "http.bind-address", "http.context-path", "10.9.8.7"):
        assert expected in str(found.value)
