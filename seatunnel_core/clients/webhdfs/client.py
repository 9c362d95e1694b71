"""HDFS operations over WebHDFS, with failures classified as transient or permanent."""

import contextlib
import socket
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import hdfs
import requests
from attrs import define, field
from hdfs.client import _Request, _to_error
from requests.adapters import HTTPAdapter

from seatunnel_core.clients.framing import require_whole
from seatunnel_core.clients.webhdfs.refusals import (
    NotWebHdfs,
    Server,
    innermost_cause,
    no_answer,
    no_datanode,
    refusal,
)
from seatunnel_storage_api.errors import StorageAccessError, StorageFailureError, StorageUnavailableError

_CONNECT_WITHIN_S = 10.0
_ANSWER_WITHIN_S = 60.0
_CONNECTIONS = 64
"""Number of connections kept open to each server. Additional threads open a connection for each request."""

_LOST_FOR_S = 60.0
_ABSENT = "FileNotFoundException"
_EXISTS = "FileAlreadyExistsException"


class WebHdfs:
    """Client of one cluster. Thread-safe.

    Paths are absolute. Errors contain the problem and the remedy; the caller adds the operation and the path.

    Args:
        urls: URL of each NameNode's web server. NameNodes that are in standby or do not respond are skipped; the one
            that responded is tried first for later requests.
        session: Session that provides the authentication.
        proxy_user: User that the authenticated user impersonates, if different.
        creation: Further parameters of CREATE, such as ``replication``.
    """

    def __init__(
        self,
        urls: tuple[str, ...],
        *,
        session: requests.Session,
        proxy_user: str | None = None,
        creation: Mapping[str, str] | None = None,
    ) -> None:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))
        session.hooks["response"].append(require_whole)
        self._session = session
        self._namenodes = _NameNodes(urls, session, proxy_user)
        self._creation = dict(creation or {})
        self._lost = _LostDataNodes()

    def create(self, path: str, body: bytes | BinaryIO) -> None:
        """Write a new file and its parent folders; when this returns, the file is durable on the DataNodes' disks.

        A file object is sent from its current position while it is read. Until this returns, readers may see a part of
        the file. The path must not exist.
        """
        with self._translated():
            answer = self._namenodes._create(
                path, overwrite=False, createflag="CREATE,SYNC_BLOCK", **self._creation, **self._lost.parameters()
            )
            with _webhdfs(answer):
                datanode = answer.headers["location"]
            written = self._namenodes._request("PUT", datanode, data=body)
            if written.status_code != HTTPStatus.CREATED:
                raise _unwritten(written)

    def rename(self, source: str, target: str) -> bool:
        """Move a file atomically; return False if ``target`` exists or ``source`` does not.

        If the request was sent twice, the result may be False although the file was moved.
        """
        with self._translated(), _unless(_EXISTS, _ABSENT) as done:
            # The public rename does not report why nothing was moved, and moves into a folder at the target.
            answer = self._namenodes._rename(source, destination=target, renameoptions="NONE")
            if answer.content:  # a login page, or HttpFS, which does not support this option
                raise NotWebHdfs(answer)
        return done.is_set

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return ``length`` bytes of a file from ``start``, or the whole file; ``None`` if it does not exist."""
        wanted = {"offset": str(start), "length": str(length)} if length is not None else {}
        with self._translated(), _unless(_ABSENT):
            with self._namenodes._open(path, **wanted, **self._lost.parameters()) as answer:
                body: bytes = answer.content
            return body
        return None

    def status(self, path: str) -> dict[str, Any] | None:
        """Return the status of a file or a folder, or ``None`` if it does not exist."""
        with self._translated(), _unless(_ABSENT):
            answer = self._namenodes._get_file_status(path)
            with _webhdfs(answer):
                status: dict[str, Any] = answer.json()["FileStatus"]
            return status
        return None

    def entries(self, folder: str) -> list[dict[str, Any]]:
        """Return the status of each entry in a folder, with one request; empty if the folder does not exist."""
        statuses: list[dict[str, Any]] = []
        with self._translated(), _unless(_ABSENT):
            answer = self._namenodes._list_status(folder)
            with _webhdfs(answer):
                statuses = answer.json()["FileStatuses"]["FileStatus"]
        return [status for status in statuses if status["pathSuffix"]]  # a file lists itself, without a name

    def require_access(self, path: str, action: str) -> None:
        """Raise ``StorageAccessError`` unless the user has the permissions ``action``, such as ``-wx``, on a path."""
        with self._translated():
            self._namenodes._check_access(path, fsaction=action)

    def make_folder(self, path: str) -> None:
        """Create a folder and its parents unless it exists."""
        with self._translated():
            _boolean(self._namenodes._mkdirs(path))

    def delete(self, path: str, *, recursive: bool = False) -> bool:
        """Remove a file or an empty folder, or any folder if ``recursive``; return True if it existed."""
        with self._translated():
            return _boolean(self._namenodes._delete(path, recursive=recursive))

    def close(self) -> None:
        """Close the client's connections."""
        self._session.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except hdfs.HdfsError as error:
            if no_datanode(error):
                self._lost.forget()
            raise self._of_all(refusal(error), error.exception == "StandbyException") from error
        except requests.RequestException as error:
            server = self._server_of(error)
            if server.role == "DataNode":
                self._lost.add(server)
            # Not chained to the error itself: its message contains the URL, which may contain a token.
            raise self._of_all(no_answer(error, server), server.role == "NameNode") from innermost_cause(error)

    def _of_all(self, failure: StorageFailureError, of_namenode: bool) -> StorageFailureError:
        """Return the error to raise after all NameNodes failed: the error of the last one."""
        names = self._namenodes.names
        if not of_namenode or len(names) == 1:
            return failure
        return type(failure)(f"none of the NameNodes {' and '.join(names)} is usable; the last one tried: {failure}")

    def _server_of(self, error: requests.RequestException) -> Server:
        url = (error.request.url if error.request is not None else None) or self._namenodes.urls[0]
        return Server("NameNode" if self._namenodes.is_one(url) else "DataNode", url)


