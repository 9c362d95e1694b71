"""The objects of a bucket as files: listed by the beginnings of their keys, read in ranges, published by completing an
upload in parts. No byte goes through the driver.
"""

import errno
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar

from attrs import frozen

from seatunnel_core.connectors.file.filesystem import Entry, FileVersion, OpenFile, StagedOutput
from seatunnel_core.connectors.file.remote import RemoteFileSystem, RemoteOpenFile
from seatunnel_core.connectors.file.rename import TargetExistsError
from seatunnel_core.connectors.file.s3.client import Connection, told
from seatunnel_core.connectors.file.s3.uploads import MARK, S3Output, Upload, mark, uploads_of
from seatunnel_core.errors import SourceChangedError, SourceError

logger = logging.getLogger("seatunnel.connectors")

_MOST_DELETED = 1000
"""In one request."""

_FETCHES = 3
"""How often a range is asked for whose bytes do not come to an end."""


@frozen(kw_only=True)
class S3FileSystem(RemoteFileSystem):
    """One bucket, as one user."""

    bucket: str
    connection: Connection
    gone_is_published: bool = False
    """What the user says of an upload and an object that are both gone."""

    has_folders: ClassVar[bool] = False
    gives_receipts: ClassVar[bool] = True
    task_modules: ClassVar[tuple[str, ...]] = ("boto3",)

    @property
    def top(self) -> str:  # type: ignore[override]
        return f"s3://{self.bucket}"

    @property
    def schemes(self) -> tuple[str, ...]:  # type: ignore[override]
        return f"s3a://{self.bucket}", f"s3n://{self.bucket}"

    @property
    def client(self) -> Any:
        return self.connection.client()

    def key(self, path: str) -> str:
        return path[len(self.top) + 1 :]

    def _prefix(self, folder: str) -> str:
        key = self.key(folder).rstrip("/")
        return f"{key}/" if key else ""

    # -- listing and reading --------------------------------------------------------------------------------------

    def version(self, path: str) -> FileVersion | None:
        key = self.key(path)
        if not key or key.endswith("/"):
            return None
        try:
            with told(path):
                found = self.client.head_object(Bucket=self.bucket, Key=key)
        except FileNotFoundError:
            return None
        except PermissionError:  # without a word: a listing that is refused says why
            self.is_folder(path)
            raise
        return _version(path, found["ContentLength"], found)

    def versions(self, folder: str, *, recursive: bool) -> Iterator[FileVersion]:
        for page in self._pages(folder, recursive=recursive):
            for found in page.get("Contents", ()):
                if not found["Key"].endswith("/"):  # what some programs leave in the place of a folder
                    yield _version(f"{self.top}/{found['Key']}", found["Size"], found)

    def _pages(self, folder: str, *, recursive: bool) -> Iterator[Mapping[str, Any]]:
        asked = {"Bucket": self.bucket, "Prefix": self._prefix(folder), **({} if recursive else {"Delimiter": "/"})}
        more: dict[str, Any] | None = {}
        while more is not None:
            with told(folder):
                page = self.client.list_objects_v2(**asked, **more)
            yield page
            more = {"ContinuationToken": page["NextContinuationToken"]} if page.get("IsTruncated") else None

    def open(self, version: FileVersion) -> OpenFile:
        return _S3OpenFile(self, version)

    # -- a target -------------------------------------------------------------------------------------------------

    def is_folder(self, path: str) -> bool:
        with told(path):
            found = self.client.list_objects_v2(Bucket=self.bucket, Prefix=self._prefix(path), MaxKeys=1)
        return bool(found.get("Contents"))

    def exists(self, path: str) -> bool:
        return self.version(path) is not None

    def entries(self, folder: str) -> Sequence[Entry]:
        """Of a folder that is not there nothing: it would be one that holds nothing yet."""
        found: list[Entry] = []
        for page in self._pages(folder, recursive=False):
            keys = [(each["Prefix"].rstrip("/"), True) for each in page.get("CommonPrefixes", ())]
            keys += [(each["Key"], False) for each in page.get("Contents", ()) if not each["Key"].endswith("/")]
            found += [_entry(f"{self.top}/{key}", is_folder=is_folder) for key, is_folder in keys]
        return found

    def folders(self, root: str, without: str = "") -> Iterator[tuple[str, list[Entry]]]:
        """In one listing. A folder may come more than once."""
        skipped = f"{root}/{without}/"
        paths = (version.path for version in self.versions(root, recursive=True))
        kept = (path for path in paths if not without or not path.startswith(skipped))
        for folder, of_folder in groupby(kept, key=lambda path: path.rpartition("/")[0]):
            yield folder, [_entry(path, is_folder=False) for path in of_folder]

    def remove(self, path: str) -> bool:
        """The server does not say whether there was something; who asks has just seen it."""
        with told(path):
            self.client.delete_object(Bucket=self.bucket, Key=self.key(path))
        return True

    def remove_folder(self, path: str) -> None:
        for page in self._pages(path, recursive=True):
            keys = [found["Key"] for found in page.get("Contents", ())]
            for start in range(0, len(keys), _MOST_DELETED):
                self._delete(path, keys[start : start + _MOST_DELETED])

    def _delete(self, path: str, keys: Sequence[str]) -> None:
        with told(path):
            wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
            found = self.client.delete_objects(Bucket=self.bucket, Delete=wanted)
        for refused in found.get("Errors", ()):  # of which botocore raises nothing
            words = f"the server refuses it: {refused.get('Code')}: {refused.get('Message', '')}"
            raise PermissionError(errno.EACCES, words, f"{self.top}/{refused.get('Key')}")

    # -- staging and publishing -----------------------------------------------------------------------------------

    def make_staging(self, folder: str, root: str) -> None:
        """There is nothing to make; but the bucket has to be there, and a rule of it may take what is staged away."""
        self.is_folder(folder)
        for days in self._days_of_uploads(self._prefix(root)):
            logger.warning(
                "the bucket %s has a rule that ends uploads %d days after they began: what is staged for longer than "
                "that, because a job stands still, is lost. Let the rule leave out %s, or wait for longer",
                self.bucket,
                days,
                root,
            )

    def _days_of_uploads(self, prefix: str) -> list[int]:
        try:
            with told(self.top):
                rules = self.client.get_bucket_lifecycle_configuration(Bucket=self.bucket).get("Rules", ())
        except OSError:  # there are none, or it may not be asked, or the server does not know them
            return []
        found = []
        for rule in rules:
            covered = str(rule.get("Filter", {}).get("Prefix", rule.get("Prefix", "")))
            ends = rule.get("AbortIncompleteMultipartUpload", {}).get("DaysAfterInitiation")
            if ends and rule.get("Status") == "Enabled" and (prefix.startswith(covered) or covered.startswith(prefix)):
                found.append(int(ends))
        return found

    def leave_note(self, path: str) -> None:
        with told(path):
            self.client.put_object(Bucket=self.bucket, Key=self.key(path), Body=b"")

    def stage(self, staged: str, target: str) -> StagedOutput:
        return S3Output(self.client, self.bucket, self.key(target), self.key(staged), staged)

    def publish(self, staged: str, target: str, receipt: Mapping[str, Any]) -> None:
        """The note says whether something is staged: of an upload that is gone some servers say that it was completed,
        as long as there is an object, be it whose it may. Where the note is there and the object is what was staged,
        the step was done: by a request whose answer was lost, or by a process that was killed before it removed the
        note.
        """
        if self.version(staged) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), staged)
        upload = Upload.of(receipt)
        parts = [{"PartNumber": number, "ETag": etag} for number, etag in enumerate(upload.etags, 1)]
        try:
            with told(target):
                self.client.complete_multipart_upload(
                    Bucket=self.bucket,
                    Key=self.key(target),
                    UploadId=upload.id,
                    MultipartUpload={"Parts": parts},
                    IfNoneMatch="*",
                )
        except (FileExistsError, FileNotFoundError) as error:
            if not self._is(staged, target, upload):
                if isinstance(error, FileNotFoundError):
                    raise
                raise TargetExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target) from None
        try:
            self.remove(staged)
        except OSError:  # a sweep takes it
            return

    def _is(self, staged: str, target: str, upload: Upload) -> bool | None:
        """Whether the object is what was staged; ``None`` when there is none."""
        try:
            with told(target):
                found = self.client.head_object(Bucket=self.bucket, Key=self.key(target))
        except FileNotFoundError:
            return None
        return bool(found.get("Metadata", {}).get(MARK) == mark(staged) and found["ContentLength"] == upload.size)

    def why_unknown(self, staged: str, target: str, receipt: Mapping[str, Any]) -> str:
        upload = Upload.of(receipt)
        found = self._is(staged, target, upload)
        if found or (found is None and self.gone_is_published):
            return ""
        if found is None:
            return (
                f"the upload that was to become {target} is gone, and so is {target}: either it was published and "
                "somebody took it away since, or the upload came to its end first, by a rule of the bucket or by hand, "
                "and its rows are lost. If you know that they were published, write missing_upload = published"
            )
        return f"{target} is there and is another object than the one that was staged as {staged}; move it away"

    def discard(self, staged: str) -> bool:
        client, note = self.client, self.key(staged)
        try:
            with told(staged):
                content = client.get_object(Bucket=self.bucket, Key=note)["Body"].read()
        except FileNotFoundError:
            return False
        with told(staged):
            for key, upload in list(uploads_of(client, self.bucket, note, content)):
                self._abort(key, upload)
        return self.remove(staged)

    def _abort(self, key: str, upload: str) -> None:
        try:
            with told(f"{self.top}/{key}"):
                self.client.abort_multipart_upload(Bucket=self.bucket, Key=key, UploadId=upload)
        except FileNotFoundError:  # it was completed, or another process was faster
            return


