"""Classification of OSS errors as transient or permanent, by error code."""

import contextlib
from collections.abc import Iterator

import requests
from oss2.exceptions import ClientError, InconsistentError, OssError, RequestError

from seatunnel_storage_api.errors import StorageAccessError, StorageUnavailableError

_PASSING_STATUSES = frozenset({408, 429})
_PASSING_CODES = frozenset({"RequestTimeout", "InvalidDigest", "QpsLimitExceeded", "OperationAborted"})

_KEYS = "set fs.oss.accessKeyId and fs.oss.accessKeySecret as shown in the console"
_REMEDIES = {
    "NoSuchBucket": "Create the bucket, or correct oss.bucket and fs.oss.endpoint",
    "InvalidAccessKeyId": f"The access key id is unknown, or its security token is missing: {_KEYS}, and "
    "fs.oss.securityToken if they are temporary",
    "SignatureDoesNotMatch": f"The secret does not belong to this access key id: {_KEYS}",
    "AccessDenied": "Grant oss:PutObject, oss:GetObject, oss:ListObjects and oss:DeleteObject on the bucket to this "
    "user, and use the endpoint of the bucket's own region",
    "SecurityTokenExpired": (
        "Set a new fs.oss.securityToken together with its keys, or use a provider that renews it "
        "(fs.oss.credentials.provider: InstanceProfileCredentialsProvider)"
    ),
    "InvalidSecurityToken": "Set fs.oss.securityToken together with the two keys that were issued with it",
    "RequestTimeTooSkewed": "Correct this machine's clock: OSS accepts a difference of 15 minutes",
    "InvalidArgument": "If the region is invalid, correct fs.oss.region: it must be the bucket's region, for example "
    "cn-hangzhou",
    "FileImmutable": "The bucket has a retention policy that prevents removal: use a bucket in which checkpoints "
    "can be removed",
    "UserDisable": "The account is disabled: check its billing",
    "InvalidObjectName": "Choose a valid namespace for OSS: at most 800 bytes, and not starting with a backslash",
}


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Convert the client's errors to ``StorageUnavailableError`` (retryable) or ``StorageAccessError`` (permanent)."""
    try:
        yield
    except OssError as cause:
        forget_secrets(cause)
        raise _meaning(cause) from cause
    except requests.RequestException as cause:  # the connection broke inside a response
        raise StorageUnavailableError(f"{cause}. Check the network, then try again") from cause


def forget_secrets(error: OssError) -> None:
    """Remove secrets from an error. If a signature is wrong, OSS returns all signed data, including tokens."""
    error.details = {name: error.details[name] for name in ("Code", "Message", "EC") if name in error.details}
    if error.details:
        error.body = b""


def _meaning(error: OssError) -> StorageUnavailableError | StorageAccessError:
    if isinstance(error, RequestError):
        return StorageUnavailableError(
            f"{error.exception}. Check that fs.oss.endpoint is correct and can be reached from this machine"
        )
    if isinstance(error, InconsistentError):
        return StorageUnavailableError(f"{error.body}. The data was damaged in transit; try again")
    if isinstance(error, ClientError):
        return StorageAccessError(f"{error.body}. Correct the configuration of OSS in plugin-config")
    if not error.code:
        return StorageUnavailableError(
            f"OSS answers {error.status}, but the response body was lost in transit (request "
            f"{error.request_id}). Check the network and its proxies, then try again"
        )
    said = f"OSS answers {error.status} {error.code}: {error.message.rstrip('.')} (request {error.request_id})"
    if error.status >= 500 or error.status in _PASSING_STATUSES or error.code in _PASSING_CODES:
        return StorageUnavailableError(f"{said}. Try again later")
    return StorageAccessError(f"{said}. {_REMEDIES.get(error.code, 'Look up this code in the OSS documentation')}")
