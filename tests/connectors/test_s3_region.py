"""A bucket in another region: the message names the region, for the files of a job and for checkpoints alike."""

import pytest

pytest.importorskip("botocore")
from botocore.exceptions import ClientError

from seatunnel_core.connectors.filesystems.s3.client import os_errors
from seatunnel_storage_api.errors import StorageAccessError
from seatunnel_storage_clients.s3.answers import translated


def answered(status: int, code: str, *, body: dict[str, str] | None = None, header: str = "") -> ClientError:
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": {"x-amz-bucket-region": header} if header else {}}
    return ClientError(
        {"Error": {"Code": code, "Message": "no", **(body or {})}, "ResponseMetadata": metadata}, "HeadBucket"
    )


OTHERS = [
    answered(400, "AuthorizationHeaderMalformed", body={"Region": "eu-west-3"}),
    answered(301, "PermanentRedirect", header="eu-west-3"),
    answered(301, "301", header="eu-west-3"),  # HEAD has no body
]


@pytest.mark.parametrize("answer", OTHERS)
def test_files_name_the_region_and_its_key(answer: ClientError) -> None:
    with (
        pytest.raises(OSError, match=r"is in the region eu-west-3: write it as fs\.s3a\.endpoint\.region"),
        os_errors("/b"),
    ):
        raise answer


@pytest.mark.parametrize("answer", OTHERS)
def test_checkpoints_name_the_region_and_its_key(answer: ClientError) -> None:
    with pytest.raises(StorageAccessError, match=r"fs\.s3a\.endpoint\.region.* region is eu-west-3"), translated():
        raise answer


def test_a_server_that_does_not_name_it_is_answered_with_the_key() -> None:
    with pytest.raises(OSError, match=r"in another region: write it as fs\.s3a\.endpoint\.region"), os_errors("/b"):
        raise answered(400, "AuthorizationHeaderMalformed")
