"""Stores of cluster state on local files, for tests."""

from pathlib import Path

from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_mapstore.journal import Limits

from seatunnel_core.server.state.logged_store import LoggedStore
from seatunnel_storage_api.blob import BlobStorage


def local_store(folder: Path, *, limits: Limits | None = None) -> LoggedStore:
    """Return a store as one process would open it; several on one folder are several processes."""
    storage = HdfsStorageFactory().create({"storage.type": "local", "namespace": f"{folder}/", "max-retained": "1"})
    assert isinstance(storage, BlobStorage)
    return LoggedStore(storage, "cluster/test/", limits=limits)
