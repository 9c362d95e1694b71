"""A cluster of two nodes for all tests of orchestrators, whose REST has TLS and asks for a password."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

from seatunnel_core.control.signing import read_secret
from tests.server.nodes import Node, a_cluster, free_port
from tests.server.transport.authority import signed

HTTP = """    http:
      enable-https: true
      https-port: {port}
      enable-dynamic-port: true
      port-range: 2
      key-store-path: {folder}/node.pem
      enable-basic-auth: true
      basic-auth-password: {password}
"""


@frozen
class Rest:
    """Where and how the cluster is asked by REST, as the user ``admin``."""

    addresses: tuple[str, ...]
    password: str
    ca_file: Path


@pytest.fixture(scope="session")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Rest:
    folder = tmp_path_factory.mktemp("rest")
    authority = signed("authority", is_authority=True)
    signed("node", authority).write_pem(folder / "node.pem")
    (folder / "authority.pem").write_bytes(authority.certificates_pem())
    port = free_port()
    return Rest((f"localhost:{port}", f"localhost:{port + 1}"), secrets.token_hex(8), folder / "authority.pem")


@pytest.fixture(scope="session")
def nodes(rest: Rest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    folder = tmp_path_factory.mktemp("cluster") / "nodes"
    with a_cluster(folder) as cluster:
        port = rest.addresses[0].partition(":")[2]
        with (folder / "config/seatunnel.yaml").open("a") as engine:
            engine.write(HTTP.format(port=port, folder=rest.ca_file.parent, password=rest.password))
        secret = folder / "config/cluster.secret"
        secret.write_text(secrets.token_hex(32))
        secret.chmod(0o600)
        cluster.secret = read_secret(secret)
        two = [cluster.node(), cluster.node()]
        for node in two:
            node.start()
        for node in two:
            node.wait_ready()
        cluster.leader()
        yield two
