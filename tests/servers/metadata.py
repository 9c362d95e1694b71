"""A stand-in for the metadata service of an EC2 instance (IMDSv2), which cannot be had outside Amazon's network."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

ROLE = "role-of-the-machine"
_ROLES = "/latest/meta-data/iam/security-credentials/"


@contextmanager
def metadata_service(credentials: Mapping[str, str]) -> Iterator[str]:
    """Hands out these credentials for as long as it is open.

    Args:
        credentials: ``AccessKeyId``, ``SecretAccessKey``, ``Token``, ``Expiration``.

    Yields:
        The URL for ``AWS_EC2_METADATA_SERVICE_ENDPOINT``.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self._answer("token" if self.path == "/latest/api/token" else None)

        def do_GET(self) -> None:
            known = {_ROLES: ROLE, _ROLES + ROLE: json.dumps({"Code": "Success", **credentials})}
            allowed = self.headers.get("x-aws-ec2-metadata-token") == "token"
            self._answer(known.get(self.path) if allowed else None)

        def _answer(self, text: str | None) -> None:
            body = (text or "").encode()
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keeps the tests' output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
