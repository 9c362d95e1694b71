"""A stand-in for the metadata service of an EC2 instance (IMDSv2), which cannot be had outside Amazon's network."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.servers.http_stand_in import StandIn, stand_in

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

    class Handler(StandIn):
        def do_PUT(self) -> None:
            self._answer("token" if self.path == "/latest/api/token" else None)

        def do_GET(self) -> None:
            known = {_ROLES: ROLE, _ROLES + ROLE: json.dumps({"Code": "Success", **credentials})}
            allowed = self.headers.get("x-aws-ec2-metadata-token") == "token"
            self._answer(known.get(self.path) if allowed else None)

        def _answer(self, text: str | None) -> None:
            self.reply(404 if text is None else 200, (text or "").encode())

    with stand_in(Handler) as address:
        yield f"http://{address}/"
