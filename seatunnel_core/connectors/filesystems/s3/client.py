"""The connection to a bucket: server and credentials, by the option names of SeaTunnel and of Hadoop's S3A client."""

import errno
import importlib.util
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from attrs import astuple, field, frozen

from seatunnel_core.connector_api.errors import UsageError
from seatunnel_core.installing import install_command

REGION = "fs.s3a.endpoint.region"
PATH_STYLE = "fs.s3a.path.style.access"
TLS = "fs.s3a.connection.ssl.enabled"
CA_FILE = "fs.s3a.ssl.ca-file"
SESSION_TOKEN = "fs.s3a.session.token"

DEFAULT_REGION = "us-east-1"
CONNECT_TIMEOUT_S = 10
READ_TIMEOUT_S = 60
CONNECTIONS = 32
"""Number of connections to keep open; further threads open one for each request."""

_CHAINS: Mapping[str, tuple[str, ...]] = {
    "EnvironmentVariableCredentialsProvider": ("env",),
    "InstanceProfileCredentialsProvider": ("iam-role",),
    "IAMInstanceCredentialsProvider": ("container-role", "iam-role"),
    "ContainerCredentialsProvider": ("container-role",),
    "WebIdentityTokenCredentialsProvider": ("assume-role-with-web-identity",),
    "ProfileCredentialsProvider": ("assume-role", "shared-credentials-file", "config-file"),
    "DefaultAWSCredentialsProviderChain": (),
    "DefaultCredentialsProvider": (),
}
"""Providers of botocore, by its names for them; an empty tuple means its whole chain."""

PROVIDERS = (
    *("SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider", "AnonymousAWSCredentialsProvider"),
    *_CHAINS,
)
"""Classes that ``fs.s3a.aws.credentials.provider`` may be, with or without their package."""

_AMAZON = re.compile(r"s3[.-](?:dualstack\.|fips\.)?([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com(?:\.cn)?")
_PASSING = {429, 500, 502, 503, 504}
_FULL = ("XMinioStorageFull", "XMinioAdminBucketQuotaExceeded", "QuotaExceeded")

_making = threading.Lock()
_clients: dict[str, Any] = {}


@frozen(kw_only=True)
class Connection:
    """The address of a server, and the credentials for it."""

    endpoint: str | None
    """URL of the server; ``None`` for Amazon S3."""

    provider: str
    """One of ``PROVIDERS``."""

    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    properties: Mapping[str, str] = field(factory=dict, repr=False)
    """``hadoop_s3_properties``."""

    def client(self) -> Any:
        """Return the only client of this process for the connection, made by boto3.

        Raises:
            OSError: There are no credentials.
        """
        with _making:
            if self.key not in _clients:
                _clients[self.key] = _made(self)
            return _clients[self.key]

    @property
    def key(self) -> str:
        """Key of a client, including the process: after a fork the child must not use the client of its parent."""
        return repr((os.getpid(), astuple(self)))

    def check(self) -> None:
        """Raise ``UsageError`` for options that cannot work, without any request."""
        if importlib.util.find_spec("boto3") is None:
            raise UsageError(f"S3File needs boto3: {install_command('s3')}")
        pair = [name for name in ("access_key", "secret_key") if not getattr(self, name)]
        if len(pair) == 1:
            raise UsageError(f"option {pair[0]!r}: missing, although the other key is set; set both, or neither")
        if pair and self.provider in PROVIDERS[:2]:
            raise UsageError(f"options 'access_key' and 'secret_key': required by {self.provider}")
        if self.provider == "TemporaryAWSCredentialsProvider" and not self.properties.get(SESSION_TOKEN):
            raise UsageError(f"option 'hadoop_s3_properties': {self.provider} requires {SESSION_TOKEN} in it")


def provider_of(written: str | None, *, has_keys: bool) -> str:
    """Return the simple name of a provider.

    Without one, the two keys are used if set, else botocore's chain.

    Raises:
        UsageError: It is unknown.
    """
    if not written:
        return "SimpleAWSCredentialsProvider" if has_keys else "DefaultCredentialsProvider"
    simple = written.strip().rpartition(".")[2]
    if simple not in PROVIDERS:
        raise UsageError(
            f"option 'fs.s3a.aws.credentials.provider': {written!r} is unknown; use one of "
            f"{', '.join(PROVIDERS)}, with or without its package"
        )
    return simple


