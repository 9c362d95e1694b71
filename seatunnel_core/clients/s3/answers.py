"""Classification of S3 and connection errors as transient or permanent."""

import contextlib
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from botocore import exceptions as botocore_errors
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from seatunnel_storage_api.errors import StorageAccessError, StorageFailureError, StorageUnavailableError

_ACTIONS = {
    **dict.fromkeys(("PutObject", "CopyObject", "CreateMultipartUpload", "UploadPart"), "s3:PutObject"),
    **dict.fromkeys(("UploadPartCopy", "CompleteMultipartUpload"), "s3:PutObject"),
    **dict.fromkeys(("GetObject", "HeadObject"), "s3:GetObject"),
    **dict.fromkeys(("DeleteObject", "DeleteObjects"), "s3:DeleteObject"),
    "AbortMultipartUpload": "s3:AbortMultipartUpload",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "ListObjectsV2": "s3:ListBucket",
    "AssumeRole": "sts:AssumeRole",
}
"""Permission that each operation needs."""

_TOKEN = (
    "Get new temporary credentials for fs.s3a.session.token and its two keys, or set "
    "fs.s3a.aws.credentials.provider to a provider that renews them"
)
_REGION = "Set the bucket's region in fs.s3a.endpoint.region, and an endpoint of that region in fs.s3a.endpoint"

REFUSALS: Mapping[str, str] = {
    "NoSuchBucket": "the bucket does not exist. Create it, or correct s3.bucket and fs.s3a.endpoint",
    "InvalidBucketName": "the server rejects this bucket name. Correct s3.bucket",
    "InvalidAccessKeyId": (
        "the access key is unknown to the server. Correct fs.s3a.access.key, and check that fs.s3a.endpoint is "
        "the server that issued it"
    ),
    "SignatureDoesNotMatch": "the secret key does not belong to the access key. Correct fs.s3a.secret.key",
    "RequestTimeTooSkewed": "the clocks of this machine and of the server differ too much. Synchronize both with NTP",
    "ExpiredToken": f"the session token has expired. {_TOKEN}",
    "InvalidToken": f"the server does not accept the session token. {_TOKEN}",
    "AuthorizationHeaderMalformed": f"the requests are signed for the wrong region. {_REGION}",
    "PermanentRedirect": f"the bucket is in another region. {_REGION}",
    "IllegalLocationConstraintException": f"the bucket is in another region. {_REGION}",
    "NotImplemented": (
        "the server does not support a part of this request. Checkpoints need a server with conditional puts "
        "(If-None-Match): use a newer version of it, or another storage.type"
    ),
    "KeyTooLongError": "the key is too long for S3. Choose a shorter namespace",
}
"""Problem and remedy for permanent failures, by the error code of the response."""

_SAME = {
    "ExpiredTokenException": "ExpiredToken",
    "InvalidTokenId": "InvalidToken",
    "InvalidClientTokenId": "InvalidAccessKeyId",
    "UnrecognizedClientException": "InvalidAccessKeyId",
    "InvalidSecurity": "SignatureDoesNotMatch",
    "301": "PermanentRedirect",
}
"""Error codes of other servers and services, mapped to the equivalent S3 codes."""

_MAY_PASS: Mapping[str, str] = {
    "ConditionalRequestConflict": "another request for the same key was in progress. Try again",
    "ExistingObjectIsDirectory": "the folder was being removed by another request. Try again",
    "OperationAborted": "another request was in progress. Try again",
    "InsufficientStorage": "the server's disks are full. Free some space, or lower max-retained",
    "XMinioStorageFull": "the server's disks are full. Free some space, or lower max-retained",
    "XMinioAdminBucketQuotaExceeded": "the bucket's quota is used up. Raise it, or lower max-retained",
    "QuotaExceeded": "the bucket's quota is used up. Raise it, or lower max-retained",
    "RequestTimeout": "the server did not receive the rest of the request. Check the network, then try again",
    "BadDigest": "the data changed in transit. Check the network, then try again",
    "XAmzContentSHA256Mismatch": "the data changed in transit. Check the network, then try again",
    "IncompleteBody": "the request was cut off in transit. Check the network, then try again",
    "404": (  # boto3's code if the server sent none, as with a bad network
        "without details, so the response was truncated, or another server sent it. Check the network and "
        "any proxy in front of fs.s3a.endpoint, then try again"
    ),
    "SlowDown": (
        "the request rate is too high for the server. Raise the checkpoint interval, or spread jobs over more buckets"
    ),
}

_PASSING_STATUS = frozenset((408, 429, 500, 502, 503, 504, 507, 509))


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Convert every error of boto3 to ``StorageUnavailableError`` or ``StorageAccessError``."""
    try:
        yield
    except ClientError as error:
        raise refusal(code_of(error), status_of(error), error.operation_name, _region_of(error)) from error
    except BotoCoreError as error:
        raise _disconnection(error) from error
    except ResponseParserError as error:
        raise StorageUnavailableError(
            "the response is not a valid S3 response. Check that fs.s3a.endpoint is an S3 server, and any proxy in "
            "front of it"
        ) from error
    except (HTTPError, ConnectionError) as error:  # boto3 does not wrap these while it reads a body
        raise _broken(type(error)) from error


def code_of(error: ClientError) -> str:
    """Return the error code of a response."""
    return str(error.response.get("Error", {}).get("Code", ""))


def status_of(error: ClientError) -> int:
    """Return the HTTP status of a response, or 0 if there is no response."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def require_deleted(answer: Mapping[str, Any]) -> None:
    """Raise ``StorageFailureError`` if a deletion in a batch failed although the response has status 200."""
    for error in answer.get("Errors", ()):
        if error["Code"] != "NoSuchKey":  # from versitygw, if another client deletes the same key concurrently
            raise refusal(error["Code"], 0, "DeleteObjects")


