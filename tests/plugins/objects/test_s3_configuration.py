"""What the keys of S3 mean, and what each answer of a server becomes. Needs boto3 and no server."""

import logging
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    NoCredentialsError,
    ParamValidationError,
    SSLError,
)
from botocore.parsers import ResponseParserError
from seatunnel_storage_hdfs.backends import S3
from seatunnel_storage_hdfs.s3.storage import S3Storage

from seatunnel_core.clients.s3 import client as s3_client
from seatunnel_core.clients.s3 import connection, role
from seatunnel_core.clients.s3 import credentials as s3_credentials
from seatunnel_core.clients.s3.answers import refusal, require_deleted, translated
from seatunnel_storage_api.credentials import Credentials as Handed
from seatunnel_storage_api.errors import StorageAccessError, StorageConfigurationError, StorageUnavailableError

ENDPOINT = "fs.s3a.endpoint"
KEYS = {"fs.s3a.access.key": "id-canary", "fs.s3a.secret.key": "secret-canary"}


def opened(**configuration: str) -> Any:
    given = {key.replace("__", "."): value for key, value in configuration.items()}
    return s3_client.open_client(
        "s3",
        Credentials("id-canary", "secret-canary"),
        given,
        endpoint=s3_client.endpoint_of(given),
        region=s3_client.region_of(given),
    )


def key(name: str) -> str:
    return f"fs.s3a.{name}"


@pytest.mark.parametrize(
    ("written", "name"),
    [("my-bucket", "my-bucket"), ("s3a://my-bucket", "my-bucket"), ("s3://a.b/", "a.b"), ("s3n://b1", "b1")],
)
def test_a_bucket(written: str, name: str) -> None:
    assert connection.bucket_of({"s3.bucket": written}) == name


@pytest.mark.parametrize(
    "written", [None, "", "/", "a/b", "s3a://", "s3a://b/folder/", "hdfs://b", "b?x", "../b", "b c"]
)
def test_no_bucket(written: Any) -> None:
    with pytest.raises(StorageConfigurationError, match=r"is not a valid bucket name\. Use name or s3a://name"):
        connection.bucket_of({"s3.bucket": written})


@pytest.mark.parametrize(
    ("written", "tls", "url"),
    [
        ("", "", None),
        ("host", "", "https://host"),
        ("host:9000", "", "https://host:9000"),
        ("host:9000", "false", "http://host:9000"),
        ("http://host:9000/", "", "http://host:9000"),
        ("http://host:9000", "true", "http://host:9000"),
        ("https://host", "false", "https://host"),
        ("http://[::1]:9000", "", "http://[::1]:9000"),
    ],
)
def test_an_endpoint(written: str, tls: str, url: str | None) -> None:
    assert s3_client.endpoint_of({ENDPOINT: written, key("connection.ssl.enabled"): tls}) == url


@pytest.mark.parametrize(
    "written",
    ["http://", "ftp://host", "host/bucket", "http://host?x=1", "http://host:port", "http://me:canary@host", "a b"],
)
def test_no_endpoint(written: str) -> None:
    with pytest.raises(StorageConfigurationError, match="not the address of a server") as caught:
        s3_client.endpoint_of({ENDPOINT: written})
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("endpoint", "named", "region"),
    [
        ("", "", None),
        ("", "eu-west-1", "eu-west-1"),
        ("s3.eu-central-1.amazonaws.com", "", "eu-central-1"),
        ("s3-us-gov-west-1.amazonaws.com", "", "us-gov-west-1"),
        ("s3.cn-north-1.amazonaws.com.cn", "", "cn-north-1"),
        ("s3.eu-central-1.amazonaws.com", "eu-west-1", "eu-west-1"),
        ("s3.amazonaws.com", "", None),
        ("minio:9000", "", None),
    ],
)
def test_a_region(endpoint: str, named: str, region: str | None) -> None:
    assert s3_client.region_of({ENDPOINT: endpoint, key("endpoint.region"): named}) == region


