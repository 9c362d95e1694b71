"""Whole jobs that read and write files on servers: killed while rows are on their way, and restored (lesson 21)."""

import getpass
import io
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import oss2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen

from seatunnel_core.job.restoring import Restore
from seatunnel_core.reporting.report import JobOutcome
from tests.connectors.file.hdfs_files import Files
from tests.runtime.command import Command, job
from tests.runtime.ground import WAIT_S, committed, ground_in, run_through, until
from tests.servers.ftpd import PASSWORD, USER, Ftpd
from tests.servers.hadoop import HdfsCluster
from tests.servers.objects.minio import MinIO
from tests.servers.objects.oss import BUCKET, KEY_ID, SECRET, OssStandIn
from tests.servers.objects.s3 import S3Server
from tests.servers.objects.versitygw import Versitygw
from tests.servers.process import ServerProcess
from tests.servers.sshd import Sshd

pytestmark = [pytest.mark.servers, pytest.mark.twin, pytest.mark.timeout(600), pytest.mark.xdist_group("remote-jobs")]

FILES = 60
ROWS_EACH = 10
ALL = list(range(FILES * ROWS_EACH))


@frozen(kw_only=True)
class Place:
    """A server with an input, and how to look at what a job wrote."""

    connector: str
    options: Mapping[str, Any]
    folder: str
    put: Callable[[str, bytes], None]
    restart: Callable[[], None]
    """Kill the server, and start it again on what it has."""

    kill: Callable[[], object] | None = None
    start: Callable[[], None] | None = None
    """The two halves of that, where there are two."""

    names: Callable[[], Mapping[str, bytes]]
    """What is below the output: everything by its name."""

    def block(self, path: str, more: str) -> str:
        lines = "".join(f"    {key} = {json.dumps(value)}\n" for key, value in self.options.items())
        return f'  {self.connector} {{\n{lines}    path = "{self.folder}/{path}"\n    {more}\n  }}\n'

    def text(self, *, rows_per_second: int | None, retries: int = 0, parallelism: int = 1) -> str:
        limit = "" if rows_per_second is None else f", read_limit.rows_per_second = {rows_per_second}"
        retry = f"job.retry.times = {retries}, job.retry.interval.seconds = 1"
        env = f"job.mode = BATCH, parallelism = {parallelism}, checkpoint.interval = 50, {retry}{limit}"
        source = self.block("in", "file_format_type = parquet, plugin_output = a")
        return job(env, [source], [self.block("out", "file_format_type = json, plugin_input = a")])

    def fill(self) -> None:
        for number in range(FILES):
            ids = range(number * ROWS_EACH, (number + 1) * ROWS_EACH)
            out = io.BytesIO()
            pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), out)
            self.put(f"in/{number:03}.parquet", out.getvalue())

    def ids(self) -> list[int]:
        found = [body for name, body in self.names().items() if not name.startswith(".seatunnel/")]
        return sorted(json.loads(line)["id"] for body in found for line in body.splitlines())

    def staged(self) -> list[str]:
        return [name for name in self.names() if name.startswith(".seatunnel/")]


def on_s3(tmp_path: Path, kind: type[S3Server] = MinIO) -> Iterator[Place]:
    (tmp_path / "s3").mkdir()
    with kind(tmp_path / "s3") as server:
        server.make_bucket("files")
        client = server.client()

        def names() -> Mapping[str, bytes]:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket="files", Prefix="work/out/")
            keys = [found["Key"] for page in pages for found in page.get("Contents", ())]
            found = {}
            for key in keys:
                with suppress(client.exceptions.NoSuchKey):  # the job works meanwhile
                    found[key.removeprefix("work/out/")] = client.get_object(Bucket="files", Key=key)["Body"].read()
            return found

        yield Place(
            connector="S3File",
            options={
                "bucket": "files",
                "fs.s3a.endpoint": server.endpoint,
                "access_key": server.access_key,
                "secret_key": server.secret_key,
                "hadoop_s3_properties": {"fs.s3a.path.style.access": "true"},
            },
            folder="/work",
            put=lambda name, body: client.put_object(Bucket="files", Key=f"work/{name}", Body=body) and None,
            restart=server.restart,
            kill=server.process.kill,
            start=server.process.start,
            names=names,
        )


