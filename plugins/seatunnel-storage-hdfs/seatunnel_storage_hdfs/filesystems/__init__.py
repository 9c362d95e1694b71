"""Checkpoints on fsspec file systems, for a ``storage.type`` without a dedicated backend."""

from seatunnel_storage_hdfs.filesystems.configuration import create
from seatunnel_storage_hdfs.filesystems.storage import FileSystemStorage

__all__ = ["FileSystemStorage", "create"]
