"""A stand-in for Alibaba OSS: ``python -m tests.servers.oss_stand_in PORT SETTINGS``. Not a copy of OSS.

It exists because no server that can be installed understands OSS's signatures. It verifies them, keeps objects in
memory, and does what a checkpoint storage asks for: put (with ``x-oss-forbid-overwrite``), get, head, delete, batched
delete, list. It answers with the status, code and words that the vendor documents. Beside that:

* ``GET /-/requests`` is what was asked since the last ``DELETE /-/requests``: method, bucket, key, names of the query;
* ``PUT /-/settings`` changes ``Settings``, so that tests can deny, version, and break things;
* below ``METADATA`` it is a stand-in for the metadata service of an ECS instance.
"""

import base64
import email.utils
import hashlib
import json
import sys
import threading
import time
import xml.etree.ElementTree as ET
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape

from attrs import define, evolve, field

from tests.servers.oss_signatures import Credentials, Refusal, Request, signer

METADATA = "/latest/meta-data/ram/security-credentials/"
REGION = "cn-stand-in"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NO_RIGHT = "You have no right to access this object because of bucket acl."


@define(kw_only=True)
class Settings:
    """What a test can change while the server runs."""

    credentials: dict[str, dict[str, Any]] = field(factory=dict)
    """By access key id: the fields of ``oss_signatures.Credentials``."""

    buckets: list[str] = field(factory=list)
    versioned: list[str] = field(factory=list)
    """Buckets on which versioning is on, where ``x-oss-forbid-overwrite`` has no effect."""

    denied: dict[str, list[str]] = field(factory=dict)
    """By access key id: the actions, such as ``PutObject``, that are refused."""

    faults: list[str | int] = field(factory=list)
    """Eaten one by a request: a status to answer; ``drop`` (unread), ``drop-after`` (done, but the answer is lost)."""

    clock_ahead_s: float = 0.0
    """How wrong the server's clock is."""

    role: dict[str, str] = field(factory=dict)
    """What the metadata service gives."""


class Server(ThreadingHTTPServer):
    """All objects of all buckets, and the one lock around them."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, settings: Settings) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.settings = settings
        self.objects: dict[tuple[str, str], tuple[bytes, float]] = {}
        self.requests: list[list[Any]] = []
        self.lock = threading.Lock()


@define
class Answer:
    """What goes back."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(factory=dict)


