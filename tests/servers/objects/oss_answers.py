"""What the stand-in of OSS sends back."""

import base64
import time
from xml.sax.saxutils import escape

from attrs import define, field

from tests.servers.objects.oss_signatures import Refusal

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


@define
class Answer:
    """What goes back."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(factory=dict)


def copy_result(name: str, etag: str) -> Answer:
    moment = f"<LastModified>{moment_of(time.time())}</LastModified>"
    answer = xml_answer(200, f"<{name}>{moment}<ETag>{escape(etag)}</ETag></{name}>")
    answer.headers["ETag"] = etag  # where the vendor's client looks for it
    return answer


def refusal_of(refusal: Refusal) -> Answer:
    fields = {"Code": refusal.code, "Message": refusal.message, "RequestId": "0123456789ABCDEF01234567"}
    details = "".join(f"<{name}>{escape(value)}</{name}>" for name, value in {**fields, **refusal.details}.items())
    answer = xml_answer(refusal.status, f"<Error>{details}</Error>")
    answer.headers["x-oss-err"] = base64.b64encode(answer.body).decode()
    return answer


def xml_answer(status: int, text: str) -> Answer:
    return Answer(status, (_DECLARATION + text).encode(), {"Content-Type": "application/xml"})


def moment_of(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))
