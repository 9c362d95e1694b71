"""Members find each other by a real ZooKeeper, which decides nothing and may die."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatunnel_core.errors import UsageError
from seatunnel_core.server.discovery.zookeeper import Register
from tests.server.discovery.zookeeper_server import ZooKeeper, start_zookeeper
from tests.server.nodes import Node, some_nodes, until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeper]:
    server = start_zookeeper(tmp_path / "zookeeper")
    yield server
    server.kill()


def test_members_come_and_go_and_stay_known_without_the_server(zookeeper: ZooKeeper) -> None:
    told: list[tuple[str, ...]] = []
    one = Register(zookeeper.address, "c", "a:1", changed=told.append, session_s=2.0)
    other = Register(zookeeper.address, "c", "b:2", session_s=2.0)
    stranger = Register(zookeeper.address, "d", "x:9", session_s=2.0)
    try:
        assert one.start()
        assert other.start()
        assert stranger.start()
        until("both are there", lambda: one.members == other.members == ("a:1", "b:2"))
        other.close()
        until("one is left", lambda: one.members == ("a:1",))
        assert told == [("a:1",), ("a:1", "b:2"), ("a:1",)]

        other = Register(zookeeper.address, "c", "b:2", session_s=2.0)
        assert other.start()
        until("both are there", lambda: one.members == ("a:1", "b:2"))
        zookeeper.kill()
        assert one.members == ("a:1", "b:2"), "what is known stays"
        again = start_zookeeper(zookeeper.folder, zookeeper.port)
        try:
            stranger.close()
            until("they are there again", lambda: one.members == other.members == ("a:1", "b:2"))
            third = Register(again.address, "c", "c:3", session_s=2.0)
            assert third.start()
            until("news arrive again", lambda: one.members == other.members == ("a:1", "b:2", "c:3"))
            third.close()
        finally:
            other.close()
            one.close()
            again.kill()
    finally:
        for register in (one, other, stranger):
            register.close()


def test_a_server_that_is_not_there_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_core.server.discovery.zookeeper.FIRST_S", 0.5)
    register = Register("127.0.0.1:1", "c", "a:1")
    assert not register.start()
    assert register.members == ()
    register.close()
    with pytest.raises(UsageError, match="is not a list of host:port"):
        Register("a:b:c", "c", "a:1")


@pytest.mark.long
@pytest.mark.torture
def test_nodes_find_each_other_and_go_on_when_zookeeper_dies(zookeeper: ZooKeeper, tmp_path: Path) -> None:
    with some_nodes(tmp_path / "nodes", 2) as (first, second):
        (tmp_path / "nodes/config/kylin.properties").write_text(
            f"kylin.env.zookeeper-connect-string={zookeeper.address}\nkylin.server.mode=all\n"
        )
        first.start()
        until("it leads", first.leads)
        second.start()
        until("they met", lambda: f"met {first.address} (master_and_worker)" in second.log())
        until("both are members", lambda: len(_members(first)) == 2)
        until("the first was told", lambda: f"are {', '.join(sorted([first.address, second.address]))}" in first.log())
        kylin = tmp_path / "nodes/config/kylin.properties"
        kylin.write_text(kylin.read_text().replace("mode=all", "mode=query"))
        third = first.cluster.node()
        third.start()
        until("it knows the leader", lambda: third.members().get("leader") == first.address)
        assert third.ask("GET", "/overview")[0] == 200, "it hands requests to the leader"
        assert third.members()["host"] is None
        assert third.address not in _members(first), "it never leads"
        third.kill_agent()
        kylin.write_text(kylin.read_text().replace("mode=query", "mode=all"))
        second.kill()
        until("it is gone", lambda: f"members found in ZooKeeper: {first.address}\n" in first.log())
        zookeeper.kill()
        second.start()
        until("it goes on without", lambda: "ZooKeeper does not respond" in second.log())
        until("both are members again", lambda: len(_members(first)) == 2)


def _members(node: Node) -> list[str]:
    return list(node.members().get("members", []))
