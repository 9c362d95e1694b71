"""Servers that are killed, and a bad network before them, while engines store: nothing is lost, doubled or partial.

Each run prints its figures in one line.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import oss2
import pytest
import requests

from tests.figures import Figure
from tests.servers.hadoop import HdfsCluster
from tests.servers.objects.minio import MinIO
from tests.servers.objects.oss import BUCKET, KEY_ID, SECRET, OssStandIn
from tests.servers.objects.s3 import S3Server
from tests.servers.objects.versitygw import Versitygw
from tests.servers.proxy import Plan, Proxy
from tests.servers.storm import Storm, contest

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]

Paths = Callable[[], Iterable[str]]
PLAN: dict[str, Any] = {"seed": 1, "share": 0.2}
"""Every fifth request meets a fault."""


def test_engines_killed_on_local_files(tmp_path: Path, figure: Figure) -> None:
    namespace = tmp_path / "namespace"
    storm = Storm(
        configuration={"storage.type": "local", "namespace": f"{namespace}/"}, folder=tmp_path, engine_kills=16
    )
    storm.rage()
    storm.settle(lambda: [str(path.relative_to(namespace)) for path in namespace.rglob("*") if path.is_file()])
    figure(f"local files: {storm}")


# -- S3


@pytest.fixture(scope="module", params=[MinIO, pytest.param(Versitygw, marks=pytest.mark.twin)])
def s3(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    server: S3Server = request.param(tmp_path_factory.mktemp("s3"))
    server.start()
    yield server
    server.kill()


def objects(server: S3Server, bucket: str, namespace: str) -> Paths:
    def paths() -> list[str]:
        client = server.client()
        assert not client.list_multipart_uploads(Bucket=bucket).get("Uploads")
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=namespace)
        return [each["Key"].removeprefix(namespace) for page in pages for each in page.get("Contents", [])]

    return paths


def test_an_s3_server_killed(s3: S3Server, tmp_path: Path, figure: Figure) -> None:
    bucket = s3.make_bucket("killed")
    storm = Storm(
        configuration=s3.configuration(bucket, namespace="/storm/"),
        folder=tmp_path,
        victims=[s3.process],
        kills=8,
        engine_kills=8,
    )
    storm.rage()
    storm.settle(objects(s3, bucket, "storm/"))
    figure(f"{type(s3).__name__} killed: {storm}")


@pytest.mark.twin
def test_a_bad_network_before_an_s3_server(s3: S3Server, tmp_path: Path, figure: Figure) -> None:
    bucket = s3.make_bucket("far-away")
    calm = s3.configuration(bucket, namespace="/storm/")
    with Proxy(f"127.0.0.1:{s3.port}", Plan(**PLAN)) as proxy:
        bad = {"fs.s3a.endpoint": f"http://{proxy.address}"}
        storm = Storm(configuration={**calm, **bad}, folder=tmp_path)
        storm.rage()
        won = contest({**calm, **bad, "namespace": "/contest/"}, rounds=50)
    storm.settle(objects(s3, bucket, "storm/"), calm)
    figure(f"bad network before {type(s3).__name__}: {proxy.plan}; {storm}; {won}")


# -- OSS, a stand-in


@pytest.fixture(scope="module")
def oss(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OssStandIn]:
    server = OssStandIn(tmp_path_factory.mktemp("oss"))
    server.start()
    yield server
    server.kill()


@pytest.mark.twin
def test_a_bad_network_before_the_stand_in_for_oss(oss: OssStandIn, tmp_path: Path, figure: Figure) -> None:
    calm = oss.configuration("/storm/")
    with Proxy(f"127.0.0.1:{oss.port}", Plan(**PLAN)) as proxy:
        bad = {"fs.oss.endpoint": f"http://{proxy.address}"}
        storm = Storm(configuration={**calm, **bad}, folder=tmp_path)
        storm.rage()
        won = contest({**calm, **bad, "namespace": "/contest/"}, rounds=50)
    bucket = oss2.Bucket(oss2.Auth(KEY_ID, SECRET), oss.endpoint, BUCKET)
    storm.settle(lambda: [each.key.removeprefix("storm/") for each in oss2.ObjectIteratorV2(bucket, "storm/")], calm)
    figure(f"bad network before the stand-in for OSS: {proxy.plan}; {storm}; {won}")


# -- HDFS


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    with HdfsCluster(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster


def files(cluster: HdfsCluster, namespace: str) -> Paths:
    """Those in ``.tmp`` as well: the last claim has swept them."""

    def below(folder: str) -> Iterator[str]:
        answer = requests.get(f"http://{cluster.http}/webhdfs/v1{namespace}{folder}?op=LISTSTATUS", timeout=20)
        for entry in answer.json()["FileStatuses"]["FileStatus"]:
            path = folder + entry["pathSuffix"]
            if entry["type"] == "DIRECTORY":
                yield from below(f"{path}/")
            else:
                yield path

    return lambda: below("")


@pytest.mark.twin
def test_the_nodes_of_hdfs_killed(hdfs: HdfsCluster, tmp_path: Path, figure: Figure) -> None:
    storm = Storm(
        configuration=hdfs.configuration("/killed/"),
        folder=tmp_path,
        victims=[hdfs.namenode, hdfs.datanode],
        kills=6,
        engine_kills=8,
    )
    storm.rage()
    storm.settle(files(hdfs, "/killed/"))
    figure(f"NameNode and DataNode killed: {storm}")


@pytest.mark.twin
def test_a_bad_network_before_hdfs(hdfs: HdfsCluster, tmp_path: Path, figure: Figure) -> None:
    plan = Plan(**PLAN)
    calm = hdfs.configuration("/storm/")
    with (
        Proxy(hdfs.datanode_http, plan) as data,
        Proxy(hdfs.http, plan, redirects={hdfs.datanode_http: data.address}) as names,
    ):
        bad = {"dfs.namenode.http-address": names.address}
        storm = Storm(configuration={**calm, **bad}, folder=tmp_path, stores=400)  # of five requests each
        storm.rage()
        won = contest({**calm, **bad, "namespace": "/contest/"}, rounds=20)
    storm.settle(files(hdfs, "/storm/"), calm)
    figure(f"bad network before HDFS: {plan}; {storm}; {won}")
