"""Reference to a storage by an engine file, a folder, an archive or a plugin."""

import stat
from collections.abc import Mapping
from pathlib import Path

from attrs import field, frozen

from seatunnel_core.config.engine import load_engine
from seatunnel_core.errors import UsageError
from seatunnel_core.inspector.archive import ENDING, KEEP_ALL, ArchiveStorage
from seatunnel_storage_api import configuration
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import UnknownStorageError
from seatunnel_storage_api.storage import CheckpointStorage


@frozen(kw_only=True)
class StorageReference:
    """Reference to a checkpoint storage, which need not exist."""

    storage: str | None = None
    """``FILE.yaml`` for an engine file, ``FILE.zip`` for an archive, a path with ``/`` for a namespace of local files,
    or the ``type`` of a plugin. ``None`` for the storage of the default engine file, or else the built-in default."""

    engine_file: Path | None = None
    """Path of an engine file with any name, as an alternative to ``storage``."""

    properties: Mapping[str, str] = field(factory=dict, repr=False)
    """Keys of ``plugin-config``, which override the configured ones. May contain secrets."""

    namespace: str | None = None
    """Namespace that overrides the configured one."""

    def open(self, *, to_write: bool = False, to_remove: bool = False) -> CheckpointStorage:
        """Open the storage, by default only for reading. The caller closes it.

        Args:
            to_write: True for the destination of a copy: a folder or archive may be new, and retention removes nothing.
            to_remove: True to remove garbage.

        Raises:
            UsageError: The storage does not exist, or the reference is invalid.
            CheckpointStorageError: The storage cannot be opened.
        """
        if self.storage is not None and self.storage.endswith(ENDING):
            if self.properties or self.namespace:
                raise UsageError(f"{self.storage} is an archive: properties and a namespace are not supported")
            return (
                ArchiveStorage.create(Path(self.storage)) if to_write else ArchiveStorage.read_from(Path(self.storage))
            )
        identifier, found = self._configured(to_write)
        found = {**found, **self.properties}
        if self.namespace is not None:
            found[configuration.NAMESPACE] = self.namespace
        if to_write:
            found[configuration.MAX_RETAINED] = str(KEEP_ALL)
        try:
            return open_storage(identifier, found, read_only=not (to_write or to_remove))
        except UnknownStorageError as error:
            if self.storage is not None and Path(self.storage).is_dir():
                raise UsageError(
                    f"{error}. If {self.storage} is a folder in the current folder, use ./{self.storage}/"
                ) from error
            raise

    def _configured(self, to_write: bool) -> tuple[str, dict[str, str]]:
        named = self.storage
        if named is None or named.endswith((".yaml", ".yml")):
            storage = load_engine(self.engine_file if named is None else Path(named)).storage
            return storage.type, {configuration.MAX_RETAINED: str(storage.max_retained), **storage.plugin_config}
        if "/" not in named:
            return named, {}
        folder = Path(named).expanduser().absolute()
        if not to_write:
            _require_folder(folder)
        return "hdfs", {"storage.type": "local", configuration.NAMESPACE: f"{str(folder).rstrip('/')}/"}


def _require_folder(folder: Path) -> None:
    try:
        mode = folder.stat().st_mode
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no folder {folder}: use a folder with checkpoints, or an engine file (*.yaml)"
        ) from error
    except OSError as error:
        raise UsageError(f"{folder} cannot be read: {error.strerror}. Make it readable for this user") from error
    if not stat.S_ISDIR(mode):
        raise UsageError(f"{folder} is a file: use a folder with checkpoints, FILE.zip or an engine file (*.yaml)")


def title(storage: CheckpointStorage) -> str:
    """Return the name of an open storage for display."""
    if isinstance(storage, ArchiveStorage):
        return str(storage.path)
    if isinstance(storage, BlobStorage):
        return f"{storage.namespace} ({storage.backend})"
    return type(storage).__name__
