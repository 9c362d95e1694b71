"""Conditional puts on fsspec file systems, which write objects atomically and never overwrite one.

fsspec has an argument for this, ``pipe_file(mode="create")``, but its general implementation checks first and writes
afterwards, so two writers may both find no object. It is a guarantee only if the file system leaves the check to its
server. This was verified in the sources and with many concurrent writers:

* adlfs uploads with ``If-None-Match: *``, in one request or as blocks that are committed with this header;
* gcsfs uploads with ``ifGenerationMatch=0``; always in one request, because it checks the start of larger uploads only.

s3fs supports this too, but S3 and OSS have dedicated backends.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import fsspec
from attrs import frozen
from fsspec.registry import known_implementations

from seatunnel_storage_api.errors import StorageConfigurationError


@frozen(kw_only=True)
class ConditionalPut:
    """Conditional put of a file system, which writes an object only if it does not exist."""

    arguments: Callable[[bytes], Mapping[str, Any]] = lambda body: {}
    """Function that returns arguments of ``pipe_file`` for a body, in addition to ``mode="create"``."""

    file_system: tuple[str, str] | None = None
    """Module and class, if they differ from those that fsspec registers for this name."""


AZURE = ConditionalPut()
GOOGLE = ConditionalPut(
    arguments=lambda body: {"chunksize": len(body) + 1},
    file_system=(
        "gcsfs.core",
        "GCSFileSystem",
    ),  # fsspec's implementation is experimental and first requests the bucket type by gRPC
)

CONDITIONAL: Mapping[str, ConditionalPut] = {
    "abfs": AZURE,
    "abfss": AZURE,
    "az": AZURE,
    "gs": GOOGLE,
    "gcs": GOOGLE,
}
"""Values of ``storage.type`` for file systems that support a conditional put."""

_ELSEWHERE = {
    **dict.fromkeys(("file", "local"), "storage.type: local"),
    **dict.fromkeys(("s3a", "s3n"), "storage.type: s3"),
    **dict.fromkeys(("webhdfs", "arrow_hdfs", "viewfs"), "storage.type: hdfs"),
}
"""Fsspec protocols that have a dedicated backend, with the setting that selects it."""

_PACKAGES = {
    **dict.fromkeys(("abfs", "abfss", "az"), "adlfs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("sftp", "ssh"), "paramiko"),
    "smb": "smbprotocol",
    "webdav": "webdav4",
    "oci": "ocifs",
    "dropbox": "dropboxdrivefs",
}
"""Names of distributions that differ from their module names, keyed by module."""


def file_system(kind: str, options: Mapping[str, Any]) -> Any:
    """Return a new file system. It shares no state with other file systems of the same options."""
    kind_of = implementation(kind)
    try:
        return kind_of(skip_instance_cache=True, **options)
    except (TypeError, ValueError) as cause:  # before anything is sent: the file system rejects its arguments
        raise StorageConfigurationError(
            f"the file system of storage.type: {kind} rejects its options ({', '.join(options) or 'none'}): "
            f"{cause}. Set its arguments as fs.{kind}.<option>, the arguments of {kind_of.__name__}"
        ) from cause


def implementation(kind: str) -> Any:
    """Return the class of a file system; raise ``StorageConfigurationError`` if it or its package is unknown."""
    if kind in _ELSEWHERE:
        raise StorageConfigurationError(f"storage.type: {kind} has a dedicated backend: write {_ELSEWHERE[kind]}")
    conditional = CONDITIONAL.get(kind)
    try:
        if conditional is None or conditional.file_system is None:
            return fsspec.get_filesystem_class(kind)
        module, name = conditional.file_system
        return getattr(importlib.import_module(module), name)
    except ValueError as cause:
        raise StorageConfigurationError(
            f"storage.type: {kind} is not supported by this version of seatunnel-storage-hdfs or by fsspec. Write "
            "storage.type: local, or storage.type: hdfs with fs.defaultFS: file:///, to keep checkpoints in local "
            "files; other types are s3, oss, hdfs, abfs, gs and sftp"
        ) from cause
    except ImportError as cause:
        missing = cause if isinstance(cause, ModuleNotFoundError) else cause.__cause__
        package = _PACKAGES.get(kind) or getattr(missing, "name", None)
        hint = f"run pip install {package}" if package else known_implementations.get(kind, {}).get("err", str(cause))
        raise StorageConfigurationError(
            f"storage.type: {kind} requires a package that is not installed: {hint}"
        ) from cause
