"""What people copy from SeaTunnel's pages works here as it stands, or says what to write; see ``seeds/README.md``."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from attrs import evolve
from seatunnel_storage_hdfs.local import LocalFileStorage
from seatunnel_storage_mapstore.map_config import InitialMode, parse

from seatunnel_core.config import engine_options
from seatunnel_core.config.document import Block, plain
from seatunnel_core.config.engine import EngineConfig, load_engine
from seatunnel_core.config.file import load
from seatunnel_core.config.hazelcast import ClientConfig, ClusterConfig, Member, load_hazelcast, members
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import StorageConfigurationError

SEEDS = Path(__file__).parent / "seeds"
ENGINE_BLOCKS = sorted(path for path in SEEDS.rglob("*.yaml") if not path.stem.startswith(("hazelcast", "map_")))


def seed(name: str) -> EngineConfig:
    return load_engine(SEEDS / f"{name}.yaml", environment={})


def said(config: EngineConfig) -> str:
    return "\n".join(str(warning) for warning in config.warnings)


def test_no_block_is_missing() -> None:
    assert len(list((SEEDS / "000").glob("*.yaml"))) == 14
    assert len(list((SEEDS / "001").glob("*.yaml"))) == 6


# -- engine blocks: the effective configuration -----------------------------------------------------------------------


@pytest.mark.parametrize("path", ENGINE_BLOCKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_engine_block_is_valid_and_says_what_it_means(path: Path) -> None:
    config = load_engine(path, environment={})
    assert config.file == path
    assert config.storage.max_retained == 3
    without_effect = {"backup-count", "K1", "K2"}
    kinds = ("has no effect", "is treated as a comment")
    for warning in config.warnings:
        assert any(kind in str(warning) for kind in kinds), warning
        assert "has no effect" not in str(warning) or any(f"'{key}'" in str(warning) for key in without_effect)


def test_the_block_about_backups() -> None:
    config = seed("000/backup_count")
    assert config.options[engine_options.BACKUP_COUNT] == 1
    assert "'backup-count' has no effect: the state is in the checkpoint storage" in said(config)


def test_the_block_about_slots() -> None:
    assert seed("000/slot_service").options[engine_options.DYNAMIC_SLOT] is True


def test_the_block_about_checkpoints() -> None:
    options = seed("000/checkpoint").options
    assert options[engine_options.CHECKPOINT_INTERVAL] == 300_000
    assert options[engine_options.CHECKPOINT_TIMEOUT] == 10_000
    assert (options[engine_options.MAX_CONCURRENT], options[engine_options.TOLERABLE_FAILURE]) == (1, 2)
    assert options[engine_options.DYNAMIC_SLOT] is True
    assert options[engine_options.PRINT_EXECUTION_INFO] == 10


@pytest.mark.parametrize(("page", "concurrent"), [("000", 5), ("001", 1)])
@pytest.mark.parametrize("block", ["oss", "s3", "s3_instance_profile", "local"])
def test_the_blocks_about_storages_set_the_checkpoints_too(page: str, concurrent: int, block: str) -> None:
    options = seed(f"{page}/{block}").options
    assert (options[engine_options.CHECKPOINT_INTERVAL], options[engine_options.CHECKPOINT_TIMEOUT]) == (6_000, 7_000)
    assert (options[engine_options.MAX_CONCURRENT], options[engine_options.TOLERABLE_FAILURE]) == (concurrent, 2)


def test_a_code_fence_inside_the_code_is_a_comment() -> None:
    config = seed("000/s3")
    assert "s3.yaml:1:1: a Markdown code fence is treated as a comment. Remove the line" in said(config)
    assert dict(config.storage.plugin_config) == dict(seed("001/s3").storage.plugin_config)


# -- storage blocks: their storage ------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["000", "001"])
def test_the_block_with_nothing_in_its_namespace(page: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Its namespace is the default, below the root; the storage is opened in another one."""
    config = seed(f"{page}/namespace")
    storage = config.storage
    assert storage.type == "hdfs"
    assert dict(storage.plugin_config) == {"K1": "V1", "K2": "V2"}
    assert ":19: the key 'K1' in plugin-config is unknown and has no effect" in said(config)
    with open_storage(storage.type, {"namespace": f"{tmp_path}/", **storage.plugin_config}) as opened:
        assert isinstance(opened, LocalFileStorage)
        assert opened.acquire_epoch("job", 1, minimum=1) == 1
    assert "the key 'K1' in plugin-config is unknown and has no effect" in caplog.text


@pytest.mark.parametrize("page", ["000", "001"])
def test_the_block_with_file_as_the_file_system(page: str, tmp_path: Path) -> None:
    storage = seed(f"{page}/local").storage
    assert dict(storage.plugin_config) == {"storage.type": "hdfs", "fs.defaultFS": "file:///"}
    with open_storage(storage.type, {"namespace": f"{tmp_path}/", **storage.plugin_config}) as opened:
        assert isinstance(opened, LocalFileStorage)
        assert opened.acquire_epoch("job", 1, minimum=1) == 1


@pytest.mark.parametrize("page", ["000", "001"])
def test_the_block_with_kerberos(page: str) -> None:
    """``kerberosKeytab`` is read, and the line that begins with ``//`` is a comment; there is no such keytab."""
    config = seed(f"{page}/hdfs_kerberos")
    assert "hdfs_kerberos.yaml:10:11: '// if you used kerberos, you can config like this' is treated as a comm" in said(
        config
    )
    storage = config.storage
    assert set(storage.plugin_config) == {"storage.type", "fs.defaultFS", "kerberosPrincipal", "kerberosKeytab"}
    installed = importlib.util.find_spec("gssapi") is not None  # `make test-servers` installs it
    with pytest.raises(StorageConfigurationError, match="your-kerberos-keytab" if installed else r"\[kerberos\]"):
        open_storage(storage.type, storage.plugin_config)


