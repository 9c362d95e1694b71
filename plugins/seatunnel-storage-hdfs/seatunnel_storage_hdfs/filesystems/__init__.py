"""Checkpoints on what fsspec speaks, for a ``storage.type`` that has no backend of its own here."""

from seatunnel_storage_hdfs.filesystems.configuration import create
from seatunnel_storage_hdfs.filesystems.storage import FileSystemStorage

__all__ = ["FileSystemStorage", "create"]
