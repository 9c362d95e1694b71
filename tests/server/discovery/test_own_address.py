"""By which host others reach a node."""

import socket

import pytest

from seatunnel_core.config.hazelcast import ClusterConfig, Member
from seatunnel_core.errors import UsageError
from seatunnel_core.server.discovery.own_address import is_loopback, own_host


def cluster(**network: object) -> ClusterConfig:
    fixed = {"name": "c", "tcp_ip": True, "members": (), "port": 5801, "auto_increment": True, "properties": {}}
    return ClusterConfig(**{**fixed, **network})  # type: ignore[arg-type]


def test_what_is_written_counts_first() -> None:
    public = cluster(public_address=Member("11.22.33.44"), interfaces=("127.0.0.*",))
    assert own_host(public, ["127.0.0.1:5801"], instance_host="10.1.2.3") == "10.1.2.3"
    assert own_host(public, ["127.0.0.1:5801"]) == "11.22.33.44"
    assert own_host(cluster(interfaces=("250.1.1.1", "127.0-5.*.1")), []) == "127.0.0.1"


def test_the_listed_member_that_is_this_machine() -> None:
    """192.0.2.0/24 is nobody's; any address of 127.0.0.0/8 can be bound on Linux."""
    assert own_host(None, ["192.0.2.1:5801", "127.0.0.7:5801", "127.0.0.1:5801"]) == "127.0.0.7"
    assert own_host(None, ["192.0.2.1:5801", f"{socket.gethostname()}:5801"]) == socket.gethostname()
    assert own_host(None, []) == "127.0.0.1"
    assert own_host(None, ["no-such-host.invalid:5801"]) == "127.0.0.1"


def test_a_machine_that_is_not_listed_is_known_by_its_way_to_the_others(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "seatunnel.cluster")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 5801))
        except OSError:
            pytest.skip("this machine has no way to other networks")
        expected = asking.getsockname()[0]
    assert own_host(None, ["192.0.2.1:5801"]) == expected
    assert "not among the listed members" in caplog.text
    assert own_host(None, [], others=["192.0.2.1:2181"]) == expected


def test_no_interface_of_the_list_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"network.interfaces is 250.1.1.\*, but this machine has .*127.0.0.1"):
        own_host(cluster(interfaces=("250.1.1.*",)), [])


def test_which_hosts_are_of_this_machine_alone() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.7", "[::1]", "::1")))
    assert not any(map(is_loopback, ("10.0.0.1", "local", "[fd00::1]")))
