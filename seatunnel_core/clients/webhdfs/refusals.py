"""Classification of error responses and missing responses as transient or permanent, with a remedy.

Only the first line of a Java message is used, because a stack trace follows. Messages of ``requests`` are never shown,
because they contain the URL, which for a DataNode contains a delegation token.
"""

import re
import socket
from http import HTTPStatus
from urllib.parse import urlsplit

import requests
from attrs import frozen
from hdfs import HdfsError

from seatunnel_core.clients.webhdfs.site import HTTP_ADDRESS, PROXY_USER, SITE_PATH, USER
from seatunnel_storage_api.errors import StorageAccessError, StorageFailureError, StorageUnavailableError

_CLEAR = "Set another namespace in plugin-config, or remove the file or folder that blocks this one"

_FINAL = {
    "AccessControlException": "Make this user the owner of the folder, for example: hdfs dfs -chown <user> "
    f"<namespace>; or set {USER}",
    "AuthorizationException": "Allow impersonation in core-site.xml of the cluster (hadoop.proxyuser.<user>.hosts and "
    f".groups), or remove {PROXY_USER}",
    "SecurityException": f"Check {USER}, {PROXY_USER} and kerberosPrincipal",
    "ParentNotDirectoryException": _CLEAR,
    "FileAlreadyExistsException": _CLEAR,
    "InvalidPathException": 'Set another namespace in plugin-config: HDFS does not allow ":" in a name',
    "PathComponentTooLongException": _CLEAR,
    "MaxDirectoryItemsExceededException": _CLEAR,
    "HadoopIllegalArgumentException": _CLEAR,
    "IllegalArgumentException": f"Check the keys in plugin-config; {HTTP_ADDRESS} must be the address of a NameNode",
    "UnsupportedOperationException": "Check the version of the cluster: Hadoop 3 is expected",
}
"""Remedies for permanent failures, by Java exception name."""

_QUOTAS = {
    "NSQuotaExceededException": "Remove files, or raise the name quota: hdfs dfsadmin -setQuota <names> <folder>",
    "DSQuotaExceededException": "Raise the space quota: hdfs dfsadmin -setSpaceQuota <bytes> <folder>. While a file is "
    "written, a whole block (dfs.blocksize) counts for each replica",
    "QuotaByStorageTypeExceededException": "Raise the quota: hdfs dfsadmin -setSpaceQuota <bytes> -storageType <type>",
}
_PASSING = {
    "StandbyException": "Make one NameNode active (see hdfs haadmin -getAllServiceState), and list all NameNodes in "
    f"the configuration, by {SITE_PATH} or as {HTTP_ADDRESS}: host1:9870;host2:9870",
    "SafeModeException": (
        "Safe mode ends when the DataNodes have reported. If an operator entered safe mode, run hdfs dfsadmin "
        "-safemode leave"
    ),
    "BlockMissingException": (
        "Start the DataNodes that hold the block: hdfs fsck <path> -files -blocks -locations shows them"
    ),
}
_NO_DATANODE = ("Failed to find datanode", "No active nodes", "could only be written to")
"""``IOException`` messages that indicate that no DataNode is available for a read or a write."""

_START_DATANODES = "Check that DataNodes are up and have free space: hdfs dfsadmin -report"
_LOOK = "Check the logs of the NameNode and the DataNodes, then try again"

_OVERLOADED = (HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE)


class QuotaExceededError(StorageAccessError):
    """A quota is exceeded. The failed request has created an empty file, so a retry needs a different path."""


class NotWebHdfs(requests.ConnectionError):  # type: ignore[misc]
    """A response that WebHDFS never sends. It is treated as a missing response, so the next NameNode is tried."""

    def __init__(self, response: requests.Response) -> None:
        self.status = response.status_code
        super().__init__(f"HTTP {self.status}", response=response, request=response.request)


@frozen
class Server:
    """A server of the cluster that received a request."""

    role: str
    """``NameNode`` or ``DataNode``."""

    url: str

    @property
    def address(self) -> str:
        """Host and port."""
        return urlsplit(self.url).netloc


