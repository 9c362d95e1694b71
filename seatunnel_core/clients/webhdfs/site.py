"""Hadoop properties from XML files, ``seatunnel.hadoop.*`` and keys of the plugin."""

import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from seatunnel_storage_api.errors import StorageConfigurationError

SITE_PATH = "hdfs_site_path"
PREFIX = "seatunnel.hadoop."
HTTP_ADDRESS = "dfs.namenode.http-address"
USER = "hadoop.user.name"
PROXY_USER = "hadoop.proxy.user"

_PLAIN_KEYS = (HTTP_ADDRESS, USER, PROXY_USER)
_REFERENCE = re.compile(r"\$\{([^${}\s]+)\}")
_MOST_EXPANSIONS = 20
"""Maximum number of variable expansions, as in Hadoop."""


def properties(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the cluster's properties from files, prefixed keys and plain keys, each overriding the previous ones."""
    found = _of_files(configuration.get(SITE_PATH) or "")
    found |= {key.removeprefix(PREFIX): value for key, value in configuration.items() if key.startswith(PREFIX)}
    found |= {key: configuration[key] for key in _PLAIN_KEYS if configuration.get(key)}
    return {name: _expanded(value, found) for name, value in found.items()}


def _of_files(written: str) -> dict[str, str]:
    """Return the properties in a file, or in a folder's ``hdfs-site.xml`` and, if it exists, ``core-site.xml``."""
    if not written:
        return {}
    path = Path(written)
    files = [path / "core-site.xml", path / "hdfs-site.xml"] if path.is_dir() else [path]
    if not files[-1].is_file():
        raise StorageConfigurationError(
            f"{SITE_PATH} is {written!r}, but {files[-1]} is not a readable file. Copy hdfs-site.xml of the "
            "cluster to this machine, and set its path or the path of its folder"
        )
    return {name: value for file in files if file.is_file() for name, value in _of_file(file).items()}


def _of_file(file: Path) -> dict[str, str]:
    try:
        root = ElementTree.parse(file).getroot()
    except (ElementTree.ParseError, OSError) as cause:
        raise StorageConfigurationError(
            f"{SITE_PATH}: {file} cannot be read as XML: {cause}. Copy the file from the cluster again"
        ) from cause
    entries = ((each.findtext("name"), each.findtext("value")) for each in root.iter("property"))
    return {name.strip(): value.strip() for name, value in entries if name and value}


def _expanded(value: str, among: Mapping[str, str]) -> str:
    """Replace each ``${name}`` with the value of the property of this name; unknown names remain."""
    for _ in range(_MOST_EXPANSIONS):
        expanded = _REFERENCE.sub(lambda match: among.get(match[1], match[0]), value)
        if expanded == value:
            break
        value = expanded
    return value
