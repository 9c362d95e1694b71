"""What a node and a living member find out about each other before the node takes part."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from seatunnel_core.errors import StoredValueError
from seatunnel_core.server.agent.node_config import node_config
from seatunnel_core.server.discovery.joining import MEET, Introduction, Joining, difference, named_in
from seatunnel_core.server.discovery.storage_probe import StorageProbe, storage_probes
from seatunnel_core.server.state.store import Observation
from tests.live_folder import files_below, paths_below
from tests.server.nodes import ENGINE, Node, some_nodes, until

HERE = Introduction(
    address="a:1",
    role="master_and_worker",
    boot="x",
    signed=True,
    leads=True,
    alone=False,
    beat_s=2,
    timeout_s=10,
    storages=("checkpoints",),
)
THERE = evolve(HERE, address="b:2", boot="y")


@pytest.mark.parametrize(
    ("there", "told"),
    [
        (THERE, None),
        (evolve(THERE, signed=False), "a:1 has a cluster.secret, but b:2 has none"),
        (evolve(THERE, alone=True), "cluster.leader-race.enabled is false on b:2"),
        (evolve(THERE, alone=True, leads=False), None),
        (evolve(THERE, timeout_s=60.0), "b:2 uses a heartbeat interval of 2 s and a timeout of 60 s"),
        (evolve(THERE, timeout_s=60.0, leads=False), None),
        (evolve(THERE, storages=("checkpoints", "state")), "b:2 stores the state at the location that a map: block"),
    ],
)
def test_what_may_not_differ(there: Introduction, told: str | None) -> None:
    for one, other in ((HERE, there), (there, HERE)):
        found = difference(one, other)
        assert (found is None) if told is None else (found is not None)
    assert told is None or told in str(difference(HERE, there))


def test_an_introduction_is_read_as_it_was_written() -> None:
    there = evolve(THERE, leader="c:3", members=("b:2", "c:3"))
    assert Introduction.from_record(there.record()) == there
    with pytest.raises(StoredValueError):
        Introduction.from_record({**there.record(), "beat_s": "2"})


def test_nodes_of_other_versions_read_the_same_introduction() -> None:
    there = evolve(THERE, leader="c:3", members=("b:2", "c:3"), version=(7, 3))
    written = (
        '{"address": "b:2", "role": "master_and_worker", "boot": "y", "signed": true, "leads": true, "alone": false, '
        '"beat_s": 2.0, "timeout_s": 10.0, "storages": ["checkpoints"], "leader": "c:3", "members": ["b:2", "c:3"], '
        '"version": [7, 3]}'
    )
    assert json.dumps(evolve(there, beat_s=2.0, timeout_s=10.0).record()) == written
    without = {key: value for key, value in json.loads(written).items() if key != "version"}
    assert Introduction.from_record(without) == evolve(there, version=())


def test_the_newest_beat_names_members() -> None:
    def named(body: bytes) -> tuple[str, ...]:
        return named_in(Observation(claimed=1, term=1, number=0, body=body))

    assert named(b'{"leader": "a:1", "members": ["a:1", "b:2"]}') == ("a:1", "b:2")
    assert named(b"") == ()
    assert named(b"?") == ()


@pytest.fixture
def probe(tmp_path: Path) -> Iterator[StorageProbe]:
    (tmp_path / "seatunnel.yaml").write_text(ENGINE.format(folder=tmp_path))
    with storage_probes(node_config(engine_file=tmp_path / "seatunnel.yaml", environment={})) as probes:
        assert list(probes) == ["checkpoints"]
        yield probes["checkpoints"]


def test_a_probe_is_seen_by_its_reader_and_removed(probe: StorageProbe, tmp_path: Path) -> None:
    digest = probe.leave("a:1", "b:2")
    assert probe.sees("a:1", "b:2", digest, sleep=lambda _: None)
    assert not probe.sees("a:1", "c:3", digest, sleep=lambda _: None)
    probe.leave("a:1", "b:2")
    probe.remove("a:1", "b:2")
    assert files_below(tmp_path / "checkpoints") == []
    assert str(tmp_path / "checkpoints") in probe.where


def test_a_member_answers_what_it_sees(probe: StorageProbe, tmp_path: Path) -> None:
    config = node_config(engine_file=tmp_path / "seatunnel.yaml", environment={})
    there = Joining(config, "b:2", {"checkpoints": probe})
    there.knows = lambda: {"leader": "b:2", "members": ["b:2"]}
    answer = there.meet(b"%s" % _json(HERE.record()))
    assert (answer["address"], answer["leader"], answer["signed"]) == ("b:2", "b:2", False)
    digest = probe.leave("a:1", "b:2")
    seen = there.probe(_json({"writer": "a:1", "left": {"checkpoints": digest}}))
    assert probe.sees("a:1", "b:2", seen["checkpoints"], sleep=lambda _: None)
    assert there.probe(_json({"writer": "a:1", "left": {"state": digest}})) == {"state": ""}


def test_two_that_ask_each_other_at_the_same_time_both_see_what_they_share(
    probe: StorageProbe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was done first cleared away what the other one had left for it, and was refused: ``cannot read what
    a:1 writes, so this node and a:1 do not share a storage``."""
    config = node_config(engine_file=tmp_path / "seatunnel.yaml", environment={})
    nodes = {address: Joining(config, address, {"checkpoints": probe}) for address in ("a:1", "b:2")}

    def ask(self: Joining, member: str, target: str, block: object, _answer_s: float) -> object:
        if target == MEET:
            return nodes[member].meet(_json(block))
        if self.address == "a:1":
            nodes["b:2"].ask_all(["a:1"])  # from its beginning to its end
        answer = nodes[member].probe(_json(block))
        if self.address == "a:1":
            nodes["b:2"].ask_all(["a:1"])
        return answer

    monkeypatch.setattr(Joining, "_ask", ask)
    monkeypatch.setattr("seatunnel_core.server.discovery.storage_probe.PATIENCE_S", 0.5)
    assert [each.address for each in nodes["a:1"].ask_all(["b:2"])] == ["b:2"]
    assert files_below(tmp_path / "checkpoints") == []


