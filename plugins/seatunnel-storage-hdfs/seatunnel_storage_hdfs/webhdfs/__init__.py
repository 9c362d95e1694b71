"""Checkpoints in HDFS over WebHDFS: no Java, no native library, and failover between NameNodes."""

import functools
from collections.abc import Mapping

from seatunnel_core.clients.webhdfs.connection import address_of, connect
from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_hdfs.probe import closed_on_failure
from seatunnel_storage_hdfs.webhdfs.storage import WebHdfsStorage

FAILOVER = Backoff(attempts=20, first_wait_ms=100, longest_wait_ms=5_000)
"""Retry limit of about a minute, enough to fail over from a dead NameNode or to restart a DataNode."""


def create(configuration: Mapping[str, str]) -> WebHdfsStorage:
    """Return a storage in a folder, after testing the folder.

    An unreachable cluster is reported after a few attempts, because the user is waiting for the result. The storage
    itself retries for longer; see ``FAILOVER``.
    """
    namespace, max_retained = shared.namespace(configuration), shared.max_retained(configuration)
    address, webhdfs = address_of(configuration).name, connect(configuration)
    make = functools.partial(WebHdfsStorage, webhdfs, address=address, namespace=namespace, max_retained=max_retained)
    with closed_on_failure(webhdfs):
        trial, storage = make(backoff=Backoff()), make(backoff=FAILOVER)
        trial.read_only = storage.read_only = shared.read_only(configuration)
        trial.probe()
    return storage
