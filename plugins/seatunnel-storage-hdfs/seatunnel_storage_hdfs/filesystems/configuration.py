"""Creation of a storage on an fsspec file system from ``plugin-config``."""

import functools
import json
from collections.abc import Mapping
from typing import Any

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.secret import holds_secret
from seatunnel_storage_hdfs.filesystems.protocols import CONDITIONAL, file_system, implementation
from seatunnel_storage_hdfs.filesystems.storage import ConditionalStorage, FileSystemStorage, SingleWriterStorage
from seatunnel_storage_hdfs.probe import closed_on_failure

STORAGE_TYPE = "storage.type"
SINGLE_WRITER = "single-writer"

_CRASH = "a crash of the server's machine"


def create(configuration: Mapping[str, str]) -> FileSystemStorage:
    """Return a storage on the file system of ``storage.type``, after testing the location."""
    kind = configuration[STORAGE_TYPE].lower()
    options = _options(configuration, f"fs.{kind}.")
    hidden = [str(value) for name, value in options.items() if value and holds_secret(name)]
    more: dict[str, Any] = {
        "kind": kind,
        "open_file_system": functools.partial(file_system, kind, options),
        "hidden": hidden,
        "namespace": shared.namespace(configuration),
        "max_retained": shared.max_retained(configuration),
    }
    if kind in CONDITIONAL:
        storage: FileSystemStorage = ConditionalStorage(CONDITIONAL[kind], **more)
    else:
        storage = _for_one_writer(kind, configuration, more)
    with closed_on_failure(storage):
        storage.read_only = shared.read_only(configuration)
        storage.probe()
    return storage


def _for_one_writer(kind: str, configuration: Mapping[str, str], more: dict[str, Any]) -> FileSystemStorage:
    named = implementation(kind).__name__  # check this first: no other error matters if the package is missing
    if not shared.flag(configuration, SINGLE_WRITER, default=False):
        raise StorageConfigurationError(
            f"storage.type: {kind} cannot guarantee that a put never overwrites: fsspec's {named} checks first and "
            "writes afterwards, so two engines on one job could destroy each other's checkpoints. Write storage.type: "
            f"{', '.join(['local', 's3', 'oss', 'hdfs', *CONDITIONAL])}; or make sure that only one engine ever "
            f"uses this namespace, and write {SINGLE_WRITER}: true"
        )
    shared.warn(
        [
            f"checkpoints are stored on storage.type: {kind} with {SINGLE_WRITER}: true. This storage does not "
            "guarantee that a second engine on the same job is fenced or cannot overwrite checkpoints (promises 7, 8 "
            "and 10), or that a checkpoint survives "
            f"{'the end of this process' if kind == 'memory' else _CRASH} (promise 1). Never start two engines on "
            f"{more['namespace']}"
        ]
    )
    return SingleWriterStorage(**more)


def _options(configuration: Mapping[str, str], prefix: str) -> dict[str, Any]:
    """Return the arguments of the file system: the keys with the prefix, which is removed."""
    written = {key.removeprefix(prefix): value for key, value in configuration.items() if key.startswith(prefix)}
    return {name: _typed(name, value) for name, value in written.items()}


def _typed(name: str, value: str) -> Any:
    """Parse a value as JSON if it is valid (``22``, ``true``, ``{…}``); else, and for secrets, return it unchanged."""
    if holds_secret(name):
        return value
    try:
        return json.loads(value)
    except (ValueError, TypeError):
        return value
