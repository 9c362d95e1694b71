"""Where the state of a cluster is kept."""

from pathlib import Path

import pytest
from attrs import evolve
from seatunnel_storage_jdbc.databases.sqlite import SQLite

from seatunnel_core.config.engine import load_engine
from seatunnel_core.errors import UsageError
from seatunnel_core.server.state.location import open_map_storage, open_store
from seatunnel_core.server.state.metadata_url import map_properties
from seatunnel_storage_api.blob import BlobStorage

MAPS = """
hazelcast:
  cluster-name: seatunnel
map:
    engine*:
       map-store:
         enabled: {enabled}
         initial-mode: EAGER
         factory-class-name: org.apache.seatunnel.engine.server.persistence.FileMapStoreFactory
         properties:
           type: hdfs
           namespace: {folder}/imap
           clusterName: seatunnel-cluster
           fs.defaultFS: file:///
"""


def engine(folder: Path):  # type: ignore[no-untyped-def]
    return load_engine(environment={"XDG_STATE_HOME": str(folder / "state")}, folder=folder)


def test_without_a_map_block_it_lies_beside_the_checkpoints(tmp_path: Path) -> None:
    store = open_store(engine(tmp_path), None, "prod")
    store.claim().commit({"job/1": b"x"})
    assert (tmp_path / "state/seatunnel/checkpoint/cluster/prod/engine_cluster/log").is_dir()
    assert "engine_cluster" in store.describe()


def test_the_map_block_of_the_seed_says_where(tmp_path: Path) -> None:
    file = tmp_path / "hazelcast.yaml"
    file.write_text(MAPS.format(enabled="true", folder=tmp_path))
    store = open_store(engine(tmp_path), file, "prod")
    store.claim().commit({"job/1": b"x"})
    assert (tmp_path / "imap/seatunnel-cluster/engine_cluster/log").is_dir()
    file.write_text(
        MAPS.format(enabled="true", folder=tmp_path)
        .replace("\nmap:", "\n  map:")
        .replace("\n    engine", "\n     engine")
    )
    assert open_store(engine(tmp_path), file, "prod").read() == {"job/1": b"x"}
    file.write_text(MAPS.format(enabled="false", folder=tmp_path))
    assert "/state/" in open_store(engine(tmp_path), file, "prod").describe()


def test_beside_checkpoints_in_a_database_it_lies_in_tables(tmp_path: Path) -> None:
    keys = {"url": f"jdbc:sqlite:{tmp_path}/state.db", "namespace": "/checkpoints/", "table-prefix": "ours"}
    config = engine(tmp_path)
    config = evolve(config, storage=evolve(config.storage, type="jdbc", plugin_config=keys))
    store = open_store(config, None, "prod")
    store.claim().commit({"job/1": b"x"})
    assert store.describe() == f"/checkpoints/cluster/prod in ours_clusters of sqlite {tmp_path}/state.db"
    assert open_store(config, None, "prod").read() == {"job/1": b"x"}
    assert open_store(config, None, "other").read() == {}
    elsewhere = evolve(config, storage=evolve(config.storage, plugin_config={**keys, "namespace": "/more/"}))
    assert open_store(elsewhere, None, "prod").read() == {}


def test_a_map_block_may_name_a_database(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "hazelcast.yaml"
    block = MAPS.format(enabled="true", folder=tmp_path).replace("type: hdfs", f"type: jdbc\n{'':11}url: URL")
    file.write_text(block.replace("URL", f"jdbc:sqlite:{tmp_path}/maps.db"))
    store = open_store(engine(tmp_path), file, "prod")
    store.claim().commit({"job/1": b"x"})
    assert store.describe() == f"{tmp_path}/imap/seatunnel-cluster in seatunnel_clusters of sqlite {tmp_path}/maps.db"
    assert "'fs.defaultFS' in plugin-config is unknown" in caplog.text
    assert not (tmp_path / "imap").exists()
    assert open_store(engine(tmp_path), None, "prod").read() == {}


def test_the_metadata_of_kylin_name_a_database(tmp_path: Path) -> None:
    url = f"kylin_metadata@jdbc,url=jdbc:sqlite:{tmp_path}/metadata.db,username=kylin,password=pw,maxActive=10"
    store = open_store(engine(tmp_path), None, "prod", metadata_url=url)
    store.claim().commit({"job/1": b"x"})
    assert store.describe() == f"/seatunnel/imap/prod in kylin_metadata_clusters of sqlite {tmp_path}/metadata.db"
    file = tmp_path / "hazelcast.yaml"
    file.write_text(MAPS.format(enabled="true", folder=tmp_path))
    assert "/imap/" in open_store(engine(tmp_path), file, "prod", metadata_url=url).describe()
    assert open_map_storage(None, "prod", None) is None
    beneath = open_map_storage(None, "prod", url)
    assert isinstance(beneath, BlobStorage)
    assert "metadata.db" in beneath.locate("")
    beneath.close()


@pytest.mark.parametrize(
    "written",
    ["kylin@hdfs", "kylin", "", "@jdbc,url=x", "kylin@jdbc,password=hunter2", "k@jdbc,url=u,password=ENC(hunter2)"],
)
def test_metadata_that_name_no_database_are_refused_without_their_password(written: str) -> None:
    with pytest.raises(UsageError, match=r"kylin\.metadata\.url") as refused:
        map_properties(written)
    assert "hunter2" not in str(refused.value)
    assert map_properties("k@jdbc,url=jdbc:mysql://h/d,user=u,password=a=b") == {
        "type": "jdbc",
        "table-prefix": "k",
        "url": "jdbc:mysql://h/d",
        "user": "u",
        "password": "a=b",
    }


def test_what_a_database_may_lose_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for checkpoints: also where only a map block names the database."""
    monkeypatch.setattr(SQLite, "weaknesses", lambda *_: ("fsync is off here",))
    file = tmp_path / "hazelcast.yaml"
    block = MAPS.format(enabled="true", folder=tmp_path).replace("type: hdfs", f"type: jdbc\n{'':11}url: URL")
    file.write_text(block.replace("URL", f"jdbc:sqlite:{tmp_path}/maps.db"))
    open_store(engine(tmp_path), file, "prod").close()
    assert "fsync is off here" in caplog.text


def test_clusters_of_different_names_never_meet(tmp_path: Path) -> None:
    open_store(engine(tmp_path), None, "a").claim().commit({"job/1": b"x"})
    assert open_store(engine(tmp_path), None, "b").read() == {}


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cluster-name '\.\./other'"):
        open_store(engine(tmp_path), None, "../other")
    file = tmp_path / "hazelcast.yaml"
    file.write_text(MAPS.format(enabled="perhaps", folder=tmp_path))
    with pytest.raises(UsageError, match=r"hazelcast.yaml: map.engine\*.map-store.enabled is 'perhaps'"):
        open_store(engine(tmp_path), file, "prod")


def test_a_storage_without_named_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        def close(self) -> None: ...

    monkeypatch.setattr("seatunnel_core.server.state.location.open_storage", lambda *_: Other())
    config = engine(tmp_path)
    with pytest.raises(UsageError, match="type 'tape'"):
        open_store(evolve(config, storage=evolve(config.storage, type="tape")), None, "prod")