def test_what_a_client_is_like(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    client = opened(fs__s3a__endpoint="http://minio:9000", fs__s3a__path__style__access="TRUE")
    config = client.meta.config
    assert client.meta.endpoint_url == "http://minio:9000"
    assert client.meta.region_name == "us-east-1"
    assert config.s3["addressing_style"] == "path"
    assert config.retries["total_max_attempts"] == 1
    assert (config.connect_timeout, config.read_timeout) == (5, 60)
    assert "canary" not in repr(client) + repr(vars(client))
    client.close()


@pytest.mark.parametrize(("written", "style"), [("", "auto"), ("true", "path"), ("false", "virtual")])
def test_where_the_bucket_is_written(written: str, style: str) -> None:
    client = opened(fs__s3a__path__style__access=written)
    assert client.meta.config.s3["addressing_style"] == style
    client.close()


def test_a_proxy_with_a_password_of_any_characters() -> None:
    client = opened(
        fs__s3a__proxy__host="proxy",
        fs__s3a__proxy__port="3128",
        fs__s3a__proxy__username="a@b",
        fs__s3a__proxy__password="p:w/d",
    )
    assert client.meta.config.proxies["https"] == "http://a%40b:p%3Aw%2Fd@proxy:3128"
    client.close()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"path.style.access": "yes"}, "path.style.access is 'yes', expected true or false"),
        ({"connection.ssl.enabled": "1", "endpoint": "host"}, "ssl.enabled is '1', expected true or false"),
        ({"proxy.host": "proxy", "proxy.port": "http"}, "proxy.port is 'http'; expected a port"),
        ({"proxy.host": "proxy", "proxy.username": "me"}, "must be set together"),
        ({"ssl.ca-file": "/none.pem"}, "is not a file"),
    ],
)
def test_values_that_cannot_be(more: dict[str, str], says: str) -> None:
    with pytest.raises(StorageConfigurationError, match=says):
        opened(**{key(name): value for name, value in more.items()})


def test_the_level_of_botocores_logger_is_left_to_who_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("botocore")
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    opened().close()
    assert logger.level == logging.INFO
    logger.setLevel(logging.DEBUG)
    opened().close()
    assert logger.level == logging.DEBUG


def test_boto3_is_all_it_needs() -> None:
    """An installation with the extra for S3 has no requests, oss2 or hdfs."""
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['requests', 'oss2', 'hdfs', 'fsspec', 'gssapi']))\n"
        "import seatunnel_storage_hdfs.factory, seatunnel_storage_hdfs.s3"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# -- credentials


@pytest.mark.parametrize("package", sorted(s3_credentials._PACKAGES))
@pytest.mark.parametrize("name", s3_credentials.KNOWN)
def test_every_class_is_known_with_and_without_its_package(package: str, name: str) -> None:
    written = f"{package}.{name}".removeprefix(".")
    assert s3_credentials._provider("key", written) is s3_credentials.KNOWN[name]


def test_every_class_and_key_is_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guides" / "storages" / "s3.md").read_text()
    assert [name for name in s3_credentials.KNOWN if f"`{name}`" not in page] == []
    shortened = {name for name in S3.keys if f"`{name}`" not in page}
    groups = ("fs.s3a.assumed.role", "fs.s3a.proxy")
    assert [name for name in shortened if f"`{name.removeprefix(groups[0]).removeprefix(groups[1])}`" not in page] == []


@pytest.mark.parametrize("name", ["com.example.SimpleAWSCredentialsProvider", "simpleawscredentialsprovider", "Vault"])
def test_an_unknown_class_is_answered_with_all_that_are_known(name: str) -> None:
    with pytest.raises(StorageConfigurationError) as caught:
        s3_credentials.find({**KEYS, s3_credentials.PROVIDERS: name})
    assert all(known in str(caught.value) for known in [*s3_credentials.KNOWN, name])
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("keystore", s3_credentials.KEYSTORES)
def test_a_keystore_is_refused_with_what_to_write(keystore: str) -> None:
    with pytest.raises(StorageConfigurationError, match=r"fs\.s3a\.access\.key: \$\{AWS_ACCESS_KEY_ID\}"):
        s3_credentials.find({**KEYS, keystore: "jceks://file/etc/keys.jceks"})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"access.key": "canary"}, r"access\.key is set, but fs\.s3a\.secret\.key is not"),
        ({"secret.key": "canary"}, r"secret\.key is set, but fs\.s3a\.access\.key is not"),
        ({"session.token": "canary"}, r"token is set, but fs\.s3a\.access\.key and fs\.s3a\.secret\.key is not"),
    ],
)
def test_parts_of_credentials(given: dict[str, str], says: str) -> None:
    with pytest.raises(StorageConfigurationError, match=says) as caught:
        s3_credentials.find({key(name): value for name, value in given.items()})
    assert "canary" not in str(caught.value)


def test_keys_with_and_without_a_token() -> None:
    assert s3_credentials.find(KEYS).token is None
    assert s3_credentials.find({**KEYS, "fs.s3a.session.token": "t"}).token == "t"
    anonymous = s3_credentials.find({s3_credentials.PROVIDERS: "AnonymousAWSCredentialsProvider"})
    assert anonymous is s3_client.UNSIGNED


def test_half_a_pair_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    with pytest.raises(StorageAccessError, match=r"are not available \(PartialCredentialsError\)"):
        s3_credentials.find({s3_credentials.PROVIDERS: "EnvironmentVariableCredentialsProvider"})


