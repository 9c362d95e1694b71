"""Map stores of ``type: hdfs``, for the maps of a cluster."""

from collections.abc import Mapping

from seatunnel_storage_hdfs.backends import STORAGE_TYPE
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_core.clients.keys import DEFAULT_FS
from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.errors import InvalidIdError, StorageConfigurationError
from seatunnel_storage_api.layout import require_job_id
from seatunnel_storage_api.mapstore import MapStoreFactory
from seatunnel_storage_mapstore.store import LoggedMap

TYPE = "type"
CLUSTER_NAME = "clusterName"

DEFAULT_NAMESPACE = "/seatunnel/imap"
DEFAULT_CLUSTER_NAME = "seatunnel-cluster"

_NO_EFFECT = frozenset({"businessName", "writeDataTimeoutMilliseconds"})
"""Keys of SeaTunnel's file map store that are ignored."""


class FileMapStoreFactory(MapStoreFactory):
    """Factory of maps in ``<namespace>/<clusterName>/<name>/``, on any backend of the plugin seatunnel-storage-hdfs.

    The keys are the ``properties`` in a ``map-store`` block: ``type`` (hdfs), ``namespace`` (absolute, with or without
    a trailing "/"), ``clusterName``, ``fs.defaultFS``, ``storage.type`` and the keys of that backend.
    """

    factory_identifier = "hdfs"

    def create(self, name: str, configuration: Mapping[str, str]) -> LoggedMap:
        """Return a map that opens at its first use, or when ``open`` is called."""
        require_map_name(name)
        return LoggedMap(_storage(configuration), f"{name}/")


def require_map_name(name: str) -> str:
    """Return the name of a map; raise ``InvalidIdError`` unless it is a valid folder name."""
    try:
        return require_job_id(name)
    except InvalidIdError as cause:
        raise InvalidIdError(
            f"the map name {name!r} cannot be used as a folder name: use 1 to 128 characters from A-Z a-z 0-9 "
            '. _ -, other than "." or ".."'
        ) from cause


def storage_configuration(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration of the underlying storage."""
    kind = properties.get(TYPE) or FileMapStoreFactory.factory_identifier
    if kind != FileMapStoreFactory.factory_identifier:
        raise StorageConfigurationError(
            f"the {TYPE} of a map-store is {kind!r}, but only hdfs is supported. Write {TYPE}: hdfs, and "
            f"{STORAGE_TYPE}: s3 or oss, "
            f"or {DEFAULT_FS}: file:/// or hdfs://host:port, for the location"
        )
    cluster = properties.get(CLUSTER_NAME) or DEFAULT_CLUSTER_NAME
    if "/" in cluster or cluster in (".", ".."):
        raise StorageConfigurationError(
            f"{CLUSTER_NAME} is {cluster!r}, but it must be a single folder name. Write a plain name, for example "
            f"{CLUSTER_NAME}: {DEFAULT_CLUSTER_NAME}, and write the rest of the path to {shared.NAMESPACE}"
        )
    namespace = (properties.get(shared.NAMESPACE) or DEFAULT_NAMESPACE).rstrip("/")
    rest = {key: value for key, value in properties.items() if key not in {TYPE, CLUSTER_NAME, *_NO_EFFECT}}
    if not rest.get(STORAGE_TYPE) and rest.get(DEFAULT_FS):
        rest[STORAGE_TYPE] = "hdfs"  # SeaTunnel's fixed location of maps
    return {**rest, shared.NAMESPACE: f"{namespace}/{cluster}/"}


def _storage(properties: Mapping[str, str]) -> BlobStorage:
    shared.warn([f"the key {key!r} of a map-store has no effect" for key in sorted(_NO_EFFECT & properties.keys())])
    storage = HdfsStorageFactory().create(storage_configuration(properties))
    if not isinstance(storage, BlobStorage):
        storage.close()
        raise StorageConfigurationError(
            f"{STORAGE_TYPE}: {properties.get(STORAGE_TYPE)} does not store named objects, so it cannot hold a map. "
            f"Write {STORAGE_TYPE}: local, hdfs, s3 or oss"
        )
    return storage
