"""WebHDFS addresses of the NameNodes of a cluster."""

import re
from collections.abc import Iterator, Mapping

from attrs import frozen

from seatunnel_core.clients.keys import DEFAULT_FS
from seatunnel_core.clients.webhdfs.site import HTTP_ADDRESS, SITE_PATH
from seatunnel_storage_api.errors import StorageConfigurationError

_DEFAULT_PORTS = {"http": 9870, "https": 9871}
_OVER_HTTP = {"webhdfs": "http", "swebhdfs": "https"}
_AUTHORITY = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?")
_ANY_HOST = ("0.0.0.0", "[::]")


@frozen(kw_only=True)
class Cluster:
    """An HDFS file system."""

    name: str
    """The configured name: ``hdfs://host:port`` or ``hdfs://nameservice``."""

    urls: tuple[str, ...]
    """URL of each NameNode's web server, without a path; several for high availability."""


def cluster(file_system: str, properties: Mapping[str, str]) -> Cluster:
    """Return the cluster that ``fs.defaultFS`` refers to.

    Its web addresses come from ``dfs.namenode.http-address`` (separated by ";"), or else from the properties of the
    nameservice, or else from the hosts in ``fs.defaultFS`` with Hadoop's default port. They use https if
    ``dfs.http.policy`` is ``HTTPS_ONLY``.
    """
    scheme, _, rest = file_system.partition("://")
    if scheme not in ("hdfs", *_OVER_HTTP) or not rest.strip("/"):
        raise StorageConfigurationError(
            f"{DEFAULT_FS} is {file_system!r}, which is not an HDFS cluster. Set {DEFAULT_FS}: hdfs://host:port, or "
            f"hdfs://nameservice together with {SITE_PATH}"
        )
    authority = rest.rstrip("/")
    web = _OVER_HTTP.get(scheme) or _web_scheme(properties)
    addresses = authority.split(";") if scheme in _OVER_HTTP else _web_addresses(authority, web, properties)
    urls = tuple(_url(web, address) for address in addresses)
    return Cluster(name=f"{scheme}://{authority}", urls=urls)


def _web_scheme(properties: Mapping[str, str]) -> str:
    return "https" if properties.get("dfs.http.policy", "").upper() == "HTTPS_ONLY" else "http"


def _web_addresses(authority: str, web: str, properties: Mapping[str, str]) -> Iterator[str]:
    named = properties.get(HTTP_ADDRESS.replace("http-", f"{web}-")) or properties.get(HTTP_ADDRESS)
    nameservices = _names(properties.get("dfs.nameservices", ""))
    if authority in nameservices:
        yield from _of_nameservice(authority, web, properties)
    elif named:
        rpc_host = _host(authority.split(";")[0])
        yield from (_somewhere(address, rpc_host) for address in re.split(r"[;,]", named) if address)
    elif nameservices and ":" not in authority:
        raise StorageConfigurationError(
            f"{DEFAULT_FS} contains the nameservice {authority!r}, but dfs.nameservices has only "
            f"{', '.join(nameservices)}. Set {DEFAULT_FS}: hdfs://{nameservices[0]}, use the {SITE_PATH} of the "
            f"right cluster, or add the port if {authority} is a host"
        )
    else:
        yield from (_host(each) for each in authority.split(";"))


def _of_nameservice(name: str, web: str, properties: Mapping[str, str]) -> Iterator[str]:
    nodes = _names(properties.get(f"dfs.ha.namenodes.{name}", ""))
    for suffix in [f".{name}.{node}" for node in nodes] or [f".{name}"]:
        rpc = properties.get(f"dfs.namenode.rpc-address{suffix}", "")
        address = properties.get(f"dfs.namenode.{web}-address{suffix}") or (rpc and _host(rpc))
        if not address:
            raise StorageConfigurationError(
                f"{DEFAULT_FS} contains the nameservice {name!r}, but neither dfs.namenode.{web}-address{suffix} nor "
                f"dfs.namenode.rpc-address{suffix} is set. Set {SITE_PATH} to hdfs-site.xml of the cluster, or set "
                "one of these keys with the prefix seatunnel.hadoop."
            )
        yield _somewhere(address, _host(rpc) if rpc else "")


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _host(authority: str) -> str:
    return _parsed(authority)[0]


def _somewhere(address: str, rpc_host: str) -> str:
    """Return the address of a web server. If it listens on all interfaces, use the host of the RPC server."""
    host, colon, port = address.strip().rpartition(":")
    return f"{rpc_host}:{port}" if colon and host in _ANY_HOST and rpc_host else address.strip()


def _url(web: str, address: str) -> str:
    scheme, separator, rest = address.rpartition("://")
    chosen = scheme if separator and scheme in _DEFAULT_PORTS else web
    host, port = _parsed(rest.rstrip("/") if chosen == scheme else address)
    return f"{chosen}://{host}:{port or _DEFAULT_PORTS[chosen]}"


def _parsed(authority: str) -> tuple[str, int | None]:
    match = _AUTHORITY.fullmatch(authority.strip())
    if match is None or int(match[2] or 1) not in range(1, 2**16):
        raise StorageConfigurationError(
            f"{authority!r} is not the address of a NameNode. Use host or host:port in {DEFAULT_FS} and "
            f'{HTTP_ADDRESS}; separate several addresses with ";"'
        )
    return match[1], int(match[2]) if match[2] else None
