"""Assumed role, configured with Hadoop's keys ``fs.s3a.assumed.role.…``."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from botocore.credentials import Credentials

from seatunnel_core.clients.s3.answers import translated
from seatunnel_core.clients.s3.client import endpoint_of, open_client, region_of
from seatunnel_storage_api.credentials import Credentials as Handed
from seatunnel_storage_api.errors import StorageConfigurationError

ARN = "fs.s3a.assumed.role.arn"
SESSION_NAME = "fs.s3a.assumed.role.session.name"
DURATION = "fs.s3a.assumed.role.session.duration"
ENDPOINT = "fs.s3a.assumed.role.sts.endpoint"
REGION = "fs.s3a.assumed.role.sts.endpoint.region"
EXTERNAL_ID = "fs.s3a.assumed.role.external.id"
POLICY = "fs.s3a.assumed.role.policy"

DEFAULT_SESSION_NAME = "seatunnel"
DEFAULT_DURATION = "1h"
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def role_provider(configuration: Mapping[str, str], source: Credentials) -> Callable[[], Handed]:
    """Return a function that assumes the role on each call, with the credentials of ``source``."""
    wanted = request(configuration)
    client = open_client(
        "sts",
        source,
        configuration,
        endpoint=endpoint_of(configuration, ENDPOINT),
        region=configuration.get(REGION) or region_of(configuration),
    )

    def take() -> Handed:
        with translated():
            answer = client.assume_role(**wanted)["Credentials"]
        return Handed(
            access_key=answer["AccessKeyId"],
            secret_key=answer["SecretAccessKey"],
            session_token=answer["SessionToken"],
            expires_at=answer["Expiration"],
        )

    return take


def request(configuration: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of the AssumeRole request."""
    arn = configuration.get(ARN)
    if not arn:
        raise StorageConfigurationError(
            f"AssumedRoleCredentialProvider needs {ARN}: set it to the ARN of the role, for example "
            "arn:aws:iam::123456789012:role/seatunnel"
        )
    optional = {"ExternalId": configuration.get(EXTERNAL_ID), "Policy": configuration.get(POLICY)}
    return {
        "RoleArn": arn,
        "RoleSessionName": configuration.get(SESSION_NAME) or DEFAULT_SESSION_NAME,
        "DurationSeconds": _duration_s(configuration.get(DURATION) or DEFAULT_DURATION),
        **{name: value for name, value in optional.items() if value},
    }


def _duration_s(written: str) -> int:
    match = re.fullmatch(r"([0-9]{1,6})([smh]?)", written.strip())
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if not 15 * 60 <= seconds <= 12 * 3600:
        raise StorageConfigurationError(
            f"{DURATION} is {written!r}; expected 15m to 12h, for example {DEFAULT_DURATION}"
        )
    return seconds
