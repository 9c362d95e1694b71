"""A stand-in for Alibaba OSS: ``python -m tests.servers.objects.oss_stand_in PORT SETTINGS``. Not a copy of OSS.

It exists because no server that can be installed understands OSS's signatures. It verifies them, keeps objects in
memory, and does what a checkpoint storage and a sink ask for: put and copy (with ``x-oss-forbid-overwrite``), get (of
a range, and of an ETag), head, delete, batched delete, list, and uploads in parts. It answers with the status, code and
words that the vendor documents. Beside that:

* ``GET /-/requests`` is what was asked since the last ``DELETE /-/requests``: method, bucket, key, names of the query;
* ``PUT /-/settings`` changes ``Settings``, so that tests can deny, version, and break things;
* below ``METADATA`` it is a stand-in for the metadata service of an ECS instance.
"""

import base64
import email.utils
import hashlib
import json
import re
import secrets
import sys
import threading
import time
import xml.etree.ElementTree as ET
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape

from attrs import evolve

from tests.servers.objects.oss_answers import Answer, copy_result, moment_of, refusal_of, xml_answer
from tests.servers.objects.oss_signatures import Credentials, Refusal, Request, signer
from tests.servers.objects.oss_stored import METADATA, REGION, Settings, Stored, Upload

_NO_RIGHT = "You have no right to access this object because of bucket acl."


LARGEST_COPY = 1 << 30
"""Bytes; of what one request copies."""

SMALLEST_PART = 100 << 10
"""Bytes; of each but the last."""


