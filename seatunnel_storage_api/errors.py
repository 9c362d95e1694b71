"""The error tree of the checkpoint storage. One root, two branches: what the caller did, and what the world did.

::

    CheckpointStorageError
    ├── StorageUsageError                 the caller, or the configuration, asks for something impossible
    │   ├── StorageConfigurationError     a key of the configuration is missing, wrong or contradicts another
    │   │   ├── NamespaceError            the namespace is not an absolute folder that ends with "/"
    │   │   └── UnknownStorageError       no installed plugin has this name
    │   ├── InvalidIdError                a job id, a number or a digest that no storage could hold
    │   ├── CheckpointConflictError       the same key was stored before with other content
    │   ├── AttachmentNotFoundError       no attachment has this digest
    │   └── StorageClosedError            the storage was used after ``close``
    └── StorageFailureError               the outside world did not do its part
        ├── StorageUnavailableError       may pass by itself: the only branch with ``retryable``
        ├── StorageAccessError            refused, and will be refused again until a person changes something
        ├── CheckpointCorruptedError      stored bytes are not what was stored
        ├── UnsupportedFormatError        intact, but written by a version that this one cannot read
        ├── StaleEpochError               another engine took the pipeline over, or the job was deleted
        ├── ManifestConflictError         another process claimed the job
        └── StoragePluginError            an installed plugin cannot be loaded

A message names the backend, the operation, the path and what to do about it; the cause is chained. No message holds
a secret.
"""

from seatunnel_storage_api.state import CheckpointInfo


class CheckpointStorageError(Exception):
    """The root of the tree. ``retryable`` says whether the same call, made again, may succeed."""

    retryable = False


class StorageUsageError(CheckpointStorageError):
    """What was asked for is not possible as it was asked."""


class StorageConfigurationError(StorageUsageError, ValueError):
    """A key of the configuration is missing, wrong or contradicts another one."""


class NamespaceError(StorageConfigurationError):
    """The namespace is not an absolute folder that ends with "/"."""


class UnknownStorageError(StorageConfigurationError, LookupError):
    """No installed plugin has this name."""


class InvalidIdError(StorageUsageError, ValueError):
    """A job id, a pipeline, an epoch, a checkpoint, a version or a digest is outside what a storage can hold."""


class CheckpointConflictError(StorageUsageError):
    """The same (job, pipeline, epoch, id) was stored before with other content. Nothing was overwritten."""


class AttachmentNotFoundError(StorageUsageError, LookupError):
    """The job has no attachment of this digest."""


class StorageClosedError(StorageUsageError):
    """The storage was used after ``close``."""


class StorageFailureError(CheckpointStorageError):
    """The outside world did not do its part."""


class StorageUnavailableError(StorageFailureError):
    """The storage did not answer, or not in time. Raised after a bounded number of retries."""

    retryable = True


class StorageAccessError(StorageFailureError):
    """The storage refused, and trying again cannot help: permissions, a read-only or unsuitable file system."""


class CheckpointCorruptedError(StorageFailureError):
    """Stored bytes are not what was stored: flipped, missing, extra or misplaced ones.

    ``info`` says which checkpoint is damaged; it is ``None`` for a manifest, an attachment or a file name.
    """

    def __init__(self, message: str, *, info: CheckpointInfo | None = None) -> None:
        super().__init__(message)
        self.info = info


class UnsupportedFormatError(StorageFailureError):
    """The object is intact, but a version of this library that is newer than the running one wrote it."""


class StaleEpochError(StorageFailureError):
    """A newer epoch's marker is there, or the caller's own is gone: another engine took the pipeline over, or the job
    was deleted. What the call put is void, and the caller must not commit."""


class ManifestConflictError(StorageFailureError):
    """This version of the job's manifest exists already: another process claimed the job."""


class StoragePluginError(StorageFailureError):
    """An installed plugin cannot be loaded, or is not what it should be."""