def no_datanode(error: HdfsError) -> bool:
    """Return True if the NameNode found no DataNode for a request."""
    return any(words in str(error) for words in _NO_DATANODE)


def refusal(error: HdfsError) -> StorageFailureError:
    """Return the exception for an error response from a NameNode or a DataNode."""
    name = error.exception or "an error"
    said = f"{name}: {str(error).partition(chr(10))[0].rstrip(' .')}"
    if name in _QUOTAS:
        return QuotaExceededError(f"{said}. {_QUOTAS[name]}")
    if name in _FINAL:
        return StorageAccessError(f"{said}. {_FINAL[name]}")
    remedy = _START_DATANODES if no_datanode(error) else _PASSING.get(name, _LOOK)
    return StorageUnavailableError(f"{said}. {remedy}")


def no_answer(error: requests.RequestException, server: Server) -> StorageFailureError:
    """Return the exception for a request without a response, or without a WebHDFS response."""
    who = f"the {server.role} at {server.address}"
    if isinstance(error, NotWebHdfs):
        return _nonsense(error, who)
    said = message_of(innermost_cause(error))
    if isinstance(error, requests.exceptions.SSLError):
        return StorageAccessError(
            f"the TLS connection to {who} failed: {said}. Set the environment variable REQUESTS_CA_BUNDLE to the "
            "authority's certificate; if the cluster has no TLS, correct dfs.http.policy"
        )
    if server.role == "DataNode":
        return StorageUnavailableError(
            f"the NameNode redirects to {who}, which cannot be reached: {said}. Check that it is up (hdfs dfsadmin "
            "-report), and that this machine can resolve its name and connect to its HTTP port"
        )
    return _no_namenode(innermost_cause(error), server, who)


def _no_namenode(cause: BaseException, server: Server, who: str) -> StorageFailureError:
    if isinstance(cause, socket.gaierror):
        return StorageUnavailableError(
            f"the host of {who} is unknown. Correct fs.defaultFS or {HTTP_ADDRESS}; if that is the name of a "
            f"nameservice, set {SITE_PATH} to hdfs-site.xml of the cluster"
        )
    if isinstance(cause, ConnectionRefusedError):
        return StorageUnavailableError(
            f"no server listens at {server.address}. Start the NameNode; if it is up, set {HTTP_ADDRESS} to the "
            "address of its web server, which hdfs getconf -confKey dfs.namenode.http-address prints"
        )
    if "org.apache.hadoop.ipc" in str(cause):
        return StorageAccessError(
            f"{server.address} is the RPC port of the NameNode, not its web server. Set {HTTP_ADDRESS} to the web "
            "server's address, with the port 9870 unless it was changed"
        )
    return StorageUnavailableError(
        f"{who} did not respond: {message_of(cause)}. Check that it is up, that this is the port of its web "
        "server, not its RPC port, and that no firewall or proxy blocks HTTP"
    )


def _nonsense(error: NotWebHdfs, who: str) -> StorageFailureError:
    said = f"{who} returned HTTP {error.status}, but not a WebHDFS response"
    if error.status in _OVERLOADED:
        return StorageUnavailableError(f"{said}. {_LOOK}")
    return StorageAccessError(
        f"{said}. Check that {HTTP_ADDRESS} is the web server of a NameNode, that WebHDFS is enabled "
        "(dfs.webhdfs.enabled), and that no proxy is used (HTTP_PROXY, NO_PROXY)"
    )


def innermost_cause(error: BaseException) -> BaseException:
    """Return the innermost cause of an error, because messages of outer errors may contain URLs."""
    seen: list[BaseException] = []
    inner: BaseException | None = error
    while inner is not None and inner not in seen:
        seen.append(inner)
        wrapped = (getattr(inner, "reason", None), *inner.args, inner.__cause__, inner.__context__)
        inner = next((each for each in wrapped if isinstance(each, BaseException)), None)
    return seen[-1]


def message_of(error: BaseException) -> str:
    """Return an error's message without its number and control characters, truncated to 200 characters."""
    said = re.sub(r"^\[[^\]]*\] ?", "", str(error)).rstrip(" .")[:200]
    return re.sub(r"[^ -~]+", "?", said) or type(error).__name__
