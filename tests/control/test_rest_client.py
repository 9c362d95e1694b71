"""Programs of users ask nodes by REST: several addresses, a password, refusals."""

import pytest

from seatunnel_core.control.node_client import NoLeaderError
from seatunnel_core.control.rest_client import RestAddress, RestClient
from seatunnel_core.errors import PlatformError, UsageError
from tests.control.rest_node import in_turn, rest_node


@pytest.mark.parametrize(
    ("written", "nodes", "https"),
    [
        ("node1", ("node1:8080",), False),
        ("node1:9090, node2,", ("node1:9090", "node2:8080"), False),
        ("https://node1,https://node2:8443", ("node1:8443", "node2:8443"), True),
        ("[::1]:8080,10.0.0.1", ("[::1]:8080", "10.0.0.1:8080"), False),
        (["http://node1:80/"], ("node1:80",), False),
    ],
)
def test_addresses_are_read_as_people_write_them(written: str, nodes: tuple[str, ...], https: bool) -> None:
    address = RestAddress.of(written, context_path="seatunnel/")
    assert (address.nodes, address.https, address.context_path) == (nodes, https, "/seatunnel")


@pytest.mark.parametrize("written", ["", " , ", "node1:port", "ftp://node1", "me:secret@node1", "http://node1/path"])
def test_what_can_be_no_address_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match=r"(use|expected) host:port"):
        RestAddress.of(written)


def test_nodes_are_asked_the_same_way() -> None:
    with pytest.raises(UsageError, match="use the same for all"):
        RestAddress.of("http://node1,https://node2")


def test_another_node_is_asked_when_one_is_gone_or_has_no_leader_and_the_password_goes_along() -> None:
    with rest_node(in_turn((503, {"message": "no leader"}))) as one, rest_node(in_turn((200, {"a": 1}))) as other:
        address = RestAddress.of(
            f"127.0.0.1:1,{one.address},{other.address}", user="me", password="hunter2", context_path="/st"
        )
        assert "hunter2" not in repr(address)
        client = RestClient(address)
        assert client.ask("GET", "/overview") == {"a": 1}
        assert client.ask("GET", "/overview") == {"a": 1}
        assert one.targets() == ["GET /st/overview"]
        assert other.targets() == ["GET /st/overview"] * 2, "who answered is asked first"
        assert other.asked[0].headers["authorization"] == "Basic bWU6aHVudGVyMg=="


def test_a_refusal_is_what_the_node_says() -> None:
    with rest_node(in_turn((400, {"message": "line 3: no"}), (401, {"message": "who are you?"}), (503, {}))) as node:
        client = RestClient(RestAddress.of(node.address))
        with pytest.raises(UsageError, match="line 3: no"):
            client.ask("GET", "/overview")
        with pytest.raises(UsageError, match="requires a user and a password: who are you"):
            client.ask("GET", "/overview")
        with pytest.raises(NoLeaderError, match="HTTP 503"):
            client.ask("GET", "/overview")


def test_whom_nobody_answers_and_what_is_no_node_is_said() -> None:
    with pytest.raises(PlatformError, match=r"the cluster cannot be reached: 127\.0\.0\.1:1: Connection refused"):
        RestClient(RestAddress.of("127.0.0.1:1")).ask("GET", "/overview")
    with (
        rest_node(in_turn((200, b"<html>"))) as node,
        pytest.raises(PlatformError, match="did not come from a cluster node"),
    ):
        RestClient(RestAddress.of(node.address)).ask("GET", "/overview")
    with rest_node(in_turn((200, {}))) as node, pytest.raises(PlatformError, match=r"SSL|record layer"):
        RestClient(RestAddress.of(f"https://{node.address}")).ask("GET", "/overview")
