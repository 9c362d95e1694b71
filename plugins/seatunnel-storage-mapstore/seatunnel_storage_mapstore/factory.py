"""Storage of ``type: map-store``."""

from collections.abc import Mapping

from seatunnel_storage_hdfs.backends import STORAGE_TYPE
from seatunnel_storage_hdfs.factory import HdfsStorageFactory

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_mapstore.storage import BELOW, MapStorage


class MapStorageFactory(CheckpointStorageFactory):
    """Storage factory for ``type: map-store``, with the keys and the backends of ``type: hdfs``."""

    factory_identifier = "map-store"

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        namespace = shared.namespace(configuration)
        max_retained = shared.max_retained(configuration)
        beneath = HdfsStorageFactory().create({**configuration, shared.NAMESPACE: namespace + BELOW})
        if not isinstance(beneath, BlobStorage):
            beneath.close()
            raise StorageConfigurationError(
                f"{STORAGE_TYPE}: {configuration.get(STORAGE_TYPE)} does not store named objects, so it cannot "
                f"hold a map. Write {STORAGE_TYPE}: local, hdfs, s3 or oss, or use type: hdfs"
            )
        storage = MapStorage(beneath, namespace=namespace, max_retained=max_retained)
        storage.read_only = beneath.read_only
        return storage

    def idle_keys(self, configuration: Mapping[str, str]) -> Mapping[str, str]:
        return HdfsStorageFactory().idle_keys(configuration)


@hookimpl
def seatunnel_checkpoint_storage() -> CheckpointStorageFactory:
    """Return the factory of this plugin."""
    return MapStorageFactory()
