"""What ``S3File`` gives to its client, and the names of options in the messages of this client."""

import errno
from typing import Any

import pytest

pytest.importorskip("botocore")
from botocore.exceptions import ClientError

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.file.s3 import S3FileSource
from seatunnel_core.connectors.filesystems.objects.files import ObjectFileSystem
from seatunnel_core.connectors.filesystems.s3.store import S3Store, _number
from seatunnel_storage_api.errors import StorageAccessError

KEYS = {"access_key": "id", "secret_key": "secret-canary"}
PROVIDER = "fs.s3a.aws.credentials.provider"
ROLE = {PROVIDER: "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider"}
ARN = {"fs.s3a.assumed.role.arn": "arn:aws:iam::123456789012:role/seatunnel"}


def store(given: dict[str, Any], properties: dict[str, str] | None = None) -> S3Store:
    written = {"bucket": "s3a://files", "path": "/in", "file_format_type": "parquet", **given}
    made = S3FileSource(options_of(S3FileSource, {**written, "hadoop_s3_properties": properties or {}}))
    assert isinstance(made._files, ObjectFileSystem)
    assert isinstance(made._files.store, S3Store)
    return made._files.store


def test_the_client_gets_the_options_a_proxy_and_a_role() -> None:
    proxy = {"fs.s3a.proxy.host": "proxy", "fs.s3a.proxy.port": "3128"}
    made = store({**KEYS, **ROLE}, {**proxy, **ARN})
    assert made.bucket == "files"
    assert made.configuration == {
        "s3.bucket": "s3a://files",
        "fs.s3a.access.key": "id",
        "fs.s3a.secret.key": "secret-canary",
        **proxy,
        **ROLE,
        **ARN,
    }
    assert "canary" not in repr(made)
    assert store(KEYS, proxy).client.meta.config.proxies["https"] == "http://proxy:3128"


def test_a_property_without_effect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert "fs.s3a.fast.upload" not in store(KEYS, {"fs.s3a.fast.upload": "true", "s3.bucket": "b"}).configuration
    assert sorted(caplog.messages) == [
        f"hadoop_s3_properties: '{key}' has no effect" for key in ("fs.s3a.fast.upload", "s3.bucket")
    ]


@pytest.mark.parametrize(
    ("given", "properties", "says"),
    [
        ({"bucket": "a/b"}, {}, r"^bucket is 'a/b', which is not a valid bucket name.* in path$"),
        ({"access_key": "id"}, {}, "^access_key is set, but secret_key is not"),
        ({PROVIDER: "SimpleAWSCredentialsProvider"}, {}, "needs access_key and secret_key"),
        ({**KEYS, PROVIDER: "TemporaryAWSCredentialsProvider"}, {}, r"and fs\.s3a\.session\.token"),
        ({PROVIDER: "com.example.Mine"}, {}, "contains 'com.example.Mine', which is unknown"),
        ({"fs.s3a.endpoint": "host/with/path"}, {}, "is not the address of a server"),
        (KEYS, {"fs.s3a.proxy.host": "proxy", "fs.s3a.proxy.username": "me"}, "must be set together"),
        ({**KEYS, **ROLE}, {}, r"AssumedRoleCredentialProvider needs fs\.s3a\.assumed\.role\.arn"),
        (
            {**KEYS, **ROLE},
            {**ARN, "fs.s3a.assumed.role.credentials.provider": "Mine"},
            r"assumed\.role\.credentials\.provider contains 'Mine'",
        ),
        (KEYS, {"fs.s3a.ssl.ca-file": "/no/such/file"}, "which is not a file"),
    ],
)
def test_a_mistake_is_found_without_a_request(given: dict[str, Any], properties: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        store(given, properties)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize(
    ("status", "code", "number", "says"),
    [
        (404, "NoSuchBucket", errno.ENODEV, "correct bucket and fs.s3a.endpoint"),
        (404, "NoSuchKey", errno.ENOENT, "No such file"),
        (404, "404", errno.ENOENT, "No such file"),
        (412, "PreconditionFailed", errno.EEXIST, "File exists"),
        (403, "AccessDenied", errno.EACCES, "Grant them s3:PutObject on all keys below path"),
        (403, "SignatureDoesNotMatch", errno.EACCES, "Correct secret_key"),
        (400, "InvalidPart", errno.EINVAL, "InvalidPart"),
        (507, "XMinioStorageFull", errno.ENOSPC, "Free some space: "),
        (400, "XMinioAdminBucketQuotaExceeded", errno.ENOSPC, "Raise it: "),
    ],
)
def test_an_answer_becomes_an_error_number(status: int, code: str, number: int, says: str) -> None:
    """At once: none of these is worth a second request."""
    asked = []

    def question(_: object) -> None:
        asked.append(1)
        response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
        raise ClientError(response, "PutObject")

    with pytest.raises(OSError, match=says) as refused:
        store(KEYS)._ask("in/a", question)
    assert refused.value.errno == number
    assert refused.value.filename == "s3://files/in/a"
    assert len(asked) == 1


def test_an_error_of_credentials_says_nothing_about_an_object() -> None:
    """The object would count as missing, and with ``missing_staged = published`` as published."""
    said = {"Error": {"Code": "NoSuchEntity"}, "ResponseMetadata": {"HTTPStatusCode": 404}}
    numbers = []
    for operation in ("AssumeRole", "HeadObject"):
        error = StorageAccessError("not there")
        error.__cause__ = ClientError(said, operation)
        numbers.append(_number(error))
    assert numbers == [None, errno.ENOENT]