def _region_of(error: ClientError) -> str:
    """Return the region of the bucket according to the response, or ``""``."""
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return str(error.response.get("Error", {}).get("Region") or headers.get("x-amz-bucket-region") or "")


def refusal(code: str, status: int, operation: str, region: str = "") -> StorageFailureError:
    """Return the error for a failure response; ``status`` is 0 for a single key in a batch of deletions."""
    known = _SAME.get(code, code)
    words = [str(status)] if status else []
    words += [code] if code not in ("", *words) else []
    answer = f"the server answered {' '.join(words)} to {operation}"
    if known in REFUSALS:
        named = f". The bucket's region is {region}" if region and _REGION in REFUSALS[known] else ""
        return StorageAccessError(f"{answer}: {REFUSALS[known]}{named}")
    if known in _MAY_PASS:
        return StorageUnavailableError(f"{answer}: {_MAY_PASS[known]}")
    if status in _PASSING_STATUS or known in ("InternalError", "ServiceUnavailable"):
        return StorageUnavailableError(f"{answer}. Check the state of the server, then try again")
    if status in (401, 403) or known == "AccessDenied":
        action = _ACTIONS.get(operation, operation)
        return StorageAccessError(f"{answer}: the credentials lack the permission. Grant them {action}{_on(action)}")
    return StorageAccessError(f"{answer}. Look up this code in the server's documentation and log")


def _on(action: str) -> str:
    """Return the resource that a policy must list for an action."""
    if action.startswith("s3:ListBucket"):
        return " on the bucket itself (arn:aws:s3:::<bucket>)"
    return " on all keys of the namespace (arn:aws:s3:::<bucket>/<namespace>*)" if action.startswith("s3:") else ""


def _disconnection(error: BotoCoreError) -> StorageFailureError:
    """Return the error for a request without a response. boto3's message is omitted, as it may contain a password."""
    if isinstance(error, botocore_errors.SSLError):
        return _without_tls(error)
    if isinstance(error, botocore_errors.ProxyConnectionError):
        return StorageUnavailableError(
            "the proxy rejected the request. Check fs.s3a.proxy.host, fs.s3a.proxy.port, "
            "fs.s3a.proxy.username and fs.s3a.proxy.password"
        )
    if isinstance(error, botocore_errors.EndpointConnectionError | botocore_errors.ConnectTimeoutError):
        return _unreachable(error)
    if isinstance(error, botocore_errors.HTTPClientError | botocore_errors.IncompleteReadError):
        return _broken(type(error))
    if isinstance(error, _LACKING | _FAILING):
        kind = StorageAccessError if isinstance(error, _LACKING) else StorageUnavailableError
        return kind(
            f"the credentials are not available ({type(error).__name__}). Check fs.s3a.aws.credentials.provider "
            "and the settings that it needs"
        )
    return StorageAccessError(
        f"boto3 did not send the request, because it is invalid ({type(error).__name__}). Check the keys in "
        "plugin-config"
    )


_LACKING = botocore_errors.NoCredentialsError | botocore_errors.PartialCredentialsError
_FAILING = botocore_errors.CredentialRetrievalError | botocore_errors.MetadataRetrievalError


def _broken(kind: type[Exception]) -> StorageUnavailableError:
    return StorageUnavailableError(
        f"the connection broke before the response was complete ({kind.__name__}). Check that the server is up, "
        "that fs.s3a.endpoint has the right protocol (http or https), and the network, then try again"
    )


def _without_tls(error: BotoCoreError) -> StorageFailureError:
    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return StorageAccessError(
            "the server's certificate is not trusted. Set fs.s3a.ssl.ca-file to a PEM file with the authority's "
            "certificate, and use the host name of the certificate in fs.s3a.endpoint"
        )
    if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER_FAILURE" in text:
        return StorageAccessError(
            "the server does not speak TLS. Set fs.s3a.endpoint with http://, or fs.s3a.connection.ssl.enabled: false"
        )
    return StorageUnavailableError("the encrypted connection broke. Check the server and the network, then try again")


def _unreachable(error: BotoCoreError) -> StorageUnavailableError:
    if _is_due_to(error, socket.gaierror):
        return StorageUnavailableError(
            "the host of the endpoint cannot be resolved. Correct fs.s3a.endpoint; for a server other than Amazon S3, "
            "set fs.s3a.path.style.access: true, so that the bucket is not part of the host; or check this "
            "machine's DNS"
        )
    return StorageUnavailableError(
        "no server responds at the endpoint. Check that the server is up, that fs.s3a.endpoint is correct, and "
        "that no firewall blocks the connection"
    )


def _is_due_to(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None
