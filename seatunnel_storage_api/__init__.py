"""The microkernel of the checkpoint storage: values, interfaces, errors.

What an engine and a plugin share. Plugins are found by ``seatunnel_storage_api.discovery``; a storage for anything that
keeps named bytes starts from ``seatunnel_storage_api.blob``; ``seatunnel_storage_api.testing`` tests it.

The values are imported when they are first used: attrs, which makes them, costs more than all the rest.
"""

from typing import TYPE_CHECKING

from seatunnel_storage_api.errors import (
    AttachmentNotFoundError,
    CheckpointConflictError,
    CheckpointCorruptedError,
    CheckpointStorageError,
    InvalidIdError,
    ManifestConflictError,
    NamespaceError,
    StaleEpochError,
    StorageAccessError,
    StorageClosedError,
    StorageConfigurationError,
    StorageFailureError,
    StoragePluginError,
    StorageUnavailableError,
    StorageUsageError,
    UnknownStorageError,
    UnsupportedFormatError,
)
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory

if TYPE_CHECKING:
    from seatunnel_storage_api.state import (
        CheckpointInfo,
        CheckpointRef,
        CheckpointType,
        Manifest,
        PipelineListing,
        PipelineState,
    )
else:  # a type checker that saw this would take every misspelt name for one of those

    def __getattr__(name: str) -> object:
        """Return a class of ``seatunnel_storage_api.state``, which has the names in ``__all__`` not imported above.

        Raises:
            AttributeError: The package has no such name.
        """
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from seatunnel_storage_api import state

        return getattr(state, name)


__all__ = [
    "AttachmentNotFoundError",
    "CheckpointConflictError",
    "CheckpointCorruptedError",
    "CheckpointInfo",
    "CheckpointRef",
    "CheckpointStorage",
    "CheckpointStorageError",
    "CheckpointStorageFactory",
    "CheckpointType",
    "InvalidIdError",
    "Manifest",
    "ManifestConflictError",
    "NamespaceError",
    "PipelineListing",
    "PipelineState",
    "StaleEpochError",
    "StorageAccessError",
    "StorageClosedError",
    "StorageConfigurationError",
    "StorageFailureError",
    "StoragePluginError",
    "StorageUnavailableError",
    "StorageUsageError",
    "UnknownStorageError",
    "UnsupportedFormatError",
]
