"""Checkpoints on OSS, against the stand-in that verifies signatures: keys, repeated requests, logs, large listings."""

import contextlib
import datetime
import functools
import importlib
import logging
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_hdfs.oss.storage import OssStorage

from seatunnel_core.clients.oss.client import connect
from seatunnel_storage_api.errors import StorageAccessError, StorageConfigurationError, StorageUnavailableError
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import JOB, at_once, checkpoint, claim, refs
from tests.servers.objects import oss
from tests.servers.objects.oss_stored import REGION

FACTORY = HdfsStorageFactory()
PROVIDER = "fs.oss.credentials.provider"
TOKEN = "token-canary"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[oss.OssStandIn]:
    server = oss.OssStandIn(tmp_path_factory.mktemp("oss"))
    server.start()
    server.set(
        credentials={oss.KEY_ID: {"secret": oss.SECRET}, "temporary": {"secret": oss.SECRET, "token": TOKEN}},
        buckets=[oss.BUCKET],
    )
    yield server
    server.kill()


@pytest.fixture
def configuration(server: oss.OssStandIn, request: pytest.FixtureRequest) -> dict[str, str]:
    return server.configuration(f"/{abs(hash(request.node.nodeid))}/")


def stores(configuration: dict[str, str]) -> bool:
    with FACTORY.create(configuration) as storage:
        storage.store_checkpoint(checkpoint(claim(storage), 1, b"states"))
        latest = storage.get_latest_checkpoint(JOB, 1)
        return latest is not None and latest.states == b"states"


@pytest.mark.parametrize("region", [REGION, f"oss-{REGION}", ""], ids=["version 4", "as in an endpoint", "version 1"])
def test_both_signatures(configuration: dict[str, str], region: str) -> None:
    assert stores({**configuration, "fs.oss.region": region})


@pytest.mark.parametrize(
    ("endpoint", "region", "expected"),
    [
        ("oss-cn-hangzhou.aliyuncs.com", "", ("https://oss-cn-hangzhou.aliyuncs.com", "cn-hangzhou")),
        (
            "http://oss-us-west-1-internal.aliyuncs.com/",
            "",
            ("http://oss-us-west-1-internal.aliyuncs.com", "us-west-1"),
        ),
        ("oss-accelerate.aliyuncs.com", "", ("https://oss-accelerate.aliyuncs.com", None)),
        ("oss-accelerate-overseas.aliyuncs.com", "", ("https://oss-accelerate-overseas.aliyuncs.com", None)),
        ("oss-accelerate.aliyuncs.com", "cn-beijing", ("https://oss-accelerate.aliyuncs.com", "cn-beijing")),
        ("data.example.com:8443", "", ("https://data.example.com:8443", None)),
        ("", "oss-cn-beijing", ("https://oss-cn-beijing.aliyuncs.com", "cn-beijing")),
    ],
)
def test_the_region_signs_by_version_4(endpoint: str, region: str, expected: tuple[str, str | None]) -> None:
    keys = {"oss.bucket": "oss://checkpoints/", "fs.oss.accessKeyId": "i", "fs.oss.accessKeySecret": "s"}
    bucket = connect({**keys, "fs.oss.endpoint": endpoint, "fs.oss.region": region})
    assert (bucket.endpoint, bucket.region) == expected
    assert bucket.auth.auth_version() == ("v4" if bucket.region else "v1")
    assert bucket.bucket_name == "checkpoints"


def test_a_plain_connection_and_a_proxy_are_asked_for() -> None:
    keys = {"oss.bucket": "checkpoints", "fs.oss.accessKeyId": "i", "fs.oss.accessKeySecret": "s"}
    proxy = {"fs.oss.proxy.host": "proxy", "fs.oss.proxy.username": "me", "fs.oss.proxy.password": "p@ss"}
    endpoint = {"fs.oss.endpoint": "oss-cn-hangzhou.aliyuncs.com", "fs.oss.connection.secure.enabled": "false"}
    bucket = connect({**keys, **proxy, **endpoint, "fs.oss.connection.timeout": "9000"})
    assert bucket.endpoint == "http://oss-cn-hangzhou.aliyuncs.com"
    assert bucket.proxies["https"] == "http://me:p%40ss@proxy:80"
    assert bucket.timeout == (5, 9)


