"""Where the members of ``hazelcast.yaml`` may be; the files of the seeds are read in ``test_seed_snippets``."""

from pathlib import Path

import pytest

from seatunnel_core.config.hazelcast import ClusterConfig, Member, addresses, load_hazelcast, members
from seatunnel_core.config.problem import Problems
from seatunnel_core.errors import ConfigError


def cluster(folder: Path, network: str) -> tuple[ClusterConfig, str]:
    (folder / "hazelcast.yaml").write_text(f"hazelcast: {{network: {network}}}\n")
    problems = Problems()
    found = load_hazelcast(folder / "hazelcast.yaml", problems)
    problems.raise_errors()
    assert isinstance(found, ClusterConfig)
    return found, "\n".join(map(str, problems.warnings))


def test_members_without_a_port_may_have_taken_one_of_the_next() -> None:
    listed = members(["a", "b:7000", "10.0.0.1-2"])
    assert addresses(listed, auto_increment=False) == ("a:5801", "b:7000", "10.0.0.1:5801", "10.0.0.2:5801")
    assert addresses((Member("a"), Member("b", 7000)), 6000) == ("a:6000", "b:7000", "a:6001", "a:6002")
    assert addresses((Member("a"), Member("a", 5801))) == ("a:5801", "a:5802", "a:5803"), "each once"


def test_a_list_counts_where_it_is_enabled(tmp_path: Path) -> None:
    found, said = cluster(tmp_path, "{join: {tcp-ip: {enabled: false, member-list: [a]}}}")
    assert (found.members, "tcp-ip.enabled is not true" in said) == ((), True)
    found, said = cluster(tmp_path, "{join: {tcp-ip: {enabled: true, members: 'a, b'}}}")
    assert (found.members, said) == ((Member("a"), Member("b")), "")


def test_the_address_of_a_process_may_be_written(tmp_path: Path) -> None:
    found, said = cluster(
        tmp_path,
        "{public-address: 11.22.33.44:5555, interfaces: {enabled: true, interfaces: [10.3.10.*, 10.3.11.4-18]}, "
        "port: {port: 5901, port-count: 20}}",
    )
    assert said == ""
    assert found.public_address == Member("11.22.33.44", 5555)
    assert found.interfaces == ("10.3.10.*", "10.3.11.4-18")
    assert (found.port, found.port_count) == (5901, 20)
    found, _ = cluster(tmp_path, "{interfaces: {enabled: false, interfaces: [10.3.10.*]}}")
    assert found.interfaces == ()


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("{interfaces: {interfaces: [10.3.10]}}", "expected addresses such as"),
        ("{public-address: '10.0.0.1-7'}", "expected one host or host:port"),
    ],
)
def test_wrong_addresses(tmp_path: Path, network: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        cluster(tmp_path, network)
