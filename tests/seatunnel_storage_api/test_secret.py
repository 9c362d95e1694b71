"""Secrets come from where they are kept, and are shown nowhere."""

import os
import traceback
from collections.abc import Mapping
from pathlib import Path

import pytest

from seatunnel_storage_api import secret
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.memory import MemoryStorageFactory

SECRETS = [
    *("fs.s3a.access.key", "fs.s3a.secret.key", "fs.s3a.session.token", "fs.s3a.proxy.password"),
    *("fs.oss.accessKeyId", "fs.oss.accessKeySecret", "fs.oss.securityToken"),
    *("account_key", "account-key", "sas_token", "sas", "connection_string", "ConnectionString", "client_secret"),
    *("password", "PASSWD", "db.pwd", "passphrase", "token", "Authorization", "http.basic-auth-password", "key"),
]
NO_SECRETS = [
    *("namespace", "storage.type", "fs.defaultFS", "s3.bucket", "fs.s3a.endpoint", "fs.s3a.endpoint.region"),
    *("fs.s3a.aws.credentials.provider", "fs.oss.credentials.provider", "seatunnel.hadoop.credential.provider.path"),
    *("kerberosPrincipal", "kerberosKeytab", "kerberosKeytabFilePath", "krb5_path", "hdfs_site_path"),
    *("primary_key", "partition.key", "keyspace", "author", "http.enable-basic-auth", "ssl.key.file", "disable.cache"),
    *("sasl.mechanism", "max-retained", "username"),
]


@pytest.mark.parametrize("key", SECRETS)
def test_a_key_that_holds_a_secret_is_known_by_its_name(key: str) -> None:
    assert secret.holds_secret(key)
    assert secret.holds_secret(f"spark.hadoop.{key}")
    assert secret.shown(key, "hush") == "***"


@pytest.mark.parametrize("key", NO_SECRETS)
def test_a_key_that_names_something_else_is_shown(key: str) -> None:
    assert not secret.holds_secret(key)
    assert secret.shown(key, "plain") == "plain"


@pytest.mark.parametrize(
    ("key", "value", "shown"),
    [
        ("spark.driver.extraJavaOptions", "-Xmx1g -Djavax.net.ssl.trustStorePassword=hush", "***"),
        ("spark.driver.extraJavaOptions", "-Xmx1g -Duser.country=DE", "-Xmx1g -Duser.country=DE"),
        ("fs.s3a.proxy", "http://me:hush@proxy:80/x", "http://***@proxy:80/x"),
        ("fs.s3a.endpoint", "https://host/a@b", "https://host/a@b"),
        ("fs.s3a.secret.key", "${S3_SECRET}", "${S3_SECRET}"),
        ("fs.s3a.secret.key", "file:///run/secrets/s3", "file:///run/secrets/s3"),
    ],
)
def test_what_is_shown_of_a_value(key: str, value: str, shown: str) -> None:
    assert secret.shown(key, value) == shown


@pytest.mark.parametrize(
    ("text", "secrets", "shown"),
    [
        ("login of u failed: hunter2 is wrong", ["hunter2", ""], "login of u failed: *** is wrong"),
        ("hunter2hunter2 hunter2", ["hunter2", "hunter2hunter2"], "*** ***"),
        ("a parameter of the path is wrong", ["a"], "a parameter of the path is wrong"),
        ("p@p:pp p", ["p"], "p@p:pp p"),
        ("password=p host=p", ["p"], "password=*** host=p"),
        ('{"api_key": "ab", "name": "ab"}', ["ab"], '{"api_key": "***", "name": "ab"}'),
        ("https://me:p@host/p", ["p"], "https://me:***@host/p"),
        ("password=pp", ["p"], "password=pp"),
        ("pwd=*", ["*", "***"], "pwd=***"),
    ],
)
def test_secrets_are_masked_and_short_ones_only_where_they_are_named(text: str, secrets: list[str], shown: str) -> None:
    """A password of one letter turned that letter into ``***`` wherever it stood, which showed the password."""
    assert secret.masked(text, secrets) == shown


