"""The error tree of the checkpoint storage: one root, with branches for misuse and external failures.

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

A message contains the backend, the operation, the path and what to do; the cause is chained. No message contains a
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
    """A request to the checkpoint storage is not possible in this form.

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

    What to do: correct the namespace as shown in the message. Make sure that it is the folder that contains the
    existing jobs; jobs in other folders are not found.

    Message: the namespace '…' must end with "/": write '…/'
    """


class UnknownStorageError(StorageConfigurationError, LookupError):
    """The checkpoint storage is unknown: no installed plugin has this name.

    What the engine did: nothing. The job was not started, and no row moved.

    Retried: no, because the result would be the same. The command ends with exit code 2.

    What to do: correct `checkpoint.storage.type`, or install the plugin into the Python that runs the engine.
    `seatunnel plugins` lists the storages that it finds.

    Message: no installed plugin is a checkpoint storage named '…'; installed: …. Did you mean '…'? …
    """


class InvalidIdError(StorageUsageError, ValueError):
    """A job ID, pipeline, epoch, checkpoint, version or digest is not valid in a storage.

    It is too long or too large, or contains unsupported characters.

    What the engine did: it rejected the operation. Nothing was stored or removed.

    What to do: use the ID as listed by `seatunnel checkpoints list`, or choose one that the message allows.

    Message: the job id '…' cannot be used as a folder name: use 1 to 128 characters from A-Z a-z 0-9 . _ -,
    other than "." or ".."
    """


class CheckpointConflictError(StorageUsageError):
    """The same checkpoint, of one job, pipeline, epoch and id, was stored before with other content.

    What the engine did: nothing was overwritten. The checkpoint that was stored first is valid.

    What to do: if an engine reports this, two engines claimed the same epoch, which the storage must prevent: stop
    both, check the guarantees of the storage (`seatunnel help promises`), and report it. If `seatunnel checkpoints
    copy` reports it, the destination contains another job with this id: copy to another namespace.

    Message: cannot put …: checkpoint … of pipeline … of job '…' exists with different content. Nothing was overwritten;
    store it under the next id
    """


class AttachmentNotFoundError(StorageUsageError, LookupError):
    """A checkpoint refers to an attachment with a source's splits, but the job has no such attachment.

    What the engine did: it did not restore the pipeline, because without the splits it could read different rows.

    What to do: check whether the job was deleted, or its files were removed manually; restore them from a copy of the
    namespace. Otherwise start the job under a new id with an empty target.

    Message: cannot read …: job '…' has no such attachment. An attachment is removed with its job: check that the
    job was not deleted and that the namespace is correct
    """


class StorageClosedError(StorageUsageError):
    """The storage was used after it was closed.

    What the engine did: it rejected the operation. Nothing was stored or removed.

    What to do: in your own program, open the storage again. If the engine reports it, that is a bug: report it.

    Message: cannot list …: this storage was closed. Create another one
    """


class StorageFailureError(CheckpointStorageError):
    """A failure outside the engine, such as in a server, a disk or a network.

    What the engine did: this depends on the plugin that raised the error. The message describes the failed operation.

    What to do: follow the message.
    """


class StorageUnavailableError(StorageFailureError):
    """The checkpoint storage did not respond in time, after several attempts.

    What the engine did: it continues to read and stage rows, but publishes nothing. The checkpoint failed; more than
    `checkpoint.tolerable-failure` consecutive failures restart the pipeline.

    What to do: make sure that the server or the disk is up, reachable and not full; a running job then continues
    automatically. Resume a failed one with `seatunnel -r JOB_ID`; nothing is lost. `seatunnel help failures` describes
    how a job can survive an outage.

    Message: cannot put …: …. Check that the storage is up and has free space, then try again
    """

    retryable = True


class StorageAccessError(StorageFailureError):
    """The checkpoint storage denied a request and would deny it again: permissions, or an unsuitable file system.

    What the engine did: it stored nothing more, so it publishes nothing more. Rows published before stay.

    What to do: allow the user of this process to read and write the location, or choose another namespace; then resume
    with `seatunnel -r JOB_ID`. `seatunnel --check -c FILE` tests the location.

    Message: cannot put …: …. Make the place readable and writable for this user, or choose another namespace
    """


class CheckpointCorruptedError(StorageFailureError):
    """Stored data is damaged: bytes are flipped, missing, added or misplaced.

    What the engine did: it used none of the data, and removed nothing. It does not fall back to an older checkpoint
    automatically, because rows could then be published twice.

    What to do: restore the object from a copy. Without one, `seatunnel checkpoints verify` lists the intact
    checkpoints; restoring one of those must be requested explicitly, see `seatunnel help restore`.

    Message: cannot read …: it is damaged: its SHA-256 does not match the one at its end. Restore the object from a
    copy, or resume from an older checkpoint
    """

    info: CheckpointInfo | None
    """The damaged checkpoint; ``None`` for a manifest, an attachment or a file name."""

    def __init__(self, message: str, *, info: CheckpointInfo | None = None) -> None:
        super().__init__(message)
        self.info = info


class UnsupportedFormatError(StorageFailureError):
    """The object is intact, but was written by a newer version of this library than the running one.

    What the engine did: it used none of the data, and changed nothing.

    What to do: run the version that wrote it, or a newer one. `seatunnel help versions` lists which version reads
    which format.

    Message: cannot read …: it has format version 9, this library reads version …. Use the version that wrote it, or a
    newer one
    """


class StaleEpochError(StorageFailureError):
    """Another engine has taken over the pipeline, or the job was deleted: this engine's marker is missing or outdated.

    What the engine did: its last checkpoint is orphaned, and it commits nothing more, so no row is published twice.
    The whole job has ended in this process; the other one continues it.

    What to do: let the other process continue. Find out how it was started if that was unexpected: `seatunnel -l` lists
    the jobs of this machine. To take over the job again, stop the other process and run `seatunnel -r JOB_ID`.
    `seatunnel help failures` describes what an engine may do that has lost its job.

    Message: put …, but epoch … was claimed: another engine runs pipeline … of job '…', or the job was deleted. Nothing
    may be committed any more; stop this engine
    """


class ManifestConflictError(StorageFailureError):
    """Two processes started, resumed or ended one job at the same time, and the other process won.

    What the engine did: this process leaves the job to the other one and changes nothing.

    What to do: let the other process continue, or stop it and start again to take over the job.

    Message: cannot put …: version … of the manifest exists, so another process claimed job '…'. Stop one of the two, or
    start again to take the job over
    """


class StoragePluginError(StorageFailureError):
    """A plugin of a checkpoint storage or its credentials cannot be loaded or does not have the expected interface.

    What the engine did: nothing. The job was not started, and no row moved.

    Retried: no, because the result would be the same. The command ends with exit code 1.

    What to do: reinstall the plugin, or install another version; if two plugins have the same name, uninstall one.
    `seatunnel plugins` lists the problems of each.

    Message: … cannot be loaded: …. Reinstall it, or install a different version
    """