def _json(block: object) -> bytes:
    import json

    return json.dumps(block).encode()


HAZELCAST = """hazelcast:
  cluster-name: {name}
  network:
    join: {{tcp-ip: {{enabled: true, member-list: ['{member}']}}}}
"""


def other_node(node: Node, folder: Path, *, name: str = "seatunnel", engine: str = "", secret: str = "") -> str:
    """Start a node that lists the living one, with a configuration of its own, and return what it ended with."""
    (folder / "config").mkdir(parents=True)
    storage = ENGINE.format(folder=node.cluster.folder if engine == "shared" else folder)
    (folder / "config/seatunnel.yaml").write_text(storage if engine in ("", "shared") else engine)
    (folder / "config/hazelcast.yaml").write_text(HAZELCAST.format(name=name, member=node.address))
    if secret:
        (folder / "config/cluster.secret").write_text(secret)
        (folder / "config/cluster.secret").chmod(0o600)
    command = [sys.executable, "-m", "seatunnel_core.server", "--port", str(node.cluster.node().port)]
    ended = subprocess.run(
        [*command, "--engine-config", str(folder / "config/seatunnel.yaml")],
        env={**node.cluster.environment, "SEATUNNEL_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    return ended.stderr


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_a_node_that_is_not_of_the_cluster_refuses_to_start_and_is_refused(tmp_path: Path) -> None:
    with some_nodes(tmp_path / "one") as (node,):
        node.start()
        until("it leads", node.leads)
        told = other_node(node, tmp_path / "name", name="other", engine="shared")
        assert f"member {node.address} rejects this node: this is the cluster 'seatunnel', not 'other'" in told
        told = other_node(node, tmp_path / "secret", engine="shared", secret="s" * 64)
        assert f"has a cluster.secret, but {node.address} has none" in told
        told = other_node(node, tmp_path / "storage")
        assert f"{node.address} cannot read what 127.0.0.1:" in told
        assert f"{tmp_path}/storage/checkpoints/" in told
        assert f"checkpoint.storage of {tmp_path}/storage/config/seatunnel.yaml" in told
        shared = ENGINE.format(folder=node.cluster.folder)
        late = shared + "    cluster: {leader-race: {heart-beat-timeout: 60}}\n"
        told = other_node(node, tmp_path / "timing", engine=late)
        assert "set the same cluster.leader-race.heart-beat-interval and heart-beat-timeout" in told
        alone = shared + "    cluster: {leader-race: {enabled: false}}\n"
        told = other_node(node, tmp_path / "alone", engine=alone)
        assert "cluster.leader-race.enabled is false on 127.0.0.1:" in told
        assert "cannot join this cluster" in node.log()
        assert "its probe of checkpoints was not found in" in node.log()
        leftovers = [path for path in paths_below(tmp_path / "one/checkpoints") if path.name.startswith("probe-")]
        assert leftovers == [], "what was left to be read is removed"


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_nodes_that_share_a_storage_and_a_secret_meet(tmp_path: Path) -> None:
    with some_nodes(tmp_path, 2) as (first, second):
        (tmp_path / "config/hazelcast.yaml").write_text(HAZELCAST.format(name="seatunnel", member=first.address))
        first.start()
        until("it leads", first.leads)
        second.start()
        until("they met", lambda: f"met {first.address} (master_and_worker)" in second.log())
        until("both are members", lambda: len(first.members()["members"]) == 2)
