"""OSS bucket client, configured with the keys of Hadoop's OSS client."""

import logging
import re
from collections.abc import Mapping

import oss2

from seatunnel_core.clients.framing import require_whole
from seatunnel_core.clients.oss import credentials
from seatunnel_core.clients.proxy import proxies
from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.errors import StorageConfigurationError

BUCKET = "oss.bucket"
ENDPOINT = "fs.oss.endpoint"
REGION = "fs.oss.region"
SECURE = "fs.oss.connection.secure.enabled"
CONNECT_TIMEOUT = "fs.oss.connection.establish.timeout"
READ_TIMEOUT = "fs.oss.connection.timeout"
PROXY = ("fs.oss.proxy.host", "fs.oss.proxy.port", "fs.oss.proxy.username", "fs.oss.proxy.password")

_CONNECTIONS = 32

_REGION = re.compile(r"(?:.*\.)?oss-([a-z]{2}-[a-z0-9-]+?)(?:-internal)?\.aliyuncs\.com")


class _NoSecrets(logging.Filter):
    """Logging filter that drops records below WARNING, because they contain tokens and the proxy's password."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.WARNING


for _name in ("oss2.api", "oss2.auth", "oss2.http"):
    logging.getLogger(_name).addFilter(_NoSecrets())


def connect(configuration: Mapping[str, str]) -> oss2.Bucket:
    """Return a client without sending a request. The client never retries, because ``BlobStorage`` does."""
    name = _bucket_name(configuration)
    endpoint = _endpoint(configuration, name)
    region = _region(configuration, endpoint)
    provider = credentials.provider(configuration)
    return oss2.Bucket(
        oss2.ProviderAuthV4(provider) if region else oss2.ProviderAuth(provider),
        endpoint,
        name,
        session=_session(),
        connect_timeout=(_seconds(configuration, CONNECT_TIMEOUT, 5), _seconds(configuration, READ_TIMEOUT, 60)),
        enable_crc=False,  # Content-MD5 and the seal of every blob detect more, and earlier
        proxies=proxies(configuration, PROXY),
        region=region,
    )


def _session() -> oss2.Session:
    session = oss2.Session(pool_size=_CONNECTIONS)
    session.session.hooks["response"].append(require_whole)
    return session


def _bucket_name(configuration: Mapping[str, str]) -> str:
    written = configuration.get(BUCKET) or ""
    name = written.removeprefix("oss://").rstrip("/")
    if not name:
        raise StorageConfigurationError(
            f"{BUCKET} is not set: set it to the name of the bucket, for example {BUCKET}: my-checkpoints"
        )
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", name):
        raise StorageConfigurationError(
            f"{BUCKET} is {written!r}, which is not a bucket name: expected 3 to 63 characters from a-z, 0-9 and -, "
            "for example my-checkpoints; put folders within the bucket in namespace"
        )
    return name


def _endpoint(configuration: Mapping[str, str], bucket: str) -> str:
    written = (configuration.get(ENDPOINT) or "").rstrip("/")
    if not written and configuration.get(REGION):
        written = f"oss-{configuration[REGION].removeprefix('oss-')}.aliyuncs.com"
    if not written:
        raise StorageConfigurationError(
            f"{ENDPOINT} is not set: set it to the endpoint of the bucket's region, for example {ENDPOINT}: "
            f"oss-cn-hangzhou.aliyuncs.com, or {REGION}: cn-hangzhou"
        )
    scheme, separator, host = written.rpartition("://")
    if scheme not in ("", "http", "https") or not re.fullmatch(r"[\w.-]+(:\d+)?", host, re.ASCII):
        raise StorageConfigurationError(
            f"{ENDPOINT} is {written!r}, which is not a host: set it to the endpoint of the bucket's region, for "
            "example oss-cn-hangzhou.aliyuncs.com"
        )
    if host.startswith(bucket + "."):
        raise StorageConfigurationError(
            f"{ENDPOINT} begins with the name of the bucket: set {ENDPOINT}: {host.removeprefix(bucket + '.')}"
        )
    if separator:
        return written
    return f"{'https' if shared.flag(configuration, SECURE, default=True) else 'http'}://{host}"


def _region(configuration: Mapping[str, str], endpoint: str) -> str | None:
    """Return the configured region, or the region in the endpoint; ``None`` to use the older signature version."""
    written = configuration.get(REGION)
    if written:
        return written.removeprefix("oss-")
    found = _REGION.fullmatch(endpoint.partition("://")[2])
    return found[1] if found else None


def _seconds(configuration: Mapping[str, str], key: str, default_s: float) -> float:
    """Return the value of a key in seconds. As in Hadoop, the configuration contains milliseconds."""
    written = configuration.get(key) or f"{default_s * 1_000:.0f}"
    if not re.fullmatch(r"[1-9][0-9]{0,6}", str(written)):
        raise StorageConfigurationError(
            f"{key} is {written!r}; expected milliseconds, for example {key}: {default_s * 1000:.0f}"
        )
    return int(written) / 1_000
