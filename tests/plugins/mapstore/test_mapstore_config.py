"""The ``map:`` block: the seeds' snippets as they stand, and which block a map takes."""

from pathlib import Path

import pytest
import yaml
from seatunnel_storage_mapstore import map_config, maps
from seatunnel_storage_mapstore.map_config import InitialMode, MapConfigs

from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.mapstore import MapStore

ON_HDFS = """
map:
    engine*:
       map-store:
         enabled: true
         initial-mode: EAGER
         factory-class-name: org.apache.seatunnel.engine.server.persistence.FileMapStoreFactory
         properties:
           type: hdfs
           namespace: /tmp/seatunnel/imap
           clusterName: seatunnel-cluster
           fs.defaultFS: hdfs://localhost:9000
"""
ON_FILES = ON_HDFS.replace("hdfs://localhost:9000", "file:///")


def parsed(text: str) -> MapConfigs:
    return map_config.parse(yaml.safe_load(text))


@pytest.mark.parametrize(("text", "file_system"), [(ON_HDFS, "hdfs://localhost:9000"), (ON_FILES, "file:///")])
def test_the_snippets_as_they_stand(text: str, file_system: str) -> None:
    configs = parsed(text)
    config = configs.of("engine_runningJobInfo")
    assert config is not None
    assert (config.pattern, config.enabled, config.initial_mode) == ("engine*", True, InitialMode.EAGER)
    assert maps.storage_configuration(config.properties) == {
        "namespace": "/tmp/seatunnel/imap/seatunnel-cluster/",
        "fs.defaultFS": file_system,
        "storage.type": "hdfs",
    }
    assert configs.of("other") is None
    assert configs.open("other") is None


def opened(configs: MapConfigs, name: str) -> MapStore:
    store = configs.open(name)
    assert store is not None
    return store


def test_maps_of_a_cluster_lie_in_its_folder(tmp_path: Path) -> None:
    """As the second snippet says it, but in a folder of the test."""
    text = ON_FILES.replace("/tmp/seatunnel/imap", str(tmp_path / "imap"))
    one, other = parsed(text), parsed(text.replace("seatunnel-cluster", "cluster2"))
    store = opened(one, "engine_a")
    assert (tmp_path / "imap/seatunnel-cluster/engine_a/epochs/0000000001.epoch").exists(), "EAGER"
    store.store("job", b"1")
    for configs, name, value in ((other, "engine_a", None), (one, "engine_b", None), (one, "engine_a", b"1")):
        again = opened(configs, name)
        assert again.load("job") == value
        again.destroy()
    store.destroy()


def test_a_lazy_map_is_read_by_its_first_use(tmp_path: Path) -> None:
    text = ON_FILES.replace("/tmp/seatunnel/imap", str(tmp_path)).replace("EAGER", "LAZY")
    store = opened(parsed(text), "engine_a")
    assert list(tmp_path.rglob("*.epoch")) == []
    assert store.load_all_keys() == frozenset()
    assert len(list(tmp_path.rglob("*.epoch"))) == 1
    store.destroy()


def test_a_map_that_is_not_enabled_is_not_kept() -> None:
    assert parsed(ON_FILES.replace("true", "false")).open("engine_a") is None
    assert parsed("map: {other: {}}").of("other") is None
    assert parsed("hazelcast: {cluster-name: seatunnel}").of("engine_a") is None


def test_the_block_may_lie_below_hazelcast() -> None:
    assert map_config.parse({"hazelcast": yaml.safe_load(ON_FILES)}).of("engine_a") is not None


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("engine_a", "engine_a"),
        ("engine_b", "engine*"),
        ("engine_state", "engine_st*"),
        ("engine", "engine*"),
        ("my_map", "*_map"),
        ("engin", "default"),
        ("other", "default"),
    ],
)
def test_which_block_a_map_takes(name: str, pattern: str) -> None:
    block = yaml.safe_load(ON_FILES)["map"]["engine*"]
    patterns = ("default", "engine*", "engine_st*", "engine_a", "*_map")
    config = map_config.parse({"map": dict.fromkeys(patterns, block)}).of(name)
    assert config is not None
    assert config.pattern == pattern


def test_secrets_are_resolved_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPS", str(tmp_path))
    text = ON_FILES.replace("/tmp/seatunnel/imap", "${MAPS}")
    configs = parsed(text.replace("type: hdfs", "type: hdfs\n           fs.s3a.secret.key: hidden"))
    assert "hidden" not in repr(configs)
    opened(configs, "engine_a").destroy()
    assert (tmp_path / "seatunnel-cluster/engine_a").is_dir()


def test_numbers_and_booleans_of_yaml_are_text() -> None:
    configs = parsed(ON_FILES.replace("type: hdfs", "type: hdfs\n           a: true\n           b: 7\n           c:"))
    config = configs.of("engine_a")
    assert config is not None
    assert (config.properties["a"], config.properties["b"], config.properties["c"]) == ("true", "7", "")


def test_two_patterns_that_fit_equally_well() -> None:
    block = yaml.safe_load(ON_FILES)["map"]["engine*"]
    configs = map_config.parse({"map": {"ab*": block, "*cd": block}})
    assert configs.of("abc") is not None
    with pytest.raises(StorageConfigurationError, match="equally well"):
        configs.of("abcd")
