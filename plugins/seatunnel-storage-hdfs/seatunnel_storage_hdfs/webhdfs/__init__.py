"""Checkpoints in HDFS over WebHDFS: no Java, no native library, and failover between NameNodes."""

import functools
import getpass
import os
from collections.abc import Mapping

import requests

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_hdfs.backends import DEFAULT_FS
from seatunnel_storage_hdfs.probe import closed_on_failure
from seatunnel_storage_hdfs.webhdfs.address import Cluster, cluster
from seatunnel_storage_hdfs.webhdfs.client import WebHdfs
from seatunnel_storage_hdfs.webhdfs.site import PROXY_USER, USER, properties
from seatunnel_storage_hdfs.webhdfs.storage import WebHdfsStorage

FAILOVER = Backoff(attempts=20, first_wait_ms=100, longest_wait_ms=5_000)
"""About a minute: the time to detect a dead NameNode and fail over to the other one, or to restart a DataNode."""

_CREATION = {"dfs.replication": "replication", "dfs.blocksize": "blocksize"}
"""Parameters of CREATE, by the Hadoop property of their value."""

_KERBEROS = ("kerberosPrincipal", "kerberosKeytab", "kerberosKeytabFilePath")


def create(configuration: Mapping[str, str]) -> WebHdfsStorage:
    """Return a storage in a folder, after a test of it.

    An unreachable cluster is reported after a few attempts, because a user waits for the result. The storage itself
    retries for longer, see ``FAILOVER``.

    Raises:
        StorageConfigurationError: The configuration does not describe the cluster.
        StorageAccessError: The cluster denies access.
        StorageUnavailableError: It does not answer, is in safe mode, has no active NameNode or no DataNode.
    """
    namespace, max_retained = shared.namespace(configuration), shared.max_retained(configuration)
    address, webhdfs = address_of(configuration).name, connect(configuration)
    make = functools.partial(WebHdfsStorage, webhdfs, address=address, namespace=namespace, max_retained=max_retained)
    with closed_on_failure(webhdfs):
        trial, storage = make(backoff=Backoff()), make(backoff=FAILOVER)
        trial.read_only = storage.read_only = shared.read_only(configuration)
        trial.probe()
    return storage


def address_of(configuration: Mapping[str, str]) -> Cluster:
    """Return the cluster of a configuration, without a request.

    Raises:
        StorageConfigurationError: The configuration does not describe the cluster.
    """
    return cluster(configuration[DEFAULT_FS], properties(configuration))


def connect(configuration: Mapping[str, str]) -> WebHdfs:
    """Return a client of a cluster, for storages and connectors; it sends at most a request for a Kerberos ticket.

    Raises:
        StorageConfigurationError: The configuration does not describe the cluster, or a keytab does not work.
        StorageAccessError: The KDC rejects the principal.
        StorageUnavailableError: No KDC answers.
    """
    known = properties(configuration)
    return WebHdfs(
        cluster(configuration[DEFAULT_FS], known).urls,
        session=_session(configuration, known),
        proxy_user=known.get(PROXY_USER) or os.environ.get("HADOOP_PROXY_USER"),
        creation={parameter: known[name] for name, parameter in _CREATION.items() if name in known},
    )


def _session(configuration: Mapping[str, str], known: Mapping[str, str]) -> requests.Session:
    """Return a session with Kerberos if a principal is configured, else with a user name, which is not verified."""
    secured = _kerberos(configuration) if any(configuration.get(key) for key in _KERBEROS) else None
    if secured is not None:
        return secured
    session = requests.Session()
    session.params = {"user.name": known.get(USER) or os.environ.get("HADOOP_USER_NAME") or _system_user()}
    return session


def _kerberos(configuration: Mapping[str, str]) -> requests.Session | None:
    try:
        from seatunnel_storage_hdfs import kerberos
    except ModuleNotFoundError as cause:
        raise StorageConfigurationError(
            f"Kerberos needs the package {cause.name}, which is not installed: in a clone of this project, run "
            "pip install './plugins/seatunnel-storage-hdfs[kerberos]'"
        ) from cause
    return kerberos.session(configuration)


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as cause:
        raise StorageConfigurationError(
            f"this machine has no name for the user of this process. Set {USER} in plugin-config"
        ) from cause
