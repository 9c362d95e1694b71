"""WebHDFS clients, configured with Hadoop's keys."""

import getpass
import os
from collections.abc import Mapping

import requests

from seatunnel_core.clients.keys import DEFAULT_FS
from seatunnel_core.clients.webhdfs.address import Cluster, cluster
from seatunnel_core.clients.webhdfs.client import WebHdfs
from seatunnel_core.clients.webhdfs.site import PROXY_USER, USER, properties
from seatunnel_storage_api.errors import StorageConfigurationError

_CREATION = {"dfs.replication": "replication", "dfs.blocksize": "blocksize"}
"""Parameters of CREATE, by Hadoop property."""

_KERBEROS = ("kerberosPrincipal", "kerberosKeytab", "kerberosKeytabFilePath")


def address_of(configuration: Mapping[str, str]) -> Cluster:
    """Return the configured cluster without sending a request."""
    return cluster(configuration[DEFAULT_FS], properties(configuration))


def connect(configuration: Mapping[str, str]) -> WebHdfs:
    """Return a client of a cluster. It may send a request for a Kerberos ticket."""
    known = properties(configuration)
    return WebHdfs(
        cluster(configuration[DEFAULT_FS], known).urls,
        session=_session(configuration, known),
        proxy_user=known.get(PROXY_USER) or os.environ.get("HADOOP_PROXY_USER"),
        creation={parameter: known[name] for name, parameter in _CREATION.items() if name in known},
    )


def _session(configuration: Mapping[str, str], known: Mapping[str, str]) -> requests.Session:
    """Return a session with Kerberos if a principal is configured, otherwise with a user name that is not verified."""
    secured = _kerberos(configuration) if any(configuration.get(key) for key in _KERBEROS) else None
    if secured is not None:
        return secured
    session = requests.Session()
    session.params = {"user.name": known.get(USER) or os.environ.get("HADOOP_USER_NAME") or _system_user()}
    return session


def _kerberos(configuration: Mapping[str, str]) -> requests.Session | None:
    try:
        from seatunnel_core.clients import kerberos
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
            f"the user of this process has no name on this machine. Set {USER} in plugin-config"
        ) from cause