@pytest.mark.parametrize(
    "provider",
    [
        "org.apache.hadoop.fs.aliyun.oss.AliyunCredentialsProvider",
        "com.aliyun.oss.common.auth.DefaultCredentialProvider",
        "EnvironmentVariableCredentialsProvider, AliyunCredentialsProvider",
    ],
)
def test_keys_of_the_configuration(
    configuration: dict[str, str], provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OSS_ACCESS_KEY_ID", raising=False)
    assert stores({**configuration, PROVIDER: provider})


def test_temporary_keys(configuration: dict[str, str]) -> None:
    temporary = {"fs.oss.accessKeyId": "temporary", "fs.oss.securityToken": TOKEN}
    provider = "org.apache.hadoop.fs.aliyun.oss.TemporaryAliyunCredentialsProvider"
    assert stores({**configuration, **temporary, PROVIDER: provider})
    assert stores({**configuration, **temporary, "fs.oss.region": ""})
    with pytest.raises(StorageAccessError, match="InvalidAccessKeyId"):
        stores({**configuration, "fs.oss.accessKeyId": "temporary"})


def test_keys_of_the_environment(configuration: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSS_ACCESS_KEY_ID", "temporary")
    monkeypatch.setenv("OSS_ACCESS_KEY_SECRET", oss.SECRET)
    monkeypatch.setenv("OSS_SESSION_TOKEN", TOKEN)
    provider = "com.aliyun.oss.common.auth.EnvironmentVariableCredentialsProvider"
    assert stores({**configuration, "fs.oss.accessKeyId": "", PROVIDER: provider})


def test_keys_of_an_instance_are_renewed(server: oss.OssStandIn, configuration: dict[str, str]) -> None:
    """The metadata service is a stand-in. The first keys are about to end, so each request asks for newer ones."""

    def role(key_id: str, lives_s: int) -> dict[str, str]:
        now = datetime.datetime.now(datetime.UTC)
        end = now + datetime.timedelta(seconds=lives_s)
        keys = {"AccessKeyId": key_id, "AccessKeySecret": oss.SECRET, "SecurityToken": TOKEN, "Code": "Success"}
        moments = {"Expiration": end, "LastUpdated": now - datetime.timedelta(hours=6)}
        return keys | {name: f"{moment:%Y-%m-%dT%H:%M:%SZ}" for name, moment in moments.items()}

    by_role = {PROVIDER: "InstanceProfileCredentialsProvider", "fs.oss.ecs.metadata": f"{server.metadata}my-role"}
    server.set(role=role("temporary", 60))
    with FACTORY.create({**configuration, "fs.oss.accessKeyId": "", **by_role}) as storage:
        epoch = claim(storage)
        server.set(role=role("renewed", 6 * 3600))
        server.set(credentials={"renewed": {"secret": oss.SECRET, "token": TOKEN}})
        try:
            storage.store_checkpoint(checkpoint(epoch, 1))
        finally:
            both = {oss.KEY_ID: {"secret": oss.SECRET}, "temporary": {"secret": oss.SECRET, "token": TOKEN}}
            server.set(credentials=both, role={})
        with FACTORY.create(configuration) as another:
            assert refs(another) == [(epoch, 1)]


ISSUER = """
import datetime
from seatunnel_storage_api.credentials import Credentials

calls = []

def provide(configuration):
    calls.append(configuration["seatunnel.credentials.life-s"])
    if calls[-1] == "none":
        return None
    if len(calls) > 1 and calls[-1] == "1":
        raise OSError("the vault is sealed")
    now = datetime.datetime.now(datetime.UTC)
    life = datetime.timedelta(seconds=float(calls[-1]))
    return Credentials(
        access_key="temporary", secret_key="%s", session_token="%s", expires_at=now + life
    )
"""


@pytest.fixture
def issuer_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """An installed provider of credentials, in a distribution of its own."""
    (tmp_path / "vault.py").write_text(ISSUER % (oss.SECRET, TOKEN))
    metadata = tmp_path / "vault-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: vault\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[seatunnel.credentials_provider]\nvault = vault:provide\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("vault").calls
    del sys.modules["vault"]


@pytest.mark.parametrize(("life_s", "calls"), [("3600", 1), ("60", 2)])
def test_keys_of_an_installed_provider_are_renewed(
    configuration: dict[str, str], issuer_calls: list[str], life_s: str, calls: int
) -> None:
    """Five minutes before they end: so a life of one minute is renewed at each request."""
    assert stores({**configuration, PROVIDER: "vault", "seatunnel.credentials.life-s": life_s})
    assert min(len(issuer_calls), 2) == calls


def test_an_installed_provider_that_fails_is_asked_again_until_the_keys_end(
    configuration: dict[str, str], issuer_calls: list[str]
) -> None:
    short = {PROVIDER: "vault", "seatunnel.credentials.life-s": "1"}
    with (
        FACTORY.create({**configuration, **short}) as storage,
        pytest.raises(StorageUnavailableError, match="the vault is sealed"),
    ):
        list_until_it_fails(storage)
    assert len(issuer_calls) > 4


def list_until_it_fails(storage: CheckpointStorage) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        storage.list_checkpoints(JOB, 1)


def test_an_installed_provider_without_keys_leaves_it_to_the_next(
    configuration: dict[str, str], issuer_calls: list[str]
) -> None:
    none = {"seatunnel.credentials.life-s": "none"}
    assert stores({**configuration, **none, PROVIDER: "vault,AliyunCredentialsProvider"})
    with pytest.raises(StorageConfigurationError, match="'vault' returned no credentials"):
        stores({**configuration, **none, PROVIDER: "vault"})


def test_no_log_and_no_error_shows_a_secret(
    configuration: dict[str, str], caplog: pytest.LogCaptureFixture, server: oss.OssStandIn
) -> None:
    """OSS answers a wrong signature with all that was signed, and the client logs that: the token is in both."""
    temporary = {"fs.oss.accessKeyId": "temporary", "fs.oss.securityToken": TOKEN}
    wrong = {"fs.oss.accessKeySecret": "wrong-canary", "fs.oss.proxy.password": "proxy-canary"}
    with caplog.at_level(logging.DEBUG):
        for name in ("oss2", "oss2.auth", "oss2.api", "oss2.http"):
            caplog.set_level(logging.DEBUG, name)
        assert stores({**configuration, **temporary})
        with pytest.raises(StorageAccessError) as caught:
            stores({**configuration, **temporary, **wrong})
    everything = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "SignatureDoesNotMatch" in everything
    assert "canary" not in everything


def test_a_put_whose_answer_was_lost_meets_its_own_success(
    server: oss.OssStandIn, configuration: dict[str, str]
) -> None:
    with FACTORY.create(configuration) as storage:
        epoch = claim(storage)
        server.set(faults=["drop-after"])
        storage.store_checkpoint(checkpoint(epoch, 1))
        server.set(faults=["drop", 503])
        storage.store_checkpoint(checkpoint(epoch, 2))
        assert refs(storage) == [(epoch, 1), (epoch, 2)]
        server.set(faults=["drop-after"])
        assert claim(storage) == epoch + 1


def test_ours_is_the_only_retry(server: oss.OssStandIn, configuration: dict[str, str]) -> None:
    with FACTORY.create(configuration) as storage:
        server.forget_requests()
        server.set(faults=[500] * 20)
        with pytest.raises(StorageUnavailableError, match="500 InternalError"):
            storage.list_checkpoints(JOB, 1)
        server.set(faults=[])
        assert server.verbs() == {"list": 4}


def test_the_server_counts_one_put_and_one_listing_for_a_store(
    server: oss.OssStandIn, configuration: dict[str, str]
) -> None:
    with FACTORY.create({**configuration, "max-retained": "2"}) as storage:
        epoch = claim(storage)
        server.forget_requests()
        for number in (1, 2):
            storage.store_checkpoint(checkpoint(epoch, number))
        assert server.verbs() == {"put": 2, "list": 2}
        storage.store_checkpoint(checkpoint(epoch, 3))
        assert server.verbs() == {"put": 3, "list": 3, "delete": 1}


@pytest.mark.servers
def test_one_of_sixteen_wins_a_hundred_times(configuration: dict[str, str]) -> None:
    with contextlib.ExitStack() as storages:
        engines = [storages.enter_context(FACTORY.create(configuration)) for _ in range(16)]
        assert all(isinstance(engine, OssStorage) for engine in engines)
        for number in range(100):
            won = at_once(*(functools.partial(engine.put_if_absent, f"race-{number}", b"") for engine in engines))  # type: ignore[attr-defined]
            assert won.count(True) == 1, won
            assert won.count(False) == 15, won


@pytest.mark.servers
def test_pages_of_a_thousand(server: oss.OssStandIn, configuration: dict[str, str]) -> None:
    with FACTORY.create(configuration) as storage:
        assert isinstance(storage, OssStorage)
        keys = [f"{JOB}/000001/{number:04d}.foreign" for number in range(1_005)]
        with ThreadPoolExecutor(8) as writers:
            assert all(writers.map(storage.put_if_absent, keys, [b""] * len(keys)))
        server.forget_requests()
        assert sorted(blob.key for blob in storage.list_blobs("")) == keys
        storage.delete(keys)
        assert list(storage.list_blobs("")) == []
        assert server.verbs() == {"list": 3, "delete": 2}


def test_engines_that_start_at_once_do_not_disturb_each_others_probe(configuration: dict[str, str]) -> None:
    with ThreadPoolExecutor(8) as starters:
        for storage in starters.map(FACTORY.create, [configuration] * 16):
            storage.close()