class Server(ThreadingHTTPServer):
    """All objects of all buckets, and the one lock around them."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, settings: Settings) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.settings = settings
        self.objects: dict[tuple[str, str], Stored] = {}
        self.uploads: dict[str, Upload] = {}
        self.requests: list[list[Any]] = []
        self.lock = threading.Lock()


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
            return refusal_of(refusal)

    def _do(self, request: Request, key_id: str) -> Answer:
        if request.bucket not in self.server.settings.buckets:
            raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist.", {"BucketName": request.bucket})
        asked = {name for name, _ in request.query}.intersection(("delete", "uploads", "uploadId", "lifecycle"))
        name, action = {
            ("PUT", True, ""): ("PutObject", self._copy if "x-oss-copy-source" in request.headers else self._put),
            ("GET", True, ""): ("GetObject", self._get),
            ("HEAD", True, ""): ("GetObject", self._get),
            ("DELETE", True, ""): ("DeleteObject", self._delete),
            ("POST", False, "delete"): ("DeleteObject", self._delete_many),
            ("GET", False, ""): ("ListObjects", self._list),
            ("GET", False, "lifecycle"): ("GetBucketLifecycle", self._lifecycle),
            ("POST", True, "uploads"): ("PutObject", self._begin_upload),
            ("PUT", True, "uploadId"): ("PutObject", self._upload_part),
            ("POST", True, "uploadId"): ("PutObject", self._complete_upload),
            ("DELETE", True, "uploadId"): ("AbortMultipartUpload", self._abort_upload),
            ("GET", True, "uploadId"): ("ListParts", self._list_parts),
            ("GET", False, "uploads"): ("ListMultipartUploads", self._list_uploads),
        }[request.method, bool(request.key), "".join(asked)]
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
        self._require_absent(request)
        etag = f'"{digest.hexdigest().upper()}"'
        self.server.objects[request.bucket, request.key] = Stored(body=request.body, etag=etag, meta=_meta(request))
        version = {"x-oss-version-id": f"CAEQ{time.time_ns()}"} if versioned else {}
        return Answer(200, headers={"ETag": etag, "Content-MD5": md5, **version})

    def _copied(self, request: Request) -> Stored:
        """What ``x-oss-copy-source`` names."""
        bucket, _, key = unquote(request.headers["x-oss-copy-source"]).lstrip("/").partition("/")
        found = self.server.objects.get((bucket, key))
        if found is None:
            raise Refusal(404, "NoSuchKey", "The specified key does not exist.", {"Key": key})
        return found

    def _copy(self, request: Request) -> Answer:
        source = self._copied(request)
        if len(source.body) > LARGEST_COPY:
            raise Refusal(400, "InvalidArgument", "The specified size of the object is too large to copy.")
        self._require_absent(request)
        found = evolve(source, modified=time.time())
        self.server.objects[request.bucket, request.key] = found
        return copy_result("CopyObjectResult", found.etag)

    def _require_absent(self, request: Request) -> None:
        forbidden = request.headers.get("x-oss-forbid-overwrite", "").lower() == "true"
        taken = (request.bucket, request.key) in self.server.objects
        if forbidden and taken and request.bucket not in self.server.settings.versioned:
            message = "The object you specified already exists and can not be overwritten."
            raise Refusal(409, "FileAlreadyExists", message)

    def _get(self, request: Request) -> Answer:
        found = self.server.objects.get((request.bucket, request.key))
        if found is None:
            raise Refusal(404, "NoSuchKey", "The specified key does not exist.", {"Key": request.key})
        wanted = request.headers.get("if-match", "")
        if wanted and wanted.strip('"') != found.etag.strip('"'):
            message = "At least one of the pre-conditions you specified did not hold."
            raise Refusal(412, "PreconditionFailed", message, {"Condition": "If-Match"})
        modified = email.utils.formatdate(found.modified, usegmt=True)
        headers = {"Last-Modified": modified, "Content-Type": "application/octet-stream", "ETag": found.etag}
        headers |= found.meta
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", ""))
        if span is None:
            return Answer(200, found.body, headers)
        start, end = int(span[1]), min(int(span[2]), len(found.body) - 1)
        headers["Content-Range"] = f"bytes {start}-{end}/{len(found.body)}"
        return Answer(206, found.body[start : end + 1], headers)

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
        return xml_answer(200, f"<DeleteResult><EncodingType>url</EncodingType>{deleted}</DeleteResult>")

    def _list(self, request: Request) -> Answer:
        prefix, delimiter = request.parameter("prefix") or "", request.parameter("delimiter") or ""
        token = request.parameter("continuation-token")
        after = base64.b64decode(token).decode() if token else ""
        most = int(request.parameter("max-keys") or 100)
        if request.parameter("list-type") != "2" or delimiter not in ("", "/") or not 1 <= most <= 1000:
            raise Refusal(400, "InvalidArgument", "This stand-in lists by version 2, 1 to 1000 at a time.")
        keys = (key for bucket, key in self.server.objects if bucket == request.bucket and key.startswith(prefix))
        folded = sorted({_folded(key, prefix, delimiter) for key in keys})
        names = [name for name in folded if name > after]
        page, more = names[:most], len(names) > most
        following = base64.b64encode(page[-1].encode()).decode() if more else ""
        contents, folders = "", ""
        for name in page:
            found = self.server.objects.get((request.bucket, name))
            if found is None or (delimiter and name.endswith(delimiter) and name != prefix):
                folders += f"<CommonPrefixes><Prefix>{quote(name)}</Prefix></CommonPrefixes>"
                continue
            contents += (
                f"<Contents><Key>{quote(name)}</Key><LastModified>{moment_of(found.modified)}</LastModified>"
                f"<ETag>{escape(found.etag)}</ETag><Type>Normal</Type><Size>{len(found.body)}</Size>"
                "<StorageClass>Standard</StorageClass></Contents>"
            )
        return xml_answer(
            200,
            f"<ListBucketResult><Name>{request.bucket}</Name><Prefix>{quote(prefix)}</Prefix><MaxKeys>{most}</MaxKeys>"
            f"<EncodingType>url</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>{contents}{folders}"
            f"<NextContinuationToken>{following}</NextContinuationToken><KeyCount>{len(page)}</KeyCount>"
            "</ListBucketResult>",
        )

    def _lifecycle(self, request: Request) -> Answer:
        rules = self.server.settings.rules.get(request.bucket, [])
        if not rules:
            raise Refusal(404, "NoSuchLifecycle", "No Row found in Lifecycle Table.")
        return xml_answer(200, "<LifecycleConfiguration>" + "".join(rules) + "</LifecycleConfiguration>")

    # -- uploads in parts -----------------------------------------------------------------------------------------

    def _begin_upload(self, request: Request) -> Answer:
        upload = secrets.token_hex(16).upper()
        self.server.uploads[upload] = Upload(bucket=request.bucket, key=request.key, meta=_meta(request))
        return xml_answer(
            200,
            f"<InitiateMultipartUploadResult><Bucket>{request.bucket}</Bucket><Key>{escape(request.key)}</Key>"
            f"<UploadId>{upload}</UploadId></InitiateMultipartUploadResult>",
        )

    def _upload(self, request: Request) -> Upload:
        name = request.parameter("uploadId") or ""
        found = self.server.uploads.get(name)
        if found is None or (found.bucket, found.key) != (request.bucket, request.key):
            message = (
                "The specified upload does not exist. The upload ID may be invalid, or the upload may have been "
                "aborted or completed."
            )
            raise Refusal(404, "NoSuchUpload", message, {"UploadId": name})
        return found

    def _upload_part(self, request: Request) -> Answer:
        number = int(request.parameter("partNumber") or 0)
        if not 1 <= number <= 10_000:
            raise Refusal(400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive.")
        body, copied = request.body, "x-oss-copy-source" in request.headers
        if copied:
            body = self._copied(request).body
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("x-oss-copy-source-range", ""))
            body = body[int(span[1]) : int(span[2]) + 1] if span else body
        etag = f'"{hashlib.md5(body).hexdigest().upper()}"'
        self._upload(request).parts[number] = (etag, body)
        return copy_result("CopyPartResult", etag) if copied else Answer(200, headers={"ETag": etag})

    def _complete_upload(self, request: Request) -> Answer:
        upload = self._upload(request)
        asked = [
            (int(each.findtext("PartNumber") or 0), (each.findtext("ETag") or "").strip('"'))
            for each in ET.fromstring(request.body).iter("Part")
        ]
        if [number for number, _ in asked] != sorted({number for number, _ in asked}):
            raise Refusal(400, "InvalidPartOrder", "The list of parts was not in ascending order.")
        if not asked or any(upload.parts.get(number, ("",))[0].strip('"') != etag for number, etag in asked):
            message = (
                "One or more of the specified parts could not be found or the specified entity tag might not match."
            )
            raise Refusal(400, "InvalidPart", message)
        bodies = [upload.parts[number][1] for number, _ in asked]
        if any(len(body) < SMALLEST_PART for body in bodies[:-1]):
            raise Refusal(400, "EntityTooSmall", "Your proposed upload smaller than the minimum allowed size.")
        self._require_absent(request)
        etag = f'"{hashlib.md5(b"".join(bodies)).hexdigest().upper()}-{len(bodies)}"'
        self.server.objects[request.bucket, request.key] = Stored(body=b"".join(bodies), etag=etag, meta=upload.meta)
        del self.server.uploads[request.parameter("uploadId") or ""]
        answer = xml_answer(
            200,
            f"<CompleteMultipartUploadResult><Bucket>{request.bucket}</Bucket><Key>{escape(request.key)}</Key>"
            f"<ETag>{escape(etag)}</ETag></CompleteMultipartUploadResult>",
        )
        answer.headers["ETag"] = etag
        return answer

    def _abort_upload(self, request: Request) -> Answer:
        self._upload(request)
        del self.server.uploads[request.parameter("uploadId") or ""]
        return Answer(204)

    def _list_parts(self, request: Request) -> Answer:
        parts = "".join(
            f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(etag)}</ETag><Size>{len(body)}</Size>"
            f"<LastModified>{moment_of(time.time())}</LastModified></Part>"
            for number, (etag, body) in sorted(self._upload(request).parts.items())
        )
        return xml_answer(200, f"<ListPartsResult><IsTruncated>false</IsTruncated>{parts}</ListPartsResult>")

    def _list_uploads(self, request: Request) -> Answer:
        prefix = request.parameter("prefix") or ""
        most = int(request.parameter("max-uploads") or 1000)
        after = (request.parameter("key-marker") or "", request.parameter("upload-id-marker") or "\x7f")
        found = sorted(
            (upload.key, name)
            for name, upload in self.server.uploads.items()
            if upload.bucket == request.bucket and upload.key.startswith(prefix) and (upload.key, name) > after
        )
        more = len(found) > most
        page = found[:most]
        key, name = page[-1] if more else ("", "")
        uploads = "".join(
            f"<Upload><Key>{quote(key)}</Key><UploadId>{name}</UploadId><Initiated>{moment_of(time.time())}</Initiated>"
            "</Upload>"
            for key, name in page
        )
        return xml_answer(
            200,
            f"<ListMultipartUploadsResult><Bucket>{request.bucket}</Bucket><EncodingType>url</EncodingType>"
            f"<NextKeyMarker>{quote(key)}</NextKeyMarker><NextUploadIdMarker>{name}</NextUploadIdMarker>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{uploads}</ListMultipartUploadsResult>",
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


def _meta(request: Request) -> dict[str, str]:
    return {name: value for name, value in request.headers.items() if name.startswith("x-oss-meta-")}


def _folded(key: str, prefix: str, delimiter: str) -> str:
    """The key, or what it has in common with others up to the next delimiter."""
    rest = key.removeprefix(prefix)
    return prefix + rest.partition(delimiter)[0] + delimiter if delimiter and delimiter in rest else key


if __name__ == "__main__":
    Server(int(sys.argv[1]), Settings(**json.loads(sys.argv[2]))).serve_forever()