@pytest.mark.parametrize(("written", "seconds"), [("15m", 900), ("1h", 3600), ("12h", 43200), ("950s", 950)])
def test_how_long_a_role_is_taken_on(written: str, seconds: int) -> None:
    assert role._duration_s(written) == seconds


def test_every_key_that_is_read_is_known_to_the_registry() -> None:
    """A key that works must not be warned of as unknown."""
    modules = (connection, s3_client, s3_credentials, role)
    values = [value for module in modules for value in vars(module).values()]
    flat = [each for value in values for each in (value if isinstance(value, tuple) else [value])]
    read = {each for each in flat if isinstance(each, str) and each.startswith(("fs.s3a.", "s3.", "hadoop."))}
    assert read == S3.keys


# -- answers


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (409, "ConditionalRequestConflict", StorageUnavailableError),
        (409, "ExistingObjectIsDirectory", StorageUnavailableError),
        (400, "RequestTimeout", StorageUnavailableError),
        (500, "InternalError", StorageUnavailableError),
        (503, "SlowDown", StorageUnavailableError),
        (503, "", StorageUnavailableError),
        (429, "TooManyRequests", StorageUnavailableError),
        (0, "InternalError", StorageUnavailableError),
        (507, "XMinioStorageFull", StorageUnavailableError),
        (400, "XMinioAdminBucketQuotaExceeded", StorageUnavailableError),
        (403, "AccessDenied", StorageAccessError),
        (0, "AccessDenied", StorageAccessError),
        (403, "403", StorageAccessError),
        (404, "404", StorageUnavailableError),  # without a body: a bad network cut it off
        (403, "InvalidAccessKeyId", StorageAccessError),
        (400, "ExpiredToken", StorageAccessError),
        (403, "ExpiredTokenException", StorageAccessError),
        (301, "PermanentRedirect", StorageAccessError),
        (404, "NoSuchBucket", StorageAccessError),
        (501, "NotImplemented", StorageAccessError),
        (418, "Teapot", StorageAccessError),
    ],
)
def test_what_an_answer_becomes(status: int, code: str, kind: type[Exception]) -> None:
    error = refusal(code, status, "PutObject")
    assert type(error) is kind
    assert "PutObject" in str(error)
    assert ". " in str(error)
    assert str(error).count(code or "503") == 1


@pytest.mark.parametrize(
    ("raised", "kind", "says"),
    [
        (ConnectionClosedError(endpoint_url="http://me:canary@host"), StorageUnavailableError, "connection broke"),
        (ConnectTimeoutError(endpoint_url="http://me:canary@host"), StorageUnavailableError, "no server responds"),
        (SSLError(endpoint_url="-", error="CERTIFICATE_VERIFY_FAILED"), StorageAccessError, "not trusted"),
        (SSLError(endpoint_url="-", error="WRONG_VERSION_NUMBER"), StorageAccessError, "does not speak TLS"),
        (SSLError(endpoint_url="-", error="EOF occurred"), StorageUnavailableError, "encrypted connection broke"),
        (NoCredentialsError(), StorageAccessError, "credentials are not available"),
        (CredentialRetrievalError(provider="-", error_msg="canary"), StorageUnavailableError, "are not available"),
        (ParamValidationError(report="canary"), StorageAccessError, "boto3 did not send the request"),
        (ResponseParserError("canary"), StorageUnavailableError, "not a valid S3 response"),
        (ClientError({"Error": {"Code": "AccessDenied"}}, "GetObject"), StorageAccessError, "Grant them s3:GetObject"),
        (ClientError({}, "GetObject"), StorageAccessError, "Look up this code"),
    ],
)
def test_what_an_error_of_boto3_becomes(raised: Exception, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says) as caught, translated():
        raise raised
    assert caught.value.__cause__ is raised
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("left_s", [-1, 0])
def test_credentials_that_have_expired_are_no_credentials(left_s: float) -> None:
    end = datetime.now(UTC) + timedelta(seconds=left_s)
    with pytest.raises(StorageUnavailableError, match="vault returned expired credentials"):
        s3_credentials.renewed(lambda: Handed(access_key="a", secret_key="b", expires_at=end), "vault")


def test_a_key_that_somebody_else_deleted_is_no_error() -> None:
    """versitygw says NoSuchKey when two delete one key at once; two engines that prune do."""
    require_deleted({"Errors": [{"Key": "k", "Code": "NoSuchKey"}]})
    with pytest.raises(StorageAccessError, match="AccessDenied to DeleteObjects"):
        require_deleted({"Errors": [{"Key": "k", "Code": "NoSuchKey"}, {"Key": "l", "Code": "AccessDenied"}]})


def test_where_a_person_finds_a_key() -> None:
    storage = S3Storage(client=None, bucket="b", namespace="/a/", max_retained=1)
    assert storage.locate("job/x") == "s3://b/a/job/x"
    assert storage.object_key("job/x") == "a/job/x"
