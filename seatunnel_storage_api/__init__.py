"""Interface of checkpoint storages for engines and plugins: values, interfaces, errors.

``seatunnel_storage_api.discovery`` finds plugins; a storage on a backend that stores named bytes extends
``seatunnel_storage_api.blob``; ``seatunnel_storage_api.testing`` contains the conformance tests.

The value classes are imported on first use: attrs, which defines them, takes more time than everything else.
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
else:  # hidden from type checkers, which would accept any misspelt name

    def __getattr__(name: str) -> object:
        """Return a class of ``seatunnel_storage_api.state``: a name in ``__all__`` that is not imported above.

        Raises:
            AttributeError: The package does not define this name.
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
