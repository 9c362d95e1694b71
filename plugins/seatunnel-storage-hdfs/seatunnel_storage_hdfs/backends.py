"""Registry of the backends, keyed by ``storage.type``.

To add a backend, write a module with a ``create`` function and add an entry here. A module and the packages that it
needs are imported only when its backend is used.
"""

import importlib
from collections.abc import Mapping

from attrs import frozen

from seatunnel_core.clients import keys
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.storage import CheckpointStorage

STORAGE_TYPE = "storage.type"


@frozen(kw_only=True)
class Backend:
    """Backend for one ``storage.type``."""

    name: str
    """Name for messages."""

    module: str
    """Module name relative to this package. The module has ``create(configuration) -> CheckpointStorage``."""

    extra: str | None = None
    """Extra of the distribution that installs the module's packages; ``None`` if it needs none."""

    keys: frozenset[str] = frozenset()
    """Keys of ``plugin-config`` for this backend, in addition to the shared keys."""

    prefixes: tuple[str, ...] = ()
    """Prefixes of keys that are passed to the backend unchanged."""

    def knows(self, key: str) -> bool:
        return key in self.keys or key.startswith(self.prefixes)

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        """Return a storage of this backend; raise ``StorageConfigurationError`` if its packages are not installed."""
        try:
            module = importlib.import_module(f"seatunnel_storage_hdfs.{self.module}")
        except ModuleNotFoundError as cause:
            if self.extra is None or (cause.name or "").startswith("seatunnel_"):
                raise
            raise StorageConfigurationError(
                f"checkpoints on {self.name} need the package {cause.name}, which is not installed: in a clone of this "
                f"project, run pip install './plugins/seatunnel-storage-hdfs[{self.extra}]'"
            ) from cause
        storage: CheckpointStorage = module.create(configuration)
        return storage


LOCAL = Backend(name="local files", module="local")

S3 = Backend(
    name="S3",
    module="s3",
    extra="s3",
    keys=keys.S3,
    prefixes=(keys.OF_PROVIDERS,),
)

OSS = Backend(
    name="OSS",
    module="oss",
    extra="oss",
    keys=keys.OSS,
    prefixes=(keys.OF_PROVIDERS,),
)

HDFS = Backend(
    name="HDFS",
    module="webhdfs",
    extra="hdfs",
    keys=keys.HDFS,
    prefixes=("seatunnel.hadoop.",),
)

BACKENDS: Mapping[str, Backend] = {
    "local": LOCAL,
    "s3": S3,
    "oss": OSS,
    "hdfs": HDFS,
}
"""Backends by ``storage.type``, with ``file:///`` already resolved to ``local``."""


def of_type(kind: str) -> Backend:
    """Return the backend for a ``storage.type``: one of this plugin's, or else the fsspec file system of that name."""
    return BACKENDS.get(kind) or Backend(
        name=f"storage.type: {kind}",
        module="filesystems",
        extra="fsspec",
        keys=frozenset({"single-writer"}),
        prefixes=(f"fs.{kind}.",),
    )
