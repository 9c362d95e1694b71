"""The microkernel of the checkpoint storage: values, interfaces, errors.

What an engine and a plugin share. Plugins are found by ``seatunnel_storage_api.discovery``; a storage for anything that
keeps named bytes starts from ``seatunnel_storage_api.blob``; ``seatunnel_storage_api.testing`` tests it.
"""

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
from seatunnel_storage_api.state import (
    CheckpointInfo,
    CheckpointRef,
    CheckpointType,
    Manifest,
    PipelineListing,
    PipelineState,
)
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory

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