def test_references_are_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from the file\n\n")
    written = {
        "fs.s3a.access.key": "${ACCESS}",
        "fs.s3a.secret.key": file.as_uri(),
        "s3.bucket": "${BUCKET}",
        "fs.defaultFS": "file:///",
        "hdfs_site_path": file.as_uri(),
        "fs.s3a.session.token": "a ${ACCESS} inside is a text",
    }
    before = dict(written)
    assert secret.resolved(written, {"ACCESS": "${BUCKET}", "BUCKET": "b"}) == {
        "fs.s3a.access.key": "${BUCKET}",
        "fs.s3a.secret.key": "from the file\n",
        "s3.bucket": "b",
        "fs.defaultFS": "file:///",
        "hdfs_site_path": file.as_uri(),
        "fs.s3a.session.token": "a ${ACCESS} inside is a text",
    }
    assert written == before


@pytest.mark.parametrize("value", ["${ACCESS}", "file:///no/such/file", "secret://no/such", "plain"])
def test_a_value_that_was_resolved_is_not_resolved_again(value: str) -> None:
    """A password that begins like a reference was looked up once more."""
    assert secret.resolve("fs.s3a.secret.key", secret.Resolved(value), {"ACCESS": "other"}) == value
    assert not secret.refers(secret.Resolved(value))


def test_what_begins_as_a_reference_may_go_on_with_variables() -> None:
    assert secret.begins_reference("secret://${STORE}/name")
    assert secret.begins_reference("file://${FOLDER}/key")
    assert not secret.begins_reference("${SECRET}")


def test_what_is_no_text_is_left_to_the_storage() -> None:
    assert secret.resolved({"namespace": None}) == {"namespace": None}  # type: ignore[dict-item]


def test_a_line_end_of_windows_is_stripped_too(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes("pässword \r\n".encode())
    assert secret.resolve("key", (tmp_path / "key").as_uri()) == "pässword "


def test_an_option_that_is_declared_secret_needs_no_telling_name(tmp_path: Path) -> None:
    (tmp_path / "hook").write_text("https://hook/1")
    reference = (tmp_path / "hook").as_uri()
    assert secret.resolve("webhook", reference) == reference
    assert secret.resolve("webhook", reference, secret=True) == "https://hook/1"


def test_a_variable_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH", raising=False)
    with pytest.raises(StorageConfigurationError, match=r"'fs\.s3a\.secret\.key' is .* variable NO_SUCH, .* not set"):
        secret.resolved({"fs.s3a.secret.key": "${NO_SUCH}"})
    monkeypatch.setenv("NO_SUCH", "")
    with pytest.raises(StorageConfigurationError, match="variable NO_SUCH, which is empty"):
        secret.resolved({"fs.s3a.secret.key": "${NO_SUCH}"})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "which does not exist"),
        (b"", "which is empty"),
        (b"\n", "which is empty"),
        (b"hush\xff", "which is not UTF-8 text"),
        (b"hush" * 20_000, "which has more than 65536 bytes"),
    ],
)
def test_a_file_that_holds_no_secret_is_named_and_never_shown(content: bytes | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "s3"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StorageConfigurationError) as raised:
        secret.resolved({"token": file.as_uri()})
    assert f"the value of 'token' is the content of the file {file}, {said}" in str(raised.value)
    assert "hush" not in "".join(traceback.format_exception(raised.value))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StorageConfigurationError, match="which is not a file"):
        secret.resolve("token", tmp_path.as_uri())


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only stand-in here: to root, as in a container, every file is readable."""
    (tmp_path / "s3").write_text("hush")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path / "s3"))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StorageConfigurationError, match="which cannot be read: Permission denied"):
        secret.resolve("token", (tmp_path / "s3").as_uri())


def test_a_storage_is_opened_with_what_the_values_refer_to(monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[Mapping[str, str]] = []

    class Factory(MemoryStorageFactory):
        def create(self, configuration: Mapping[str, str]):  # type: ignore[no-untyped-def]
            got.append(configuration)
            return super().create(configuration)

    monkeypatch.setattr("seatunnel_storage_api.discovery.load_factory", lambda _: Factory())
    monkeypatch.setenv("CANARY_KEY", "hush")
    open_storage("memory", {"namespace": "/a/", "secret.key": "${CANARY_KEY}"}).close()
    assert got == [{"namespace": "/a/", "secret.key": "hush"}]
    assert os.environ["CANARY_KEY"] == "hush"