def endpoint_of(written: str | None, properties: Mapping[str, str]) -> str | None:
    """Return the URL of a server that may be written without a scheme.

    Raises:
        UsageError: It is not the address of a server.
    """
    if not (written or "").strip():
        return None
    scheme = "http" if properties.get(TLS, "").lower() == "false" else "https"
    url = written.strip() if "://" in (written or "") else f"{scheme}://{(written or '').strip()}"  # type: ignore[union-attr]
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.path not in ("", "/"):
        raise UsageError(
            "option 'fs.s3a.endpoint': it is not the address of a server; write host:port, http://host:port or "
            "https://host:port, without a path"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _made(connection: Connection) -> Any:
    import boto3
    import botocore
    from botocore.config import Config
    from botocore.session import Session

    logger = logging.getLogger("botocore")
    if logger.level == logging.NOTSET:  # at DEBUG it logs headers with tokens
        logger.setLevel(logging.INFO)
    session = Session()
    credentials = _credentials(connection, session)
    if credentials is not None:
        session.register_component("credential_provider", _Fixed(credentials))
    host = urlsplit(connection.endpoint or "").hostname or ""
    named = _AMAZON.fullmatch(host)
    region = connection.properties.get(REGION) or (named[1] if named else None)
    style = connection.properties.get(PATH_STYLE, "").lower()
    settings = Config(
        region_name=region or session.get_config_variable("region") or DEFAULT_REGION,
        signature_version=botocore.UNSIGNED if connection.provider.startswith("Anonymous") else None,
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        max_pool_connections=CONNECTIONS,
        retries={"total_max_attempts": 1},
        s3={"addressing_style": {"true": "path", "false": "virtual"}.get(style, "auto")},
        request_checksum_calculation="when_required",  # not every server supports chunked bodies
        response_checksum_validation="when_required",
    )
    return boto3.session.Session(botocore_session=session).client(
        "s3", endpoint_url=connection.endpoint, config=settings, verify=connection.properties.get(CA_FILE) or None
    )


def _credentials(connection: Connection, session: Any) -> Any:
    """Return the credentials of a connection, ``None`` if none are needed."""
    from botocore.credentials import Credentials

    if connection.provider.startswith("Anonymous"):
        return None
    if connection.provider in _CHAINS:
        chain, names = session.get_component("credential_provider"), _CHAINS[connection.provider]
        loads = [chain.get_provider(name).load for name in names] or [chain.load_credentials]
        found = next((credentials for load in loads if (credentials := load()) is not None), None)
        if found is None:
            raise PermissionError(
                errno.EACCES,
                f"there are no credentials for S3: {connection.provider} found none; write access_key and "
                "secret_key, or another fs.s3a.aws.credentials.provider",
                connection.endpoint,
            )
        return found
    temporary = connection.provider.startswith("Temporary")
    token = connection.properties.get(SESSION_TOKEN) if temporary else None
    return Credentials(connection.access_key, connection.secret_key, token, method="static")


class _Fixed:
    """Provides fixed credentials to a session, in place of its credential resolver."""

    def __init__(self, credentials: Any) -> None:
        self._credentials = credentials

    def load_credentials(self) -> Any:
        return self._credentials


_REMEDIES = {
    "SignatureDoesNotMatch": ". secret_key is not the one that belongs to access_key",
    "InvalidAccessKeyId": ". Correct access_key, or fs.s3a.endpoint",
    "InvalidTokenId": ". Correct fs.s3a.session.token in hadoop_s3_properties",
    "ExpiredToken": ". Set a new fs.s3a.session.token in hadoop_s3_properties",
    "AccessDenied": ". Allow this key to list the bucket and its uploads, and to get, put and delete objects",
    "RequestTimeTooSkewed": ". Correct the clock of this machine",
}
"""Remedy, by the server's error code."""

_OTHER_REGION = frozenset({"AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException"})
"""Codes of a server whose bucket is in another region than the request was signed for."""

_CONNECTING = {
    "SSLError": ". Set fs.s3a.ssl.ca-file in hadoop_s3_properties to the certificate's file; for a server without "
    "TLS write http:// in fs.s3a.endpoint",
    "EndpointConnectionError": ". Correct fs.s3a.endpoint, or start the server",
}
"""Remedy, by botocore's error class."""

# -- error messages --------------------------------------------------------------------------------------------------


@contextmanager
def os_errors(path: str) -> Iterator[None]:
    """Translate errors of botocore into ``OSError``, with the connector's path.

    Raises:
        FileNotFoundError: the object or upload does not exist.
        FileExistsError: the object exists, or has another version than the requested one.
        PermissionError: the server denies the request.
        OSError: anything else; ``EIO`` for failures that may be temporary.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        raise _meaning(error, path) from error
    except (BotoCoreError, OSError) as error:  # botocore also raises urllib3's errors
        if isinstance(error, OSError) and error.errno not in (None, errno.EPIPE, errno.ECONNRESET):
            raise
        words = (str(error).strip().splitlines() or [type(error).__name__])[0][:300].rstrip(". ")
        remedy = next((text for kind, text in _CONNECTING.items() if kind in type(error).__name__), "")
        raise OSError(errno.EIO, f"{words}{remedy}", path) from error


def _meaning(error: Any, path: str) -> OSError:
    answer = error.response.get("Error", {})
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = str(answer.get("Code", "")) or str(status)
    words = f"{code}: {answer.get('Message', '')}"[:300].rstrip(":. ")
    if code == "NoSuchBucket":
        return OSError(errno.ENODEV, "there is no such bucket; create it, or correct bucket and fs.s3a.endpoint", path)
    if status == 404 or code in ("NoSuchKey", "NoSuchUpload"):
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if status == 412:
        return FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    if status in (401, 403):
        return PermissionError(errno.EACCES, f"the server rejected the request: {words}{_REMEDIES.get(code, '')}", path)
    if status == 301 or code in _OTHER_REGION:
        return OSError(errno.EINVAL, f"{words}. {_in_region(error)}", path)
    if status == 507 or code in _FULL:
        return OSError(errno.ENOSPC, words, path)
    if status in _PASSING or code in ("SlowDown", "RequestTimeout", "ConditionalRequestConflict", "OperationAborted"):
        return OSError(errno.EIO, words, path)
    return OSError(errno.EINVAL, words, path)


def _in_region(error: Any) -> str:
    """Return the setting for a bucket in another region, including that region if the server reports it."""
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    region = error.response.get("Error", {}).get("Region") or headers.get("x-amz-bucket-region")
    where = f"The bucket is in the region {region}" if region else "The bucket is in another region"
    return f"{where}: write it as {REGION} in hadoop_s3_properties"