class Handler(BaseHTTPRequestHandler):
    """Reads a request, has it verified, and answers."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "AliyunOSS-stand-in"
    sys_version = ""
    wbufsize = -1  # header and body in one packet: two would cost 40 ms each time
    disable_nagle_algorithm = True

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: the log is ``GET /-/requests``."""

    def _handle(self) -> None:
        request = self._request()
        if request.bucket == "-":
            return self._send(self._control(request))
        if self.path.startswith(METADATA):
            return self._send(self._metadata(self.path.removeprefix(METADATA)))
        with self.server.lock:
            names = [name for name, _ in request.query]
            self.server.requests.append([request.method, request.bucket, request.key, names])
            faults = self.server.settings.faults
            fault = faults.pop(0) if faults else None
        if fault == "drop":
            return self._hang_up()
        answer = self._answer(request, fault)
        return self._hang_up() if fault == "drop-after" else self._send(answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _handle  # noqa: N815

    def _request(self) -> Request:
        path, _, query = self.path.partition("?")
        bucket, _, key = unquote(path)[1:].partition("/")
        return Request(
            method=self.command,
            bucket=bucket,
            key=key,
            query=parse_qsl(query, keep_blank_values=True),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(int(self.headers.get("Content-Length") or 0)),
        )

    def _answer(self, request: Request, fault: str | int | None) -> Answer:
        try:
            if isinstance(fault, int):
                raise Refusal(fault, "InternalError", "Please contact the server administrator.")
            known = {name: Credentials(**each) for name, each in self.server.settings.credentials.items()}
            now = time.time() + self.server.settings.clock_ahead_s
            key_id = signer(request, known, REGION, now)
            with self.server.lock:
                return self._do(request, key_id)
        except Refusal as refusal:
            return _refused(refusal)

    def _do(self, request: Request, key_id: str) -> Answer:
        if request.bucket not in self.server.settings.buckets:
            raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist.", {"BucketName": request.bucket})
        batch = request.parameter("delete") is not None
        name, action = {
            ("PUT", True): ("PutObject", self._put),
            ("GET", True): ("GetObject", self._get),
            ("HEAD", True): ("GetObject", self._get),
            ("DELETE", True): ("DeleteObject", self._delete),
            ("POST", not batch): ("DeleteObject", self._delete_many),
            ("GET", False): ("ListObjects", self._list),
        }[request.method, bool(request.key)]
        if name in self.server.settings.denied.get(key_id, ()):
            raise Refusal(403, "AccessDenied", _NO_RIGHT)
        return action(request)

    def _put(self, request: Request) -> Answer:
        if len(request.key.encode()) > 1023 or request.key[0] in "/\\":
            raise Refusal(400, "InvalidObjectName", "The specified object is not valid.")
        digest = hashlib.md5(request.body)
        md5 = base64.b64encode(digest.digest()).decode()
        if request.headers.get("content-md5", md5) != md5:
            raise Refusal(400, "InvalidDigest", "The Content-MD5 you specified was invalid.")
        versioned = request.bucket in self.server.settings.versioned
        forbidden = request.headers.get("x-oss-forbid-overwrite", "").lower() == "true" and not versioned
        place = (request.bucket, request.key)
        if forbidden and place in self.server.objects:
            message = "The object you specified already exists and can not be overwritten."
            raise Refusal(409, "FileAlreadyExists", message)
        self.server.objects[place] = (request.body, time.time())
        version = {"x-oss-version-id": f"CAEQ{time.time_ns()}"} if versioned else {}
        return Answer(200, headers={"ETag": f'"{digest.hexdigest().upper()}"', "Content-MD5": md5, **version})

    def _get(self, request: Request) -> Answer:
        found = self.server.objects.get((request.bucket, request.key))
        if found is None:
            raise Refusal(404, "NoSuchKey", "The specified key does not exist.", {"Key": request.key})
        modified = email.utils.formatdate(found[1], usegmt=True)
        return Answer(200, found[0], {"Last-Modified": modified, "Content-Type": "application/octet-stream"})

    def _delete(self, request: Request) -> Answer:
        self.server.objects.pop((request.bucket, request.key), None)
        return Answer(204)

    def _delete_many(self, request: Request) -> Answer:
        if request.headers.get("content-md5") != base64.b64encode(hashlib.md5(request.body).digest()).decode():
            raise Refusal(400, "InvalidDigest", "The Content-MD5 you specified was invalid.")
        keys = [each.findtext("Key") or "" for each in ET.fromstring(request.body).iter("Object")]
        if len(keys) > 1000:
            raise Refusal(400, "MalformedXML", "The XML you provided was not well-formed.")
        for key in keys:
            self.server.objects.pop((request.bucket, key), None)
        deleted = "".join(f"<Deleted><Key>{quote(key)}</Key></Deleted>" for key in keys)
        return _xml(200, f"<DeleteResult><EncodingType>url</EncodingType>{deleted}</DeleteResult>")

    def _list(self, request: Request) -> Answer:
        prefix = request.parameter("prefix") or ""
        token = request.parameter("continuation-token")
        after = base64.b64decode(token).decode() if token else ""
        most = int(request.parameter("max-keys") or 100)
        if request.parameter("list-type") != "2" or request.parameter("delimiter") or not 1 <= most <= 1000:
            raise Refusal(400, "InvalidArgument", "This stand-in lists by version 2, flat, 1 to 1000 at a time.")
        keys = sorted(
            key
            for bucket, key in self.server.objects
            if bucket == request.bucket and key.startswith(prefix) and key > after
        )
        page = [(key, *self.server.objects[request.bucket, key]) for key in keys[:most]]
        more = len(keys) > most
        following = base64.b64encode(page[-1][0].encode()).decode() if more else ""
        contents = "".join(
            f"<Contents><Key>{quote(key)}</Key><LastModified>{_moment(modified)}</LastModified><ETag>&quot;&quot;</ETag>"
            f"<Type>Normal</Type><Size>{len(body)}</Size><StorageClass>Standard</StorageClass></Contents>"
            for key, body, modified in page
        )
        return _xml(
            200,
            f"<ListBucketResult><Name>{request.bucket}</Name><Prefix>{quote(prefix)}</Prefix><MaxKeys>{most}</MaxKeys>"
            f"<EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>{contents}"
            f"<NextContinuationToken>{following}</NextContinuationToken><KeyCount>{len(page)}</KeyCount>"
            "</ListBucketResult>",
        )

    def _control(self, request: Request) -> Answer:
        with self.server.lock:
            if request.key == "settings":
                self.server.settings = evolve(self.server.settings, **json.loads(request.body))
            elif request.method == "DELETE":
                self.server.requests.clear()
            return Answer(200, json.dumps(self.server.requests).encode())

    def _metadata(self, name: str) -> Answer:
        role = self.server.settings.role
        if not role:
            return Answer(404)
        return Answer(200, json.dumps(role).encode() if name else b"stand-in-role")

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in {"x-oss-request-id": "0123456789ABCDEF01234567", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()


def _refused(refusal: Refusal) -> Answer:
    fields = {"Code": refusal.code, "Message": refusal.message, "RequestId": "0123456789ABCDEF01234567"}
    details = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in {**fields, **refusal.details}.items())
    answer = _xml(refusal.status, f"<Error>{details}</Error>")
    answer.headers["x-oss-err"] = base64.b64encode(answer.body).decode()
    return answer


def _xml(status: int, text: str) -> Answer:
    return Answer(status, (_DECLARATION + text).encode(), {"Content-Type": "application/xml"})


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


if __name__ == "__main__":
    Server(int(sys.argv[1]), Settings(**json.loads(sys.argv[2]))).serve_forever()
