"""Redis with TLS, on a server that requires certificates of its clients, as a server does by default."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.testing import options_of, read
from seatunnel_core.connectors.redis.source import RedisSource
from tests.servers.http_service import certificate_in
from tests.servers.process import free_port
from tests.servers.redis_server import RedisServer

pytestmark = [pytest.mark.servers, pytest.mark.xdist_group("redis")]

Place = tuple[RedisServer, int, str]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The server, its port for TLS, and the file with the certificate that both sides use."""
    certificate, port = str(certificate_in(tmp_path_factory.mktemp("tls"))), free_port()
    files = [text for name in ("cert", "key", "ca-cert") for text in (f"--tls-{name}-file", certificate)]
    server = RedisServer(settings=("--tls-port", str(port), *files))
    server.start()
    try:
        with server.client() as client:
            client.set("k", "v")
        yield server, port, certificate
    finally:
        server.stop()


def rows(place: Place, **options: Any) -> list[dict[str, Any]]:
    server, port, _ = place
    given = {**server.options(host="localhost", port=port, keys="k", data_type="key"), **options}
    return read(RedisSource(options_of(RedisSource, given)))


def test_both_sides_show_a_certificate(secured: Place) -> None:
    certificate = secured[2]
    files = {"ssl_ca_certs": certificate, "ssl_certfile": certificate, "ssl_keyfile": certificate}
    assert rows(secured, ssl=True, **files) == [{"content": "v"}]


def test_mistakes_name_the_options(secured: Place) -> None:
    certificate = secured[2]
    trusted: dict[str, Any] = {"ssl": True, "ssl_ca_certs": certificate}
    absent = str(Path(certificate).with_name("absent.pem"))
    for wrong in (
        {"ssl": True},
        {**trusted, "ssl_ca_certs": absent},
        {**trusted, "ssl_certfile": absent},
        {**trusted, "ssl_certfile": "/dev/null"},
    ):
        with pytest.raises(SourceError, match="check ssl, ssl_ca_certs, ssl_certfile") as raised:
            rows(secured, **wrong)
        assert not raised.value.retryable, wrong


def test_a_client_without_tls_or_without_a_certificate_is_refused(secured: Place) -> None:
    with pytest.raises(SourceError, match="check that the server is running, and check the option ssl"):
        rows(secured)
    with pytest.raises(SourceError):
        rows(secured, ssl=True, ssl_ca_certs=secured[2])
