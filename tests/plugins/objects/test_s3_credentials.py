"""Every provider that may be named: the ones of the configuration, of this machine, of a role, of one's own."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.credentials import RefreshableCredentials
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_core.clients.s3 import credentials as s3_credentials
from seatunnel_storage_api.credentials import Credentials
from seatunnel_storage_api.errors import StorageAccessError, StorageConfigurationError, StorageUnavailableError
from seatunnel_storage_api.storage import CheckpointStorage
from seatunnel_storage_api.testing.given import claim
from tests.plugins import example
from tests.servers.metadata import metadata_service
from tests.servers.objects.aws import forget_credentials
from tests.servers.objects.minio import MinIO

pytestmark = pytest.mark.servers

PROVIDER = "fs.s3a.aws.credentials.provider"
STATIC = ("fs.s3a.access.key", "fs.s3a.secret.key")
TOKEN = "fs.s3a.session.token"
BUCKET = "credentials"
ALL = ("s3:ListBucket", "s3:PutObject", "s3:GetObject", "s3:DeleteObject")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinIO]:
    server = MinIO(tmp_path_factory.mktemp("minio"))
    server.start()
    server.make_bucket(BUCKET)
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def on_a_machine_without_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forget_credentials(monkeypatch, tmp_path)


@pytest.fixture
def nobody(server: MinIO) -> dict[str, str]:
    """A configuration without keys."""
    configuration = server.configuration(BUCKET, namespace="/credentials/")
    return {key: value for key, value in configuration.items() if key not in STATIC}


@pytest.fixture
def somebody(server: MinIO) -> dict[str, str]:
    """Keys and token of a session."""
    return server.restricted(BUCKET, *ALL)


def works(configuration: dict[str, str]) -> None:
    with HdfsStorageFactory().create(configuration) as storage:
        claim(storage)


def keys_of(server: MinIO) -> dict[str, str]:
    return dict(zip(STATIC, (server.access_key, server.secret_key), strict=True))


@pytest.mark.parametrize(
    "name", ["", "SimpleAWSCredentialsProvider", "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"]
)
def test_the_keys_of_the_configuration(server: MinIO, nobody: dict[str, str], name: str) -> None:
    works({**nobody, **keys_of(server), PROVIDER: name})


@pytest.mark.parametrize("name", ["", "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"])
def test_temporary_keys(nobody: dict[str, str], somebody: dict[str, str], name: str) -> None:
    works({**nobody, **somebody, PROVIDER: name})


def test_the_simple_provider_leaves_the_token_and_says_so(
    nobody: dict[str, str], somebody: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(StorageAccessError):
        works({**nobody, **somebody, PROVIDER: "SimpleAWSCredentialsProvider"})
    assert "fs.s3a.session.token has no effect" in caplog.text
    assert somebody[TOKEN] not in caplog.text


def in_the_environment(monkeypatch: pytest.MonkeyPatch, keys: dict[str, str]) -> None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    for name, key in zip(names, (*STATIC, TOKEN), strict=True):
        monkeypatch.setenv(name, keys[key])


@pytest.mark.parametrize(
    "name",
    [
        "",
        "com.amazonaws.auth.EnvironmentVariableCredentialsProvider",
        "software.amazon.awssdk.auth.credentials.EnvironmentVariableCredentialsProvider",
        "com.amazonaws.auth.DefaultAWSCredentialsProviderChain",
    ],
)
def test_the_environment(
    nobody: dict[str, str], somebody: dict[str, str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    in_the_environment(monkeypatch, somebody)
    works({**nobody, PROVIDER: name})


def test_a_profile(nobody: dict[str, str], somebody: dict[str, str], tmp_path: Path) -> None:
    access_key, secret_key, token = (somebody[key] for key in (*STATIC, TOKEN))
    (tmp_path / "credentials").write_text(
        f"[default]\naws_access_key_id={access_key}\naws_secret_access_key={secret_key}\naws_session_token={token}\n"
    )
    works({**nobody, PROVIDER: "com.amazonaws.auth.profile.ProfileCredentialsProvider"})


@pytest.mark.parametrize(
    "name",
    [
        "",
        "com.amazonaws.auth.InstanceProfileCredentialsProvider",
        "org.apache.hadoop.fs.s3a.auth.IAMInstanceCredentialsProvider",
        "org.apache.hadoop.fs.s3a.InstanceProfileCredentialsProvider",
    ],
)
def test_the_role_of_the_machine_from_a_stand_in(
    nobody: dict[str, str], somebody: dict[str, str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    handed = {
        "AccessKeyId": somebody["fs.s3a.access.key"],
        "SecretAccessKey": somebody["fs.s3a.secret.key"],
        "Token": somebody[TOKEN],
        "Expiration": (datetime.now(UTC) + timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    with metadata_service(handed) as url:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
        works({**nobody, PROVIDER: name})


def test_nobody_at_all(server: MinIO, nobody: dict[str, str]) -> None:
    """Requests without a signature, in a bucket that is open to everybody."""
    server.make_bucket("open-to-all")
    everybody = {"Effect": "Allow", "Principal": {"AWS": ["*"]}, "Action": list(ALL)}
    resources = ["arn:aws:s3:::open-to-all", "arn:aws:s3:::open-to-all/*"]
    policy = {"Version": "2012-10-17", "Statement": [{**everybody, "Resource": resources}]}
    server.client().put_bucket_policy(Bucket="open-to-all", Policy=json.dumps(policy))
    anonymous = {**nobody, PROVIDER: "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}
    works({**anonymous, "s3.bucket": "open-to-all"})
    with pytest.raises(StorageAccessError, match="AccessDenied"):
        works(anonymous)


def test_an_assumed_role(server: MinIO, nobody: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    role = {
        PROVIDER: "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider",
        "fs.s3a.assumed.role.arn": "arn:aws:iam::123456789012:role/seatunnel",
        "fs.s3a.assumed.role.sts.endpoint": server.endpoint,
        "fs.s3a.assumed.role.session.duration": "15m",
        "fs.s3a.assumed.role.external.id": "known-to-both",
    }
    works({**nobody, **keys_of(server), **role})
    policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": ["s3:*"], "Resource": ["*"]}]}
    with pytest.raises(StorageAccessError, match="AccessDenied to ListObjectsV2"):
        works({**nobody, **keys_of(server), **role, "fs.s3a.assumed.role.policy": json.dumps(policy)})
    assert server.secret_key not in caplog.text


@pytest.mark.parametrize("written", ["", "14m", "13h", "1d", "soon"])
def test_a_duration_that_no_session_can_have(server: MinIO, nobody: dict[str, str], written: str) -> None:
    role = {
        PROVIDER: "AssumedRoleCredentialProvider",
        "fs.s3a.assumed.role.arn": "arn:aws:iam::123456789012:role/seatunnel",
        "fs.s3a.assumed.role.sts.endpoint": server.endpoint,
        "fs.s3a.assumed.role.session.duration": written or "899",
    }
    with pytest.raises(StorageConfigurationError, match="expected 15m to 12h"):
        works({**nobody, **keys_of(server), **role})


def test_a_role_that_would_take_itself_on(nobody: dict[str, str]) -> None:
    role = {
        PROVIDER: "AssumedRoleCredentialProvider",
        "fs.s3a.assumed.role.credentials.provider": "AssumedRoleCredentialProvider",
    }
    with pytest.raises(StorageConfigurationError, match="would call itself"):
        works({**nobody, **role})


def test_the_first_of_a_chain_that_has_credentials_wins(
    server: MinIO, nobody: dict[str, str], somebody: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = (
        "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider , "
        "com.amazonaws.auth.EnvironmentVariableCredentialsProvider,org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
    )
    works({**nobody, **keys_of(server), PROVIDER: chain})
    in_the_environment(monkeypatch, {**somebody, "fs.s3a.secret.key": "wrong"})
    with pytest.raises(StorageAccessError, match="SignatureDoesNotMatch"):
        works({**nobody, **keys_of(server), PROVIDER: chain})


# -- a provider of one's own


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with example.installed("credentials_provider", tmp_path_factory.mktemp("site")):
        yield


def hand_out(file: Path, keys: dict[str, str], lives_s: float) -> None:
    written = {
        "access_key": keys["fs.s3a.access.key"],
        "secret_key": keys["fs.s3a.secret.key"],
        "session_token": keys[TOKEN],
        "expires_at": (datetime.now(UTC) + timedelta(seconds=lives_s)).isoformat(),
    }
    file.with_suffix(".new").write_text(json.dumps(written))
    file.with_suffix(".new").replace(file)


def access_key_of(storage: CheckpointStorage) -> str:
    """Of the request that is sent next."""
    sent: list[str] = []
    events = storage.client.meta.events  # type: ignore[attr-defined]

    def note(request: Any, **_: object) -> None:
        sent.append(request.headers["Authorization"].decode())

    events.register("before-send.s3", note)
    storage.list_jobs()
    events.unregister("before-send.s3", note)
    return sent[0].partition("Credential=")[2].partition("/")[0]


@pytest.mark.usefixtures("installed")
def test_the_example_hands_out_fresh_credentials_before_the_old_ones_expire(
    server: MinIO, nobody: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "s3.json"
    first, second = server.restricted(BUCKET, *ALL), server.restricted(BUCKET, *ALL)
    hand_out(file, first, lives_s=60)
    configuration = {**nobody, PROVIDER: "from-file", "seatunnel.credentials.file": str(file)}
    with HdfsStorageFactory().create(configuration) as storage:
        assert access_key_of(storage) == first["fs.s3a.access.key"]
        hand_out(file, first, lives_s=8)
    with HdfsStorageFactory().create(configuration) as storage:
        end = datetime.now(UTC) + timedelta(seconds=8)
        hand_out(file, second, lives_s=600)
        while access_key_of(storage) == first["fs.s3a.access.key"]:
            assert datetime.now(UTC) < end - timedelta(seconds=2), "not renewed in time"


@pytest.mark.usefixtures("installed")
def test_a_provider_that_fails_and_one_that_has_none(
    server: MinIO, nobody: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    works({**nobody, **keys_of(server), PROVIDER: "from-file, SimpleAWSCredentialsProvider"})
    assert "has no effect" not in caplog.text
    configuration = {**nobody, PROVIDER: "from-file", "seatunnel.credentials.file": str(tmp_path / "absent")}
    with pytest.raises(StorageUnavailableError, match=r"cannot use s3://.*'from-file' failed: FileNotFoundError"):
        works(configuration)


def test_a_provider_is_asked_again_in_the_second_half_of_a_life() -> None:
    """By the clock of the credentials, which is set forward here."""
    life = timedelta(hours=1)
    asked: list[Any] = []
    now = datetime.now(UTC)

    def provide() -> Credentials:
        asked.append(len(asked))
        return Credentials(access_key=f"key-{len(asked)}", secret_key="s", expires_at=now + len(asked) * life)

    credentials = s3_credentials.renewed(provide, "test")
    assert isinstance(credentials, RefreshableCredentials)
    for minutes, expected in [(0, "key-1"), (44, "key-1"), (46, "key-2"), (104, "key-2"), (106, "key-3")]:
        credentials._time_fetcher = lambda minutes=minutes: now + timedelta(minutes=minutes)
        assert credentials.get_frozen_credentials().access_key == expected


@pytest.mark.parametrize("then", [None, Credentials(access_key="a", secret_key="b")])
def test_credentials_that_expire_are_followed_by_such_that_expire(
    then: Credentials | None, caplog: pytest.LogCaptureFixture
) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=0.01)
    answers = iter([Credentials(access_key="a", secret_key="b", expires_at=soon), then])
    credentials = s3_credentials.renewed(lambda: next(answers), "test")
    assert isinstance(credentials, RefreshableCredentials)
    credentials._time_fetcher = lambda: soon
    with pytest.raises(StorageConfigurationError, match="now credentials that do not expire"):
        credentials.get_frozen_credentials()


def test_nothing_secret_is_logged_even_at_debug(
    server: MinIO, nobody: dict[str, str], somebody: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        works({**nobody, **somebody})
        with pytest.raises(StorageAccessError):
            works({**nobody, **somebody, "fs.s3a.secret.key": "wrong-canary"})
    assert somebody[TOKEN] not in caplog.text
    assert somebody["fs.s3a.secret.key"] not in caplog.text
    assert "canary" not in caplog.text
