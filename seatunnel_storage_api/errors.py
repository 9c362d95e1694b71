"""The error tree of the checkpoint storage: one root, with a branch for misuse and one for failures outside.

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
        ├── StorageAccessError            refused, and will be refused again until something is changed
        ├── CheckpointCorruptedError      stored bytes are not what was stored
        ├── UnsupportedFormatError        intact, but written by a version that this one cannot read
        ├── StaleEpochError               another engine took the pipeline over, or the job was deleted
        ├── ManifestConflictError         another process claimed the job
        └── StoragePluginError            an installed plugin cannot be loaded

A message names the backend, the operation, the path and what to do about it; the cause is chained. No message holds
a secret.

Each class has a ``code``, which ``seatunnel help CODE`` explains with what its docstring says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # attrs, which makes the values, costs several times what the errors do
    from seatunnel_storage_api.state import CheckpointInfo


def code_of(error: type[Exception]) -> str:
    """Return the code of an error's class, made from the words of the name: ``STALE-EPOCH`` for ``StaleEpochError``.

    The word ``Error`` is left out unless only one other word is left: ``NamespaceError`` has ``NAMESPACE-ERROR``.
    """
    words = re.findall("[A-Z][a-z]+", error.__name__)
    return "-".join(words[:-1] if len(words) > 2 else words).upper()


class CheckpointStorageError(Exception):
    """The checkpoint storage did not do what it was asked, and no narrower code says why.

    What the engine did: what a plugin of a checkpoint storage does that has no separate code. The message says what
    was tried and where.

    What to do: do what the message says. If it does not help, report it to the maintainer of the plugin.
    """

    code = "CHECKPOINT-STORAGE"
    """Stable, for people and programs. A plugin's class has that of the nearest ancestor, or defines another one."""

    retryable = False
    """True if the same call, made again, may succeed."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__ == __name__:
            cls.code = code_of(cls)


class StorageUsageError(CheckpointStorageError):
    """A request to the checkpoint storage is not possible in this form.

    What the engine did: nothing. Nothing was stored, and nothing was removed.

    What to do: what the message says; mostly a value is out of range.

    Message: on_corrupted is '…', expected 'raise' or 'previous'
    """


class StorageConfigurationError(StorageUsageError, ValueError):
    """A key in the configuration of the checkpoint storage is missing, wrong or contradicts another one.

    What the engine did: nothing. The job was not started, and no row moved.

    What to do: correct the key under `checkpoint.storage` in `seatunnel.yaml`, or in the job's own storage. `seatunnel
    --check -c FILE` says whether it is right now, and `seatunnel help options` lists the keys.

    Message: max-retained is '0', expected a whole number of at least 1: write max-retained: 3 to keep the three newest
    checkpoints of each pipeline
    """


class NamespaceError(StorageConfigurationError):
    """The namespace is not an absolute folder that ends with "/".

    What the engine did: nothing. The job was not started, and no row moved.

    What to do: write the namespace as the message shows it. Take care that it is the folder that older jobs are in:
    jobs in another one are not found.

    Message: the namespace '…' must end with "/": write '…/'
    """


class UnknownStorageError(StorageConfigurationError, LookupError):
    """The checkpoint storage is unknown: no installed plugin has this name.

    What the engine did: nothing. The job was not started, and no row moved.

    What to do: correct `checkpoint.storage.type`, or install the plugin into the Python that runs the engine.
    `seatunnel plugins` lists the storages that it finds.

    Message: no installed plugin is a checkpoint storage named '…'; installed: …. Did you mean '…'? …
    """


class InvalidIdError(StorageUsageError, ValueError):
    """A job id, a pipeline, an epoch, a checkpoint, a version or a digest is outside what a storage can hold.

    What the engine did: nothing. Nothing was stored, and nothing was removed.

    What to do: write the id as it is listed by `seatunnel checkpoints list`, or choose one that the message allows.

    Message: the job id '…' cannot name a folder: write 1 to 128 of the characters A-Z a-z 0-9 . _ - that are not just
    "." or ".."
    """


class CheckpointConflictError(StorageUsageError):
    """The same checkpoint, of one job, pipeline, epoch and id, was stored before with other content.

    What the engine did: nothing was overwritten. What was stored first is valid.

    What to do: if an engine says this, two engines took one epoch, which the storage has to prevent: stop both, look at
    what the storage promises (`seatunnel help promises`), and report it. If `seatunnel checkpoints copy` says it, the
    destination holds another job of this id: copy to another namespace.

    Message: cannot put …: checkpoint … of pipeline … of job '…' exists with other content. Nothing was overwritten;
    store it under the next id
    """


class AttachmentNotFoundError(StorageUsageError, LookupError):
    """A checkpoint names the list of what a source reads, and the job has no such attachment.

    What the engine did: it did not restore the pipeline, for without the list it could read other rows than before.

    What to do: look whether the job was deleted, or files of it were removed by hand; put them back from a copy of the
    namespace. Otherwise start the job under a new id with an empty target.

    Message: cannot read …: job '…' has no such attachment. It lives as long as its job: was the job deleted, or is the
    namespace another one?
    """


class StorageClosedError(StorageUsageError):
    """The storage was used after it was closed.

    What the engine did: nothing. Nothing was stored, and nothing was removed.

    What to do: in a program of yours, open the storage again. If the engine says it, that is a bug: report it.

    Message: cannot list …: this storage was closed. Create another one
    """


class StorageFailureError(CheckpointStorageError):
    """The outside world did not do its part: a server, a disk, a network or another process.

    What the engine did: what a plugin of a checkpoint storage does that has no narrower code. The message says what was
    tried and where.

    What to do: what the message says.
    """


class StorageUnavailableError(StorageFailureError):
    """The checkpoint storage did not answer, or not in time, although it was asked several times.

    What the engine did: rows flow on and are staged, and nothing is published. The checkpoint failed; one more than
    `checkpoint.tolerable-failure` in a row starts the pipeline again.

    What to do: see that the server or the disk is up, reachable and has room; a running job continues by itself.
    Resume a failed one with `seatunnel -r JOB_ID`; nothing is lost. `seatunnel help failures` says how to let
    a job sit through an outage.

    Message: cannot put …: …. Check that the storage is up and has room, then try again
    """

    retryable = True


class StorageAccessError(StorageFailureError):
    """The checkpoint storage refused, and will refuse again: permissions, or a file system that is not suitable.

    What the engine did: it stored nothing more, so it publishes nothing more. What was published before stays.

    What to do: let the user of this process read and write the place, or choose another namespace; then resume with
    `seatunnel -r JOB_ID`. `seatunnel --check -c FILE` tries the place.

    Message: cannot put …: …. Make the place readable and writable for this user, or choose another namespace
    """


class CheckpointCorruptedError(StorageFailureError):
    """Stored bytes are not what was stored: flipped, missing, extra or misplaced ones.

    What the engine did: nothing of it was used, and nothing was removed. It does not take an older checkpoint by
    itself, for then rows could be published twice.

    What to do: put the object back from a copy. Without one, `seatunnel checkpoints verify` says which checkpoints are
    intact; going back to one of those has to be asked for, as `seatunnel help restore` says.

    Message: cannot read …: it is damaged: its bytes do not give the SHA-256 at its end. Restore the object from a copy,
    or take an older checkpoint
    """

    info: CheckpointInfo | None
    """The damaged checkpoint; ``None`` for a manifest, an attachment or a file name."""

    def __init__(self, message: str, *, info: CheckpointInfo | None = None) -> None:
        super().__init__(message)
        self.info = info


class UnsupportedFormatError(StorageFailureError):
    """The object is intact, but a version of this library that is newer than the running one wrote it.

    What the engine did: nothing of it was used, and nothing was changed.

    What to do: run the version that wrote it, or a newer one. `seatunnel help versions` says which version reads what.

    Message: cannot read …: it has format version 9, this library reads version …. Use the version that wrote it, or a
    newer one
    """


class StaleEpochError(StorageFailureError):
    """Another engine took the pipeline over, or the job was deleted: this engine's marker is gone or not the newest.

    What the engine did: its last checkpoint is orphaned, and it commits nothing more, so no row is published twice.
    The whole job has ended in this process; the other one continues it.

    What to do: let the other process work. Find out how it was started if that was unexpected: `seatunnel -l` lists the
    jobs of this machine. To take the job back, stop the other and run `seatunnel -r JOB_ID`. `seatunnel help failures`
    says what an engine may do that has lost its job.

    Message: put …, but epoch … was claimed: another engine runs pipeline … of job '…', or the job was deleted. Nothing
    may be committed any more; stop this engine
    """


class ManifestConflictError(StorageFailureError):
    """Two processes started, resumed or ended one job in the same moment, and the other one was first.

    What the engine did: this process leaves the job to the other one and changes nothing of it.

    What to do: let the other process work, or stop it and start again to take the job over.

    Message: cannot put …: version … of the manifest exists, so another process claimed job '…'. Stop one of the two, or
    start again to take the job over
    """


class StoragePluginError(StorageFailureError):
    """An installed plugin of a checkpoint storage, or of its credentials, cannot be loaded or is not what it should be.

    What the engine did: nothing. The job was not started, and no row moved.

    What to do: install the plugin again, or another version of it; of two with one name, uninstall one. `seatunnel
    plugins` shows what is wrong with each.

    Message: … cannot be loaded: …. Install it again, or another version of it
    """
