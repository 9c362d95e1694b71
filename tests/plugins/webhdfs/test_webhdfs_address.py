"""From a configuration to the web servers of its NameNodes, without any server."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from seatunnel_core.clients.webhdfs.address import cluster
from seatunnel_core.clients.webhdfs.site import properties
from seatunnel_storage_api.errors import StorageConfigurationError

PAIR = {
    "dfs.nameservices": "other, ha",
    "dfs.ha.namenodes.ha": "nn1,nn2",
    "dfs.namenode.rpc-address.ha.nn1": "one.example.com:8020",
    "dfs.namenode.rpc-address.ha.nn2": "two.example.com:8020",
}
SECURE = {"dfs.http.policy": "HTTPS_ONLY"}


@pytest.mark.parametrize(
    ("file_system", "known", "urls"),
    [
        ("hdfs://one:8020", {}, ["http://one:9870"]),
        ("hdfs://one/", {}, ["http://one:9870"]),
        ("hdfs://one:8020;two:8020", {}, ["http://one:9870", "http://two:9870"]),
        ("hdfs://[fd00::1]:8020", {}, ["http://[fd00::1]:9870"]),
        ("hdfs://one:8020", SECURE, ["https://one:9871"]),
        ("webhdfs://one:14000", {}, ["http://one:14000"]),
        ("swebhdfs://one", {}, ["https://one:9871"]),
        ("hdfs://one:8020", {"dfs.namenode.http-address": "web:50070"}, ["http://web:50070"]),
        ("hdfs://one:8020", {"dfs.namenode.http-address": "0.0.0.0:50070"}, ["http://one:50070"]),
        ("hdfs://one:8020", {"dfs.namenode.http-address": "https://web"}, ["https://web:9871"]),
        ("hdfs://ha", {"dfs.namenode.http-address": "a:1; b:2"}, ["http://a:1", "http://b:2"]),
        ("hdfs://one:8020", {**SECURE, "dfs.namenode.https-address": "web:1"}, ["https://web:1"]),
        ("hdfs://ha", PAIR, ["http://one.example.com:9870", "http://two.example.com:9870"]),
        ("hdfs://ha", {**PAIR, **SECURE}, ["https://one.example.com:9871", "https://two.example.com:9871"]),
        (
            "hdfs://ha",
            {
                **PAIR,
                "dfs.namenode.http-address.ha.nn1": "0.0.0.0:1",
                "dfs.namenode.http-address.ha.nn2": "web:2",
            },
            ["http://one.example.com:1", "http://web:2"],
        ),
        ("hdfs://ha", {"dfs.nameservices": "ha", "dfs.namenode.http-address.ha": "one:1"}, ["http://one:1"]),
        ("hdfs://third:8020", PAIR, ["http://third:9870"]),
    ],
)
def test_where_the_web_servers_are(file_system: str, known: Mapping[str, str], urls: list[str]) -> None:
    assert list(cluster(file_system, known).urls) == urls


@pytest.mark.parametrize(
    ("file_system", "known", "says"),
    [
        ("s3a://bucket", {}, "is not an HDFS cluster"),
        ("hdfs:///", {}, "is not an HDFS cluster"),
        ("hdfs://one:8020/folder", {}, "not the address of a NameNode"),
        ("hdfs://one:99999", {}, "not the address of a NameNode"),
        ("hdfs://user@one:8020", {}, "not the address of a NameNode"),
        ("hdfs://one:8020", {"dfs.namenode.http-address": "one:web"}, "not the address of a NameNode"),
        ("hdfs://third", PAIR, "has only other, ha"),
        ("hdfs://other", PAIR, "dfs.namenode.http-address.other"),
        ("hdfs://ha", {**PAIR, "dfs.ha.namenodes.ha": "nn1,nn3"}, "dfs.namenode.rpc-address.ha.nn3"),
    ],
)
def test_what_cannot_be_found_says_what_to_write(file_system: str, known: Mapping[str, str], says: str) -> None:
    with pytest.raises(StorageConfigurationError, match=says):
        cluster(file_system, known)


def _site(path: Path, **entries: str) -> None:
    body = "".join(f"<property><name>{k}</name><value> {v} </value></property>" for k, v in entries.items())
    path.write_text(f"<?xml version='1.0'?><!-- of the cluster --><configuration>{body}</configuration>")


def test_later_sources_outweigh_earlier_ones(tmp_path: Path) -> None:
    _site(tmp_path / "core-site.xml", a="core", b="core")
    _site(tmp_path / "hdfs-site.xml", b="hdfs", c="${a}-${unknown}", d="hdfs")
    found = properties(
        {
            "hdfs_site_path": str(tmp_path),
            "seatunnel.hadoop.d": "prefixed",
            "seatunnel.hadoop.hadoop.user.name": "prefixed",
            "hadoop.user.name": "plain",
            "namespace": "/none-of-hadoop/",
        }
    )
    assert found == {"a": "core", "b": "hdfs", "c": "core-${unknown}", "d": "prefixed", "hadoop.user.name": "plain"}


def test_a_file_alone_a_folder_without_core_site_and_a_circle(tmp_path: Path) -> None:
    _site(tmp_path / "hdfs-site.xml", a="${b}", b="${a}")
    one, other = (properties({"hdfs_site_path": str(path)}) for path in (tmp_path, tmp_path / "hdfs-site.xml"))
    assert one == other
    assert one.keys() == {"a", "b"}


@pytest.mark.parametrize("content", [None, "", "name=value", "<configuration>"])
def test_a_site_that_cannot_be_read(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "site.xml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(StorageConfigurationError, match=r"hdfs_site_path.*Copy"):
        properties({"hdfs_site_path": str(path)})