class _S3OpenFile(RemoteOpenFile):
    """Every range is asked for with the ETag of the listing, so no byte of another version is ever read."""

    def __init__(self, files: S3FileSystem, version: FileVersion) -> None:
        super().__init__(version)
        self._files = files
        try:
            self._require(files.version(version.path))
        except OSError as error:
            raise self._failed(error) from error

    def fetch(self, start: int, end: int) -> bytes:
        for attempt in range(1, _FETCHES + 1):
            try:
                with told(self.version.path):
                    found = self._files.client.get_object(
                        Bucket=self._files.bucket,
                        Key=self._files.key(self.version.path),
                        Range=f"bytes={start}-{end - 1}",
                        IfMatch=self.version.etag,
                    )
                    return bytes(found["Body"].read())
            except FileExistsError:
                raise self.changed("it was written again") from None
            except OSError as error:
                if attempt == _FETCHES or error.errno != errno.EIO:
                    raise self._failed(error) from error
        raise AssertionError("the last attempt raises")

    def check(self) -> None:
        """Each range was of the version."""

    def _require(self, now: FileVersion | None) -> None:
        if now is None:
            raise self.changed("it is not there any more")
        if (now.size, now.etag) != (self.version.size, self.version.etag):
            raise self.changed(f"it had {self.version.size} bytes and now has {now.size}, or was written again")

    def _failed(self, error: OSError) -> SourceError | SourceChangedError:
        if isinstance(error, FileNotFoundError):
            return self.changed("it is not there any more")
        found = SourceError(f"{self.version.path} cannot be read: {error.strerror or error}")
        found.retryable = error.errno == errno.EIO
        return found


def _version(path: str, size: int, found: Mapping[str, Any]) -> FileVersion:
    # A listing may have parts of a second, and what tells of one object has none.
    seconds = int(found["LastModified"].timestamp())
    return FileVersion(path=path, size=size, mtime_ns=seconds * 1_000_000_000, etag=found["ETag"])


def _entry(path: str, *, is_folder: bool) -> Entry:
    return Entry(name=path.rpartition("/")[2], path=path, is_folder=is_folder)