class _NameNodes(hdfs.Client):  # type: ignore[misc]
    """Failover in the ``hdfs`` package: tries the next NameNode if one is in standby or does not respond."""

    _check_access = _Request("GET")

    def __init__(self, urls: tuple[str, ...], session: requests.Session, proxy_user: str | None) -> None:
        super().__init__(
            ";".join(urls), session=session, proxy=proxy_user, timeout=(_CONNECT_WITHIN_S, _ANSWER_WITHIN_S)
        )
        self.names = tuple(url.partition("://")[2] for url in urls)

    def is_one(self, url: str) -> bool:
        return urlsplit(url).netloc in self.names

    def resolve(self, hdfs_path: str) -> str:
        """Return the path unchanged. The package would replace ``#LATEST`` in it."""
        return hdfs_path

    def _request(self, method: str, url: str, **more: Any) -> requests.Response:
        response: requests.Response = super()._request(method, url, **more)
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            response.close()
            raise StorageAccessError(
                "the cluster rejected the authentication (HTTP 401). It requires Kerberos: set kerberosPrincipal and "
                "kerberosKeytabFilePath; if they are set, check that the clocks are synchronized and that the "
                "principal may log in"
            )
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            with _webhdfs(response):
                response.json()["RemoteException"]["message"]
        return response


def _unwritten(answer: requests.Response) -> hdfs.HdfsError | StorageUnavailableError:
    error = _to_error(answer)
    if error.exception != _EXISTS:
        return error
    return StorageUnavailableError(
        "the DataNode received the request to create a file twice, so something on the network path repeats requests. "
        "Check the proxies between this host and the DataNodes"
    )


def _boolean(answer: requests.Response) -> bool:
    with _webhdfs(answer):
        return bool(answer.json()["boolean"])


class _Done:
    is_set = False


@contextlib.contextmanager
def _unless(*names: str) -> Iterator[_Done]:
    """Suppress the named Java exceptions; ``is_set`` of the yielded object is True if none was raised."""
    done = _Done()
    try:
        yield done
        done.is_set = True
    except hdfs.HdfsError as error:
        if error.exception not in names:
            raise


@contextlib.contextmanager
def _webhdfs(answer: requests.Response) -> Iterator[None]:
    """Raise ``NotWebHdfs`` if the response cannot be parsed, because another kind of server sent it."""
    try:
        yield
    except (ValueError, KeyError, TypeError) as cause:
        raise NotWebHdfs(answer) from cause


@define
class _LostDataNodes:
    """Recently unreachable DataNodes, to be excluded from requests.

    The NameNode detects a dead DataNode only after ten minutes. Until then it directs clients to the nearest one, which
    may be dead.
    """

    _until: dict[str, float] = field(factory=dict)

    def add(self, server: Server) -> None:
        """Exclude a DataNode by its IP address, because the NameNode accepts no other name."""
        with contextlib.suppress(OSError):
            address = socket.gethostbyname(server.address.rpartition(":")[0])
            self._until = {**self._until, address: time.monotonic() + _LOST_FOR_S}

    def forget(self) -> None:
        """Allow all DataNodes again, because no other DataNode is left."""
        self._until = {}

    def parameters(self) -> dict[str, str]:
        now = time.monotonic()
        lost = sorted(host for host, until in self._until.items() if until > now)
        return {"excludedatanodes": ",".join(lost)} if lost else {}
