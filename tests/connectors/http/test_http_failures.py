"""Services that are busy, break off, redirect or are not trusted, and secrets that stay out of messages."""

import base64
import time
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.connector_api.testing import (
    read,
)
from seatunnel_core.connectors.http.request import Request
from seatunnel_core.errors import SourceError
from tests.connectors.http.http_rows import PEOPLE, rows_of, source_of
from tests.servers.http_service import HttpService, Said, certificate_in, http_service


def test_a_redirect_is_followed_on_the_same_host_only(service: HttpService) -> None:
    service.at["/old"] = lambda _: Said(status=301, headers={"Location": f"{service.url}/new"})
    service.at["/new"] = lambda _: [{"id": 1}]
    service.at["/away"] = lambda _: Said(status=302, headers={"Location": "https://elsewhere.example/x?k=v"})
    headers = {"X-Api-Key": "secret-of-mine"}
    assert len(rows_of(url=f"{service.url}/old", schema=PEOPLE, headers=headers)) == 1
    assert service.of("/new")[0].headers["x-api-key"] == "secret-of-mine"
    with pytest.raises(SourceError, match=r"answered 302 with a redirect to https://elsewhere\.example\. Redirects"):
        rows_of(url=f"{service.url}/away", schema=PEOPLE, headers=headers)


def test_nothing_of_netrc_replaces_a_header(
    service: HttpService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine localhost login me password wrong")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    service.at["/a"] = lambda _: []
    rows_of(url=f"{service.url}/a", schema=PEOPLE, headers={"Authorization": "Bearer right"})
    rows_of(url=f"{service.url}/a".replace("//", "//me:p%40ss@"), schema=PEOPLE)
    first, second = service.asked
    assert first.headers["authorization"] == "Bearer right"
    assert base64.b64decode(second.headers["authorization"].removeprefix("Basic ")) == b"me:p@ss"


def test_a_service_that_is_busy_is_asked_again_after_the_pause_that_it_names(service: HttpService) -> None:
    service.answers("/a", Said(status=429, headers={"Retry-After": "1"}), Said(status=503), [{"id": 1}])
    begun = time.monotonic()
    assert len(rows_of(url=f"{service.url}/a", schema=PEOPLE)) == 1
    assert 0.9 < time.monotonic() - begun < 30
    assert len(service.asked) == 3


def test_a_quota_that_is_used_up_is_reported_and_may_pass(service: HttpService) -> None:
    service.at["/a"] = lambda _: Said(status=429, body="too many")
    with pytest.raises(SourceError, match=r"answered 429 Too Many Requests: the quota is exhausted.*too many") as said:
        rows_of(url=f"{service.url}/a", schema=PEOPLE, retry=2)
    assert (said.value.retryable, len(service.asked)) == (True, 3)


def test_an_answer_that_breaks_off_may_be_asked_for_again(service: HttpService) -> None:
    service.at["/a"] = lambda _: Said(body=[{"id": 1}], cut=True)
    with pytest.raises(SourceError, match="the connection broke") as said:
        rows_of(url=f"{service.url}/a", schema=PEOPLE, retry=0)
    assert said.value.retryable


def test_an_error_of_a_file_that_is_being_handled_is_no_reason(service: HttpService, tmp_path: Path) -> None:
    """Python links what is raised to what was being handled: a broken connection was told as ``file exists``."""
    service.at["/a"] = lambda _: Said(body=[{"id": 1}], cut=True)
    try:
        tmp_path.mkdir()
    except FileExistsError:
        with pytest.raises(SourceError, match="the connection broke"):
            rows_of(url=f"{service.url}/a", schema=PEOPLE, retry=0)


def test_an_answer_that_does_not_come_is_not_waited_for(service: HttpService) -> None:
    service.at["/a"] = lambda _: time.sleep(0.5)
    with pytest.raises(SourceError, match="no response within socket_timeout_ms = 50") as said:
        rows_of(url=f"{service.url}/a", schema=PEOPLE, retry=0, socket_timeout_ms=50)
    assert said.value.retryable


def test_certificates_are_verified_and_shown(tmp_path: Path) -> None:
    file = certificate_in(tmp_path)
    with http_service(file, client_ca=file) as service:
        service.at["/a"] = lambda _: [{"id": 1}]
        options: dict[str, Any] = {"url": f"{service.url}/a", "schema": PEOPLE, "retry": 0}
        with pytest.raises(SourceError, match=r"the certificate of the server is not trusted .*tls_ca_file") as said:
            rows_of(**options)
        assert not said.value.retryable
        assert len(rows_of(**options, tls_ca_file=str(file), tls_certificate_file=str(file))) == 1
        with pytest.raises(SourceError):
            rows_of(**options, tls_ca_file=str(file))
        with pytest.raises(SourceError, match=r"gone\.pem"):
            rows_of(**options, tls_ca_file=str(tmp_path / "gone.pem"))


def test_the_proxy_of_the_environment_is_asked(service: HttpService, monkeypatch: pytest.MonkeyPatch) -> None:
    service.at["/a"] = lambda _: [{"id": 1}]
    for name in ("NO_PROXY", "no_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", service.url)
    assert len(rows_of(url="http://shop.invalid/a", schema=PEOPLE)) == 1
    assert service.asked[0].headers["host"] == "shop.invalid"
    monkeypatch.setenv("HTTP_PROXY", "http://localhost:1")
    with pytest.raises(SourceError, match=r"http://shop\.invalid/a: the proxy in the environment .* cannot be used"):
        rows_of(url="http://shop.invalid/a", schema=PEOPLE, retry=0)


def test_no_secret_is_in_a_message(service: HttpService) -> None:
    service.at["/a"] = lambda asked: Said(
        status=401, body=f"no user has {dict(asked.headers)} {asked.query} {asked.body}"
    )
    secrets = {
        "url": f"{service.url}/a?url-key=url-secret",
        "headers": {"Authorization": "Bearer header-secret", "X-Key": "other-secret"},
        "params": {"key": "param-secret"},
        "body": '{"auth": {"api_key": "body-secret"}}',
        "method": "POST",
    }
    source = source_of(**secrets, schema=PEOPLE)
    with pytest.raises(SourceError, match=r"answered 401 Unauthorized: check headers and params") as said:
        read(source)
    assert "secret" not in str(said.value) + repr(source.options) + repr(source._written())


def test_a_token_of_a_header_is_not_shown_in_the_path_either() -> None:
    """The path had the value that ``***`` stood for in the command that resumes the job."""
    request = Request(method="GET", url="http://h:1/bot-Zq9wXy71/all", headers={"Authorization": "Bearer Zq9wXy71"})
    assert request.shown == "http://h:1/bot-***/all"
    assert Request(method="GET", url="http://h:1/v2/all", headers={"X-Version": "v2"}).shown == "http://h:1/v2/all"
