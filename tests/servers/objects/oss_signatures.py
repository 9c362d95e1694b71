"""Checks the signatures of Alibaba OSS, versions 1 and 4, from what arrived on the wire.

Written from the vendor's description of the two algorithms, not with the help of the client under test: a client that
signs wrongly must not find a server that is wrong in the same way.
"""

import base64
import calendar
import email.utils
import hashlib
import hmac
import time
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from attrs import field, frozen

LONGEST_SKEW_S = 900

_SUBRESOURCES = frozenset(
    ("bucketInfo", "continuation-token", "delete", "lifecycle", "partNumber", "security-token", "stat", "uploadId")
).union(("uploads", "versioning"))
"""Of the query parameters that version 1 signs, those that this server may meet; version 4 signs all."""


@frozen
class Refusal(Exception):  # noqa: N818 - it is no failure but an answer
    """What the server answers instead of an object."""

    status: int
    code: str
    message: str
    details: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True)
class Request:
    """One request, as it arrived."""

    method: str
    bucket: str
    key: str
    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    """Names in lower case."""

    body: bytes = field(repr=False)

    def parameter(self, name: str) -> str | None:
        return dict(self.query).get(name)


@frozen(kw_only=True)
class Credentials:
    """What one access key id needs to be believed."""

    secret: str
    token: str | None = None
    """The security token that must come along; ``None`` for keys that do not expire."""

    expired: bool = False


def signer(request: Request, known: Mapping[str, Credentials], region: str, now: float) -> str:
    """The access key id whose owner signed this request.

    Args:
        now: by the server's clock, in seconds since 1970.

    Raises:
        Refusal: nobody that is known did, or not for this moment, this region or these bytes.
    """
    authorization = request.headers.get("authorization", "")
    if authorization.startswith("OSS4-HMAC-SHA256 "):
        return _version_4(request, authorization, known, region, now)
    if authorization.startswith("OSS "):
        return _version_1(request, authorization, known, now)
    raise Refusal(403, "AccessDenied", "You have no right to access this object because of bucket acl.")


def _version_1(request: Request, authorization: str, known: Mapping[str, Credentials], now: float) -> str:
    key_id, _, signature = authorization.removeprefix("OSS ").partition(":")
    credentials = _credentials(request, key_id, known)
    date = request.headers.get("x-oss-date") or request.headers.get("date", "")
    parsed = email.utils.parsedate(date)
    _require_near(now, calendar.timegm(parsed) if parsed else 0)
    oss_headers = sorted(item for item in request.headers.items() if item[0].startswith("x-oss-"))
    signed = sorted(item for item in request.query if item[0] in _SUBRESOURCES or item[0].startswith("x-oss-"))
    resource = f"/{request.bucket}/{request.key}" if request.bucket else "/"
    if signed:
        resource += "?" + "&".join(f"{name}={value}" if value else name for name, value in signed)
    first = [request.method, *(request.headers.get(name, "") for name in ("content-md5", "content-type")), date]
    text = "\n".join([*first, *(f"{name}:{value}" for name, value in oss_headers), resource])
    digest = hmac.new(credentials.secret.encode(), text.encode(), hashlib.sha1).digest()
    _require_equal(base64.b64encode(digest).decode(), signature, key_id, text)
    return key_id


def _version_4(request: Request, authorization: str, known: Mapping[str, Credentials], region: str, now: float) -> str:
    fields = dict(
        part.strip().split("=", 1) for part in authorization.removeprefix("OSS4-HMAC-SHA256 ").split(",") if part
    )
    key_id, date, *scope = fields["Credential"].split("/")
    credentials = _credentials(request, key_id, known)
    moment = request.headers.get("x-oss-date", "")
    if scope != [region, "oss", "aliyun_v4_request"] or not moment.startswith(date):
        raise Refusal(400, "InvalidArgument", "Invalid signing region in Authorization header.")
    _require_near(now, calendar.timegm(time.strptime(moment, "%Y%m%dT%H%M%SZ")))
    more = sorted(filter(None, fields.get("AdditionalHeaders", "").lower().split(";")))
    canonical = _canonical_request(request, more)
    scope_text = "/".join([date, *scope])
    text = "\n".join(["OSS4-HMAC-SHA256", moment, scope_text, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"aliyun_v4{credentials.secret}".encode()
    for part in (date, *scope):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    expected = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    _require_equal(expected, fields["Signature"], key_id, canonical)
    return key_id


def _canonical_request(request: Request, more: Sequence[str]) -> str:
    always = ("content-type", "content-md5")
    headers = sorted(
        (name, value)
        for name, value in request.headers.items()
        if name.startswith("x-oss-") or name in always or name in more
    )
    path = quote(f"/{request.bucket}/{request.key}" if request.bucket else "/", safe="-_.~/")
    query = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in request.query)
    return "\n".join(
        [
            request.method,
            path,
            "&".join(f"{name}={value}" if value else name for name, value in query),
            "".join(f"{name}:{value.strip()}\n" for name, value in headers),
            ";".join(more),
            request.headers.get("x-oss-content-sha256", "UNSIGNED-PAYLOAD"),
        ]
    )


def _credentials(request: Request, key_id: str, known: Mapping[str, Credentials]) -> Credentials:
    credentials = known.get(key_id)
    if credentials is None:
        message = "The OSS Access Key Id you provided does not exist in our records."
        raise Refusal(403, "InvalidAccessKeyId", message, {"OSSAccessKeyId": key_id})
    if request.headers.get("x-oss-security-token") != credentials.token:
        raise Refusal(403, "InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records.")
    if credentials.expired:
        raise Refusal(403, "SecurityTokenExpired", "The security token you provided has expired.")
    return credentials


def _require_near(now: float, moment: float) -> None:
    if abs(now - moment) > LONGEST_SKEW_S:
        message = "The difference between the request time and the current time is too large."
        raise Refusal(403, "RequestTimeTooSkewed", message)


def _require_equal(expected: str, signature: str, key_id: str, text: str) -> None:
    """The real server, too, sends back what it signed: with the security token in it."""
    if not hmac.compare_digest(expected, signature):
        raise Refusal(
            403,
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match the signature you provided. "
            "Check your key and signing method.",
            {"OSSAccessKeyId": key_id, "SignatureProvided": signature, "StringToSign": text},
        )