def on_versitygw(tmp_path: Path) -> Iterator[Place]:
    yield from on_s3(tmp_path, Versitygw)


def on_oss(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "oss").mkdir()
    server = OssStandIn(tmp_path / "oss")
    server.start()
    bucket = oss2.Bucket(oss2.Auth(KEY_ID, SECRET), server.endpoint, BUCKET)

    def names() -> Mapping[str, bytes]:
        keys = [each.key for each in oss2.ObjectIteratorV2(bucket, prefix="work/out/")]
        found = {}
        for key in keys:
            with suppress(oss2.exceptions.NoSuchKey):  # the job works meanwhile
                found[key.removeprefix("work/out/")] = bucket.get_object(key).read()
        return found

    try:
        yield Place(
            connector="OssFile",
            options={
                "bucket": BUCKET,
                "endpoint": server.endpoint,
                "access_key": KEY_ID,
                "access_secret": SECRET,
            },
            folder="/work",
            put=lambda name, body: bucket.put_object(f"work/{name}", body) and None,
            restart=lambda: server.set(faults=["drop", "drop-after", 503] * 2),  # a killed one comes back empty
            names=names,
        )
    finally:
        bucket.session.session.close()
        server.kill()


def on_sftp(tmp_path: Path) -> Iterator[Place]:
    pytest.importorskip("paramiko")
    for name in ("sshd", "files", "files/in"):
        (tmp_path / name).mkdir()
    server = Sshd(tmp_path / "sshd")
    server.process.start()
    out = tmp_path / "files" / "out"
    try:
        yield Place(
            connector="SftpFile",
            options={
                "host": "127.0.0.1",
                "port": server.port,
                "user": getpass.getuser(),
                "private_key_path": str(server.folder / "user_key"),
            },
            folder=f"{tmp_path}/files",
            put=lambda name, body: (tmp_path / "files" / name).write_bytes(body) and None,  # type: ignore[arg-type]
            restart=server.process.restart,
            names=lambda: {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()},
        )
    finally:
        server.process.kill()


def on_ftp(tmp_path: Path) -> Iterator[Place]:
    root = tmp_path / "files"
    (root / "in").mkdir(parents=True)
    out = root / "out"
    server = Ftpd(root, tmp_path / "ftpd.log")
    server.process.start()
    try:
        yield Place(
            connector="FtpFile",
            options={"host": "127.0.0.1", "port": server.port, "user": USER, "password": PASSWORD},
            folder="",
            put=lambda name, body: (root / name).write_bytes(body) and None,  # type: ignore[arg-type]
            restart=server.process.restart,
            names=lambda: {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()},
        )
    finally:
        server.process.kill()


def on_hdfs(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "hdfs").mkdir()
    with HdfsCluster(tmp_path / "hdfs") as cluster:
        files = Files(cluster.http)
        turns = cycle((cluster.namenode, cluster.datanode))
        down: list[ServerProcess] = []

        def kill() -> None:
            down.append(next(turns))
            down[-1].kill()

        yield Place(
            connector="HdfsFile",
            options={"fs.defaultFS": f"hdfs://{cluster.rpc}", "dfs.namenode.http-address": cluster.http},
            folder="/jobs",
            put=lambda name, body: files.put(f"/jobs/{name}", body),
            restart=lambda: next(turns).restart(),
            kill=kill,
            start=lambda: down.pop().start(),
            names=lambda: {path.removeprefix("/jobs/out/"): body for path, body in files.contents("/jobs/out").items()},
        )


PLACES = {"FtpFile": on_ftp, "HdfsFile": on_hdfs, "OssFile": on_oss, "S3File": on_s3, "SftpFile": on_sftp}
"""By connector."""


@pytest.fixture(params=PLACES.values(), ids=PLACES)  # type: ignore[call-overload]
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    for made in request.param(tmp_path):
        made.fill()
        yield made