# -- map blocks: their map stores -------------------------------------------------------------------------------------


def maps(name: str) -> dict[str, object]:
    tree = load(SEEDS / f"000/{name}.yaml", Variables({}, {}), Problems())
    read: dict[str, object] = plain(tree)
    return read


def test_the_block_with_a_map_on_local_files(tmp_path: Path) -> None:
    config = parse(maps("map_local")).of("engine_runningJobInfo")
    assert config is not None
    assert (config.enabled, config.initial_mode) == (True, InitialMode.EAGER)
    assert dict(config.properties) == {
        "type": "hdfs",
        "namespace": "/tmp/seatunnel/imap",
        "clusterName": "seatunnel-cluster",
        "fs.defaultFS": "file:///",
    }
    made = evolve(config, properties={**config.properties, "namespace": str(tmp_path / "imap")}).open("engine_jobs")
    made.store("job", b"running")
    assert made.load("job") == b"running"
    made.destroy()
    shutil.rmtree(tmp_path / "imap", ignore_errors=True)


def test_the_block_with_a_map_on_hdfs() -> None:
    config = parse(maps("map_hdfs")).of("engine_runningJobInfo")
    assert config is not None
    assert config.properties["fs.defaultFS"] == "hdfs://localhost:9000"
    assert parse(maps("map_hdfs")).of("another") is None


# -- network blocks: read, and put aside ------------------------------------------------------------------------------


def cluster(name: str) -> tuple[object, str]:
    problems = Problems(strict=True)
    found = load_hazelcast(SEEDS / f"000/{name}.yaml", problems)
    problems.raise_errors()
    return found, "\n".join(str(warning) for warning in problems.warnings)


def test_the_block_with_members() -> None:
    found, told = cluster("hazelcast_members")
    assert isinstance(found, ClusterConfig)
    ranged = tuple(Member(f"192.168.1.{last}") for last in range(8))
    assert found.members == (
        *(Member("machine1"), Member("machine2"), Member("machine3", 5799)),
        *(*ranged, Member("192.168.1.21")),
    )
    assert (found.name, found.tcp_ip, found.port, found.auto_increment) == ("seatunnel", True, 5801, True)
    assert told == "", "it stands where nodes and clients read it"


def test_the_block_with_a_port() -> None:
    found, _ = cluster("hazelcast")
    assert found == ClusterConfig(
        name="seatunnel",
        tcp_ip=True,
        members=(Member("hostname1"),),
        port=5801,
        auto_increment=False,
        properties={"hazelcast.logging.type": "log4j2"},
    )


def test_the_block_of_the_client() -> None:
    found, told = cluster("hazelcast_client")
    assert told == ""
    assert found == ClientConfig(
        cluster_name="seatunnel",
        members=(Member("hostname1", 5801),),
        properties={"hazelcast.logging.type": "log4j2"},
    )


def test_members_in_one_text() -> None:
    """As the page has them in XML; in YAML it is ``members: 192.168.1.0-7,192.168.1.21``."""
    assert members("192.168.1.0-7,192.168.1.21") == (
        *(Member(f"192.168.1.{last}") for last in range(8)),
        Member("192.168.1.21"),
    )
    assert members(" a:1 , [::1]:5801,[::1] ,") == (Member("a", 1), Member("[::1]", 5801), Member("[::1]"))
    assert str(Member("a", 1)) == "a:1"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "member-list: ['192.168.1.7-0']",
            "a range of addresses such as 192.168.1.0-7, found '192.168.1.7-0'",
        ),
        ("member-list: ['192.168.1.0-256']", "expected a range of addresses"),
        ("member-list: ['a b']", "expected host, host:port or a range"),
        ("member-list: ['a:http']", "expected a whole number"),
        ("members: 'a:70000'", "from 1 to 65535"),
    ],
)
def test_a_wrong_member_is_an_error_where_it_stands(written: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "hazelcast.yaml"
    file.write_text(f"hazelcast: {{network: {{join: {{tcp-ip: {{{written}}}}}}}}}\n")
    problems = Problems()
    load_hazelcast(file, problems)
    with pytest.raises(ConfigError, match=expected):
        problems.raise_errors()
    assert "hazelcast.yaml:1:" in str(problems.errors[0])


def test_blocks_of_a_cluster_in_the_engines_file_are_read_there_too(tmp_path: Path) -> None:
    file = tmp_path / "seatunnel.yaml"
    text = "".join((SEEDS / f"000/{name}.yaml").read_text() for name in ("hazelcast", "hazelcast_client", "map_local"))
    file.write_text(text)
    told = said(load_engine(file, environment={}))
    for block in ("hazelcast", "hazelcast-client"):
        assert (
            f"{block!r} describes a cluster: nodes and clients read it from {block}.yaml. It has no effect in this file"
            in told
        )
    assert "'map' has no effect here: it configures the map store of a cluster" in told
    file.write_text("hazelcast: no\nhazelcast-client: {network: {cluster-members: ['a b']}}\nseatunnel:\n")
    with pytest.raises(ConfigError, match=r"(?s)'hazelcast' takes a block.*expected host, host:port"):
        load_engine(file, environment={})


def test_a_file_without_a_cluster_describes_none() -> None:
    assert load_hazelcast(SEEDS / "000/local.yaml", Problems()) is None
    assert isinstance(load(SEEDS / "000/local.yaml", Variables({}, {}), Problems()), Block)
