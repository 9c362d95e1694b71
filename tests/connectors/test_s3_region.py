"""A bucket in another region: the message names the region, for the files of a job and for checkpoints alike."""

import pytest

pytest.importorskip("botocore")
from botocore.exceptions import ClientError

from seatunnel_core.clients.s3.answers import translated
from seatunnel_core.connectors.filesystems.s3.store import S3Store
from seatunnel_storage_api.errors import StorageAccessError


def answered(status: int, code: str, *, body: dict[str, str] | None = None, header: str = "") -> ClientError:
    metadata = {"HTTPStatusCode": status, "HTTPHeaders": {"x-amz-bucket-region": header} if header else {}}
    return ClientError(
        {"Error": {"Code": code, "Message": "no", **(body or {})}, "ResponseMetadata": metadata}, "HeadBucket"
    )


def asked(answer: ClientError) -> None:
    """A request of a file connector that gets this response."""

    def question(_: object) -> None:
        raise answer

    keys = {"fs.s3a.access.key": "id", "fs.s3a.secret.key": "secret"}
    S3Store(bucket="b", configuration=keys)._ask("", question)


OTHERS = [
    answered(400, "AuthorizationHeaderMalformed", body={"Region": "eu-west-3"}),
    answered(301, "PermanentRedirect", header="eu-west-3"),
    answered(301, "301", header="eu-west-3"),  # HEAD has no body
]


@pytest.mark.parametrize("answer", OTHERS)
def test_files_name_the_region_and_its_key(answer: ClientError) -> None:
    with pytest.raises(OSError, match=r"fs\.s3a\.endpoint\.region.* region is eu-west-3"):
        asked(answer)


@pytest.mark.parametrize("answer", OTHERS)
def test_checkpoints_name_the_region_and_its_key(answer: ClientError) -> None:
    with pytest.raises(StorageAccessError, match=r"fs\.s3a\.endpoint\.region.* region is eu-west-3"), translated():
        raise answer


def test_a_server_that_does_not_name_it_is_answered_with_the_key() -> None:
    with pytest.raises(OSError, match=r"for the wrong region\. .*fs\.s3a\.endpoint\.region"):
        asked(answered(400, "AuthorizationHeaderMalformed"))
