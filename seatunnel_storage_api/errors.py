"""Exception hierarchy of the checkpoint storage: one root, with branches for misuse and external failures.

::

    CheckpointStorageError
    ├── StorageUsageError                 the caller or the configuration requests something invalid
    │   ├── StorageConfigurationError     a key of the configuration is missing, wrong or contradicts another
    │   │   ├── NamespaceError            the namespace is not an absolute folder that ends with "/"
    │   │   └── UnknownStorageError       no installed plugin has this name
    │   ├── InvalidIdError                a job ID, number or digest is not valid in a storage
    │   ├── CheckpointConflictError       the same key was stored before with other content
    │   ├── AttachmentNotFoundError       no attachment has this digest
    │   └── StorageClosedError            the storage was used after ``close``
    └── StorageFailureError               an external failure
        ├── StorageUnavailableError       transient: the only branch with ``retryable``
        ├── StorageAccessError            access denied until permissions or configuration change
        ├── CheckpointCorruptedError      stored data is damaged
        ├── UnsupportedFormatError        intact, but written by a version that this one cannot read
        ├── StaleEpochError               another engine has taken over the pipeline, or the job was deleted
        ├── ManifestConflictError         another process claimed the job
        └── StoragePluginError            an installed plugin cannot be loaded

A message contains the storage, the operation, the path and the remedy; the cause is chained. No message contains a
secret.

Each class has a ``code``, which ``seatunnel help CODE`` explains with the class's docstring.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # attrs, which makes the values, costs several times what the errors do
    from seatunnel_storage_api.state import CheckpointInfo


def code_of(error: type[Exception]) -> str:
    """Return the code of an error class, built from the words of its name: ``STALE-EPOCH`` for ``StaleEpochError``.

    The word ``Error`` is omitted unless only one other word would remain: ``NamespaceError`` has ``NAMESPACE-ERROR``.
    """
    words = re.findall("[A-Z][a-z]+", error.__name__)
    return "-".join(words[:-1] if len(words) > 2 else words).upper()


class CheckpointStorageError(Exception):
    """A request to the checkpoint storage failed, and no more specific code applies.

    What the engine did: depends on the plugin that raised it. The message describes the failed operation.

    What to do: follow the message. If it does not help, report it to the plugin's maintainer.
    """

    code = "CHECKPOINT-STORAGE"
    """Stable code for users and programs. A plugin's class has the code of its nearest ancestor, or defines its own."""

    retryable = False
    """True if the same call may succeed when it is repeated."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ == __name__:
            cls.code = code_of(cls)


class StorageUsageError(CheckpointStorageError):
    """A request to the checkpoint storage is invalid.

    What the engine did: it rejected the operation. Nothing was stored or removed.

    What to do: follow the message; usually a value is out of range.

    Message: on_corrupted is '…', expected 'raise' or 'previous'
    """


class StorageConfigurationError(StorageUsageError, ValueError):
    """A key in the configuration of the checkpoint storage is missing, wrong or contradicts another one.

    What the engine did: nothing. The job was not started, and no row moved.

    Retried: no, because the result would be the same. The command ends with exit code 2.

    What to do: correct the key under `checkpoint.storage` in `seatunnel.yaml`, or in the job's own storage. Then
    verify it with `seatunnel --check -c FILE`; `seatunnel help options` lists the keys.

    Message: max-retained is '0', expected a whole number of at least 1: write max-retained: 3 to keep the three newest
    checkpoints of each pipeline
    """


class NamespaceError(StorageConfigurationError):
    """The namespace is not an absolute path that ends with "/".

    What the engine did: nothing. The job was not started, and no row moved.

    Retried: no, because the result would be the same. The command ends with exit code 2.

    What to do: correct the namespace as shown in the message. Make sure that it is the folder of the existing jobs;
    jobs in other folders are not found.

    Message: the namespace '…' must end with "/": write '…/'
    """


class UnknownStorageError(StorageConfigurationError, LookupError):
    """No installed plugin provides a checkpoint storage with this name.

    What the engine did: nothing. The job was not started, and no row moved.

    Retried: no, because the result would be the same. The command ends with exit code 2.

    What to do: correct `checkpoint.storage.type`, or install the plugin into the Python that runs the engine.
    `seatunnel plugins` lists the installed storages.

    Message: no installed plugin is a checkpoint storage named '…'; installed: …. Did you mean '…'? …
    """


class InvalidIdError(StorageUsageError, ValueError):
    """A job ID, pipeline, epoch, checkpoint, version or digest is not valid.

    It is too long or too large, or contains unsupported characters.

    What the engine did: it rejected the operation. Nothing was stored or removed.

    What to do: use the ID as listed by `seatunnel checkpoints list`, or choose one that the message allows.

    Message: the job id '…' cannot be used as a folder name: use 1 to 128 characters from A-Z a-z 0-9 . _ -,
    other than "." or ".."
    """


class CheckpointConflictError(StorageUsageError):
    """A checkpoint with the same job, pipeline, epoch and ID was stored before with different content.

    What the engine did: it overwrote nothing. The checkpoint that was stored first is valid.

    What to do: if a running job reports this, two engines have claimed the same epoch, which the storage must prevent:
    stop both, check the guarantees of the storage (`seatunnel help promises`), and report the error. If `seatunnel
    checkpoints copy` reports it, the destination contains another job with this ID: copy to another namespace.

    Message: cannot put …: checkpoint … of pipeline … of job '…' exists with different content. Nothing was overwritten;
    store it under the next id
    """


class AttachmentNotFoundError(StorageUsageError, LookupError):
    """A checkpoint refers to an attachment that contains a source's splits, but the attachment does not exist.

    What the engine did: it did not restore the pipeline, because without the splits it could read different rows.

    What to do: check whether the job was deleted, or its files were removed manually; restore them from a copy of the
    namespace. Otherwise start a new job with a new ID and an empty target.

    Message: cannot read …: job '…' does not have this attachment. An attachment is removed with its job: check that
    the job was not deleted and that the namespace is correct
    """


class StorageClosedError(StorageUsageError):
    """The storage was used after it was closed.

    What the engine did: it rejected the operation. Nothing was stored or removed.

    What to do: in your own program, open the storage again. If the engine reports this error, it is a bug: please
    report it.

    Message: cannot list …: this storage was closed. Create another one
    """


class StorageFailureError(CheckpointStorageError):
    """A failure outside the engine, such as in a server, a disk or a network.

    What the engine did: depends on the plugin that raised it. The message describes the failed operation.

    What to do: follow the message.
    """


class StorageUnavailableError(StorageFailureError):
    """The checkpoint storage did not respond in time, after several attempts.

    What the engine did: it continues to read and stage rows, but publishes none. The checkpoint failed; if more than
    `checkpoint.tolerable-failure` checkpoints fail in a row, the pipeline restarts.

    What to do: make sure that the server or the disk is up, reachable and not full; a running job then continues
    automatically. Resume a failed job with `seatunnel -r JOB_ID`; no rows are lost. `seatunnel help failures` describes
    how a job can survive an outage.

    Message: cannot put …: …. Check that the storage is up and has free space, then try again
    """

    retryable = True


class StorageAccessError(StorageFailureError):
    """The checkpoint storage denied a request because of missing permissions or an unsuitable file system.

    What the engine did: it stopped storing checkpoints and publishing rows. Rows that were published before are kept.

    What to do: allow the user of this process to read and write the location, or choose another namespace; then resume
    with `seatunnel -r JOB_ID`. `seatunnel --check -c FILE` tests the location.

    Message: cannot put …: …. Make the location readable and writable for this user, or choose another namespace
    """


class CheckpointCorruptedError(StorageFailureError):
    """Stored data is damaged: bytes were changed, removed, added or moved.

    What the engine did: it did not use the data, and removed nothing. It does not fall back to an older checkpoint
    automatically, because rows could then be published twice.

    What to do: restore the object from a copy. If there is no copy, `seatunnel checkpoints verify` lists the intact
    checkpoints; an older checkpoint is restored only on request, see `seatunnel help restore`.

    Message: cannot read …: it is damaged: its SHA-256 does not match the stored checksum. Restore the object from a
    copy, or resume from an older checkpoint
    """

    info: CheckpointInfo | None
    """The damaged checkpoint; ``None`` for a manifest, an attachment or a file name."""

    def __init__(self, message: str, *, info: CheckpointInfo | None = None) -> None:
        super().__init__(message)
        self.info = info


class UnsupportedFormatError(StorageFailureError):
    """The object is intact, but was written by a newer version of this library than the running one.

    What the engine did: it did not use the object, and changed nothing.

    What to do: run the version that wrote it, or a newer one. `seatunnel help versions` lists which version reads
    which format.

    Message: cannot read …: it has format version 9, but this library reads version …. Use the version that wrote it,
    or a newer one
    """


class StaleEpochError(StorageFailureError):
    """Another process has taken over the job, or the job was deleted: the epoch marker is outdated or missing.

    What the engine did: it stopped committing, and its last checkpoint will not be restored, so no row is published
    twice. The whole job has ended in this process; the other process continues it.

    What to do: let the other process continue. If you did not expect another process, find out how it was started:
    `seatunnel -l` lists the jobs of this machine. To take over the job again, stop the other process and run `seatunnel
    -r JOB_ID`. `seatunnel help failures` describes the actions that are still possible for an engine that has lost its
    job.

    Message: wrote …, but epoch … was claimed: another engine runs pipeline … of job '…', or the job was deleted.
    Nothing may be committed any more; stop this engine
    """


class ManifestConflictError(StorageFailureError):
    """Two processes started, resumed or ended the same job at the same time, and this process lost the race.

    What the engine did: it changed nothing: the other process owns the job.

    What to do: let the other process continue, or stop it and run the command again to take over the job.

    Message: cannot put …: version … of the manifest exists, so another process claimed job '…'. Stop one of the two, or
    start again to take the job over
    """


class StoragePluginError(StorageFailureError):
    """A plugin for a checkpoint storage or its credentials cannot be loaded, or does not have the expected interface.

    What the engine did: nothing. The job was not started, and no row moved.

    Retried: no, because the result would be the same. The command ends with exit code 1.

    What to do: reinstall the plugin, or install another version; if two plugins have the same name, uninstall one.
    `seatunnel plugins` lists the problems of each plugin.

    Message: … cannot be loaded: …. Reinstall it, or install a different version
    """
