"""Connection settings from the keys of Hadoop's S3A client: endpoint, region, path style, proxy, TLS and timeouts."""

import functools
import logging
import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore
import botocore.loaders
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ConnectionClosedError
from botocore.response import StreamingBody
from botocore.session import Session

from seatunnel_core.clients.framing import is_whole
from seatunnel_core.clients.proxy import proxies
from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.errors import StorageConfigurationError

ENDPOINT = "fs.s3a.endpoint"
REGION = "fs.s3a.endpoint.region"
TLS = "fs.s3a.connection.ssl.enabled"
CA_FILE = "fs.s3a.ssl.ca-file"
PATH_STYLE = "fs.s3a.path.style.access"
PROXY = ("fs.s3a.proxy.host", "fs.s3a.proxy.port", "fs.s3a.proxy.username", "fs.s3a.proxy.password")

DEFAULT_REGION = "us-east-1"
"""Region to use if the configuration, the endpoint and boto3's settings contain none; private servers accept it."""

CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 60
MOST_CONNECTIONS = 64

UNSIGNED = Credentials("", "", method="anonymous")
"""Placeholder for credentials, to send requests without a signature."""

_AMAZON = re.compile(r"s3[.-](?:dualstack\.|fips\.)?([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com(?:\.cn)?")


def open_client(
    service: str,
    credentials: Credentials,
    configuration: Mapping[str, str],
    *,
    endpoint: str | None,
    region: str | None,
) -> Any:
    """Return a boto3 client for ``s3`` or ``sts`` that never retries; by default for Amazon's endpoint."""
    _keep_out_of_logs()
    session = new_session()
    session.register_component("credential_provider", _Fixed(credentials))
    settings = Config(
        region_name=region or session.get_config_variable("region") or DEFAULT_REGION,
        signature_version=botocore.UNSIGNED if credentials is UNSIGNED else None,
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        max_pool_connections=MOST_CONNECTIONS,
        retries={"total_max_attempts": 1, "mode": "standard"},
        proxies=proxies(configuration, PROXY),
        s3={"addressing_style": _addressing(configuration), "payload_signing_enabled": True},
        # The signature covers every byte of a body, and a checkpoint is sealed: another checksum would need chunked
        # bodies, which not every server supports.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    client = boto3.session.Session(botocore_session=session).client(
        service, endpoint_url=endpoint, config=settings, verify=_authorities(configuration)
    )
    client.meta.events.register("before-parse", _require_whole)
    return client


def _require_whole(response_dict: Mapping[str, Any], **_: Any) -> None:
    if not is_whole(response_dict["status_code"], response_dict["headers"]):
        if isinstance(response_dict["body"], StreamingBody):
            response_dict["body"].close()  # no other code has this object, so the change is local
        raise ConnectionClosedError(endpoint_url="")


def new_session() -> Session:
    """Return a botocore session. All sessions share the parsed JSON files, which take most of the time to load."""
    session = Session()
    session.register_component("data_loader", _loader())
    return session


@functools.cache
def _loader() -> Any:
    return botocore.loaders.create_loader()


class _Fixed:
    """Credential provider that always returns the given credentials."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def load_credentials(self) -> Credentials:
        return self._credentials


def _keep_out_of_logs() -> None:
    """Raise the level of botocore's logger unless the user has set it: at DEBUG, it logs session tokens."""
    logger = logging.getLogger("botocore")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)


def endpoint_of(configuration: Mapping[str, str], key: str = ENDPOINT) -> str | None:
    """Return the URL of an endpoint, with a default scheme if it has none; ``None`` for Amazon's endpoint."""
    written = (configuration.get(key) or "").strip()
    if not written:
        return None
    scheme = "https" if shared.flag(configuration, TLS, default=True) else "http"
    url = written if "://" in written else f"{scheme}://{written}"
    parts = urlsplit(url)
    try:
        is_host = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_host = False
    if not is_host or parts.username or parts.path not in ("", "/") or parts.query or parts.fragment or " " in url:
        raise StorageConfigurationError(
            f"{key} is not the address of a server. Use host:port, or http://host:port or https://host:port, "
            "without a path"
        )
    return f"{parts.scheme}://{parts.netloc}"


def region_of(configuration: Mapping[str, str]) -> str | None:
    """Return the configured region, or the region in Amazon's host name, or ``None``."""
    host = urlsplit(endpoint_of(configuration) or "").hostname or ""
    named = _AMAZON.fullmatch(host)
    return configuration.get(REGION) or (named[1] if named else None)


def _addressing(configuration: Mapping[str, str]) -> str:
    if not configuration.get(PATH_STYLE):
        return "auto"
    return "path" if shared.flag(configuration, PATH_STYLE, default=False) else "virtual"


def _authorities(configuration: Mapping[str, str]) -> str | None:
    """Return the PEM file of trusted authorities; ``None`` for botocore's default or ``AWS_CA_BUNDLE``."""
    path = configuration.get(CA_FILE)
    if path and not os.path.isfile(path):
        raise StorageConfigurationError(
            f"{CA_FILE} is {path!r}, which is not a file. Set it to the path of a PEM file with the certificate of "
            "the authority that signed the server's certificate"
        )
    return path or None
