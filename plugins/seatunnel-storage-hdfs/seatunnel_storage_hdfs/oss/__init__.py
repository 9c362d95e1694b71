"""Checkpoints in a bucket of Alibaba Cloud's Object Storage Service: ``storage.type: oss``."""

from seatunnel_storage_hdfs.oss.storage import OssStorage, create

__all__ = ["OssStorage", "create"]