def test_a_killed_job_is_restored_to_every_row_once(remote: Place, tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        with ground.run(remote.text(rows_per_second=100)) as first:
            first.start()
            until(lambda: committed(first) >= len(ALL) // 6, first)
            first.kill()
            report = first.wait(WAIT_S)
            assert report is not None
            assert report.outcome is JobOutcome.STOPPED
        assert 0 < len(remote.ids()) < len(ALL)
        report, _ = run_through(ground.run(remote.text(rows_per_second=None), restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
    assert remote.ids() == ALL
    assert remote.staged() == []


@pytest.mark.parametrize("parallelism", [1, 2, 8])
def test_the_same_rows_at_every_parallelism(remote: Place, tmp_path: Path, parallelism: int) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        report, _ = run_through(ground.run(remote.text(rows_per_second=None, parallelism=parallelism)))
        assert report.outcome is JobOutcome.FINISHED, report
    assert remote.ids() == ALL
    assert remote.staged() == []


@pytest.mark.torture
def test_twenty_kills_cost_no_row_and_double_none(remote: Place, tmp_path: Path) -> None:
    """Each as soon as a few more rows are committed, the server's own death among them."""
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        for number in range(20):
            how: dict[str, Any] = {} if not number else {"restore": Restore()}
            with ground.run(remote.text(rows_per_second=300), **how) as run:
                run.start()
                until(lambda number=number, run=run: committed(run) >= (number + 1) * len(ALL) // 25, run)  # type: ignore[misc]
                run.kill()
                assert run.wait(WAIT_S) is not None
            if number % 5 == 4:
                remote.restart()
        report, _ = run_through(ground.run(remote.text(rows_per_second=None), restore=Restore()))
        assert report.outcome is JobOutcome.FINISHED, report
    assert remote.ids() == ALL
    assert remote.staged() == []


def test_a_server_that_dies_and_comes_back_costs_time_and_no_rows(remote: Place, tmp_path: Path) -> None:
    with ground_in(tmp_path) as ground:
        ground.work.mkdir()
        with ground.run(remote.text(rows_per_second=300, retries=5)) as run:
            run.start()
            for share in (6, 3, 2):
                until(lambda share=share: committed(run) >= len(ALL) // share, run)  # type: ignore[misc]
                remote.restart()
            report = run.wait(WAIT_S)
            assert report is not None
            assert report.outcome is JobOutcome.FINISHED, report
    assert remote.ids() == ALL
    assert remote.staged() == []


@pytest.mark.torture
@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(on_s3, id="minio"),
        pytest.param(on_versitygw, id="versitygw"),
        pytest.param(on_hdfs, id="hdfs"),
    ],
)
def test_ten_deaths_of_a_server_cost_time_and_no_rows(begin: Callable[[Path], Iterator[Place]], tmp_path: Path) -> None:
    """Each when more rows are committed than before, while others are on their way, and it is away for one to three
    seconds; in HDFS the NameNode and the DataNode by turns."""
    rng = random.Random(7)
    for place in begin(tmp_path):
        place.fill()
        with ground_in(tmp_path) as ground:
            ground.work.mkdir()
            with ground.run(place.text(rows_per_second=10, retries=40)) as run:
                run.start()
                before = 0
                for _ in range(10):
                    until(lambda before=before: committed(run) > before, run)  # type: ignore[misc]
                    assert place.kill is not None
                    assert place.start is not None
                    place.kill()
                    before = committed(run)
                    assert before < len(ALL), "the kill came too late"
                    time.sleep(rng.uniform(1, 3))
                    place.start()
                report = run.wait(WAIT_S)
                assert report is not None
                assert report.outcome is JobOutcome.FINISHED, report
        assert place.ids() == ALL
        assert place.staged() == []


@pytest.mark.spark
def test_the_command_is_killed_and_goes_on(remote: Place, tmp_path: Path) -> None:
    """With Spark and its tasks; and no secret is in what it says."""
    command = Command.of(tmp_path / "job", remote.text(rows_per_second=200))
    engine = command.begin()
    deadline = time.monotonic() + 300
    try:
        while len(remote.ids()) < len(ALL) // 6:
            assert engine.exit_code is None, engine.output[-3000:]
            assert time.monotonic() < deadline, engine.output[-3000:]
            time.sleep(0.2)
    finally:
        engine.end()
    assert len(remote.ids()) < len(ALL)
    again = command.resume()
    assert again.wait(300) == 0, again.output[-3000:]
    assert remote.ids() == ALL
    assert remote.staged() == []
    assert "a-secret-of-the-tests" not in engine.output + again.output
