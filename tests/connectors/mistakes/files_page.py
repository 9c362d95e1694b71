"""Writes ``docs/evidence/mistakes-files.md``, by making each mistake.

Run it with ``python -m tests.connectors.mistakes.files_page``.

Each is a whole job, which reads the server's files or writes there, and in which no row may have moved.
"""

import getpass
import hashlib
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import requests
from attrs import frozen
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from seatunnel_core.connectors.filesystems import hdfs as hdfs_files
from seatunnel_core.connectors.filesystems.oss import store as oss_store
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.reporting.report import JobOutcome
from seatunnel_storage_api.retry import Backoff
from tests.connectors.file.hdfs_files import Files
from tests.runtime.command import fake_source, job
from tests.runtime.ground import Ground, ground_in, run_through
from tests.servers import ftpd
from tests.servers.ftpd import Ftpd
from tests.servers.hadoop import HdfsCluster
from tests.servers.objects.minio import MinIO
from tests.servers.objects.oss import BUCKET, KEY_ID, SECRET, OssStandIn
from tests.servers.objects.s3 import REGION
from tests.servers.process import deaf_port
from tests.servers.sshd import Sshd

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "mistakes-files.md"

_HEAD = """# Mistakes with file servers and their messages

The messages of the file connectors, which the job reports before any row moves; [mistakes](mistakes.md) has those about
job files and data. No message contains a password or key. `127.0.0.1:PORT` stands for the address of a server.
`python -m tests.connectors.mistakes.files_page` makes each mistake with a real server (for OSS with a stand-in) and
generates this page.
"""

_NOWHERE = "no-such-host.invalid"
_SCHEMA = {"fields": {"id": "bigint"}}


@frozen
class Mistake:
    """One change to what works."""

    what: str
    change: Mapping[str, Any]
    """Options; ``None`` takes one away."""

    side: str = "source"


@frozen(kw_only=True)
class Section:
    """A server that runs, and what can be wrong with it."""

    connector: str
    good: Mapping[str, Any]
    mistakes: Sequence[Mistake]
    secrets: Sequence[str] = ()

    def message(self, ground: Ground, mistake: Mistake) -> str:
        """The message."""
        given = {**self.good, "file_format_type": "json", **mistake.change}
        options = "".join(f"    {key} = {json.dumps(value)}\n" for key, value in given.items() if value is not None)
        shutil.rmtree(ground.work, ignore_errors=True)
        ground.work.mkdir(parents=True)
        if mistake.side == "source":
            declared = f"    schema = {json.dumps(_SCHEMA)}\n    plugin_output = a\n"
            source = f"  {self.connector} {{\n{options}{declared}  }}\n"
            target = "  Console { plugin_input = a }\n"
        else:
            source = fake_source("a", rows=10, splits=2)
            target = f"  {self.connector} {{\n{options}    plugin_input = a\n  }}\n"
        text = job("job.mode = BATCH, parallelism = 1, job.retry.times = 0", [source], [target])
        return self._hidden(_message(ground, text))

    def _hidden(self, message: str) -> str:
        assert not [secret for secret in self.secrets if secret in message], message
        shown = re.sub(r"127\.0\.0\.1:\d+|localhost:\d+", "127.0.0.1:PORT", message)
        shown = re.sub(r" \(_ssl\.c:\d+\)", "", shown)
        shown = re.sub(r"port[= ]\d{4,5}", "port PORT", shown)
        shown = re.sub(r"(\.probe-?[^ ]*?)[0-9a-f]{16}", r"\1…", shown)
        shown = re.sub(r"Name or service not known|Temporary failure in name resolution", "Name not known", shown)
        return re.sub(r"[^ ]*/seatunnel-mistakes-[^/]*/", "", shown).strip()


def _message(ground: Ground, text: str) -> str:
    try:
        report, _ = run_through(ground.run(text))
    except SeaTunnelError as error:
        return str(error)
    assert report.outcome is JobOutcome.FAILED, report
    (pipeline,) = report.pipelines
    assert (pipeline.rows_read, pipeline.rows_committed) == (0, 0), "rows have moved"
    return report.failure or pipeline.failure or ""


# -- the servers -------------------------------------------------------------------------------------------------------


def _as_restricted(keys: Mapping[str, str]) -> dict[str, Any]:
    """The options with which ``S3File`` has the keys of ``MinIO.restricted``."""
    return {
        "fs.s3a.aws.credentials.provider": "TemporaryAWSCredentialsProvider",
        "access_key": keys["fs.s3a.access.key"],
        "secret_key": keys["fs.s3a.secret.key"],
        "hadoop_s3_properties": {"fs.s3a.session.token": keys["fs.s3a.session.token"]},
    }


def on_s3(folder: Path, stack: ExitStack) -> Section:
    for name in ("plain", "tls"):
        (folder / name).mkdir()
    server = stack.enter_context(MinIO(folder / "plain"))
    guarded = stack.enter_context(MinIO(folder / "tls", tls=True))
    client = server.client()
    for name in ("files", "small"):
        server.make_bucket(name)
    client.put_object(Bucket="files", Key="in/a.json", Body=b'{"id": 1}\n')
    _limit(server, "small", 1)
    limited = server.restricted("files", "s3:GetObject", "s3:ListBucket")
    reader = _as_restricted(limited)
    good = {
        "bucket": "files",
        "fs.s3a.endpoint": server.endpoint,
        "access_key": server.access_key,
        "secret_key": server.secret_key,
        "path": "/in",
    }
    return Section(
        connector="S3File",
        good=good,
        secrets=(server.secret_key, "a-wrong-key", *limited.values()),
        mistakes=(
            Mistake("a host that does not exist", {"fs.s3a.endpoint": f"http://{_NOWHERE}"}),
            Mistake("a port without a server", {"fs.s3a.endpoint": f"http://127.0.0.1:{deaf_port()}"}),
            Mistake("`https` where there is none", {"fs.s3a.endpoint": server.endpoint.replace("http:", "https:")}),
            Mistake("a certificate that is not trusted", {"fs.s3a.endpoint": guarded.endpoint}),
            Mistake("a wrong secret", {"secret_key": "a-wrong-key"}),
            Mistake("an unknown key", {"access_key": "nobody"}),
            Mistake("one key of two", {"secret_key": None}),
            Mistake("a bucket that does not exist", {"bucket": "flies"}),
            Mistake("a path that does not exist", {"path": "/im"}),
            Mistake("a sink whose keys only read", {**reader, "path": "/out"}, "sink"),
            Mistake("a bucket whose quota is used up", {"bucket": "small", "path": "/out"}, "sink"),
        ),
    )


def _limit(server: MinIO, bucket: str, most: int) -> None:
    """By a request of MinIO's administrator."""
    url = f"{server.endpoint}/minio/admin/v3/set-bucket-quota?bucket={bucket}"
    body = json.dumps({"quota": most, "size": most, "quotatype": "hard"}).encode()
    request = AWSRequest(method="PUT", url=url, data=body)
    request.headers["X-Amz-Content-SHA256"] = hashlib.sha256(body).hexdigest()
    SigV4Auth(Credentials(server.access_key, server.secret_key), "s3", REGION).add_auth(request)
    answer = requests.put(url, data=body, headers=dict(request.headers), timeout=20)
    assert answer.ok, answer.text


def on_hdfs(folder: Path, stack: ExitStack) -> Section:
    cluster = stack.enter_context(HdfsCluster(folder))
    stack.callback(setattr, hdfs_files, "_PATIENCE", hdfs_files._PATIENCE)
    hdfs_files._PATIENCE = Backoff(attempts=2)
    files = Files(cluster.http)
    files.put("/in/a.json", b'{"id": 1}\n')
    for path in ("/private", "/few", "/small"):
        files.ask("PUT", "MKDIRS", path, permission="700")
    cluster.admin("-setQuota", "1", "/few")
    cluster.admin("-setSpaceQuota", "1m", "/small")
    web = "dfs.namenode.http-address"
    return Section(
        connector="HdfsFile",
        good={"fs.defaultFS": f"hdfs://{cluster.rpc}", web: cluster.http, "path": "/in"},
        mistakes=(
            Mistake("a host that does not exist", {"fs.defaultFS": f"hdfs://{_NOWHERE}", web: None}),
            Mistake("a port without a server", {web: f"127.0.0.1:{deaf_port()}"}),
            Mistake("the port of RPC for that of the web server", {web: cluster.rpc}),
            Mistake("`https` where there is none", {web: f"https://{cluster.http}"}),
            Mistake("no cluster at all", {"fs.defaultFS": "s3a://bucket"}),
            Mistake("a file that describes no cluster", {"hdfs_site_path": "/absent/hdfs-site.xml"}),
            Mistake("a principal without a keytab", {"kerberos_principal": "alice@EXAMPLE.COM"}),
            Mistake("a path that does not exist", {"path": "/im"}),
            Mistake("a folder of somebody else", {"path": "/private/in", "remote_user": "bob"}),
            Mistake("a target of somebody else", {"path": "/private/out", "remote_user": "bob"}, "sink"),
            Mistake("a quota of names that is used up", {"path": "/few/out"}, "sink"),
            Mistake("a quota of space that is used up", {"path": "/small/out"}, "sink"),
        ),
    )


def on_oss(folder: Path, stack: ExitStack) -> Section:
    server = OssStandIn(folder)
    stack.callback(server.kill)
    server.start()
    reader = {"reader": {"secret": "the-secret-of-the-reader"}}
    server.set(
        credentials={KEY_ID: {"secret": SECRET}, **reader},
        buckets=[BUCKET, "versioned"],
        versioned=["versioned"],
        denied={"reader": ["PutObject"]},
    )
    stack.callback(setattr, oss_store, "_PATIENCE", oss_store._PATIENCE)
    oss_store._PATIENCE = Backoff(attempts=2)
    keys = {"access_key": "reader", "access_secret": "the-secret-of-the-reader"}
    return Section(
        connector="OssFile",
        good={
            "bucket": BUCKET,
            "endpoint": server.endpoint,
            "access_key": KEY_ID,
            "access_secret": SECRET,
            "path": "/in",
        },
        secrets=(SECRET, "a-wrong-key", "the-secret-of-the-reader", "a-token"),
        mistakes=(
            Mistake("a host that does not exist", {"endpoint": f"http://{_NOWHERE}"}),
            Mistake("a port without a server", {"endpoint": f"http://127.0.0.1:{deaf_port()}"}),
            Mistake("`https` where there is none", {"endpoint": server.endpoint.replace("http:", "https:")}),
            Mistake("a wrong secret", {"access_secret": "a-wrong-key"}),
            Mistake("an unknown key", {"access_key": "nobody"}),
            Mistake("a token that does not go with the keys", {"security_token": "a-token"}),
            Mistake("no key", {"access_key": None}),
            Mistake("a bucket that does not exist", {"bucket": "flies"}),
            Mistake("a path that does not exist", {"path": "/im"}),
            Mistake("a sink whose keys only read", {**keys, "path": "/out"}, "sink"),
            Mistake("a bucket with versioning", {"bucket": "versioned", "path": "/out"}, "sink"),
        ),
    )


def on_sftp(folder: Path, stack: ExitStack) -> Section:
    server = Sshd(folder)
    stack.callback(server.process.kill)
    server.process.start()
    (folder / "no-key").write_text("no key\n")
    return Section(
        connector="SftpFile",
        good={
            "host": "127.0.0.1",
            "port": server.port,
            "user": getpass.getuser(),
            "private_key_path": str(folder / "user_key"),
            "path": "/data/in",
        },
        secrets=("a-password",),
        mistakes=(
            Mistake("a host that does not exist", {"host": _NOWHERE, "port": None}),
            Mistake("a port without a server", {"port": deaf_port()}),
            Mistake("an unknown user", {"user": "nobody-of-this-name"}),
            Mistake("a key that is not his", {"private_key_path": str(folder / "host_key")}),
            Mistake("a file that is no key", {"private_key_path": str(folder / "no-key")}),
            Mistake("a password that he has not", {"private_key_path": None, "password": "a-password"}),
            Mistake("a path that does not exist", {}),
            Mistake("a target without write permission", {"path": "/proc/out"}, "sink"),
        ),
    )


def on_ftp(folder: Path, stack: ExitStack) -> Section:
    (folder / "root").mkdir()
    server = Ftpd(folder / "root", folder / "log", writable=False)
    stack.callback(server.process.kill)
    server.process.start()
    return Section(
        connector="FtpFile",
        good={
            "host": "127.0.0.1",
            "port": server.port,
            "user": ftpd.USER,
            "password": ftpd.PASSWORD,
            "path": "/in",
        },
        secrets=(ftpd.PASSWORD, "a-wrong-password"),
        mistakes=(
            Mistake("a host that does not exist", {"host": _NOWHERE, "port": None}),
            Mistake("a port without a server", {"port": deaf_port()}),
            Mistake("an unknown user", {"user": "nobody"}),
            Mistake("a wrong password", {"password": "a-wrong-password"}),
            Mistake("a path that does not exist", {}),
            Mistake("a target where he may not write", {"path": "/out"}, "sink"),
        ),
    )


SERVERS: Mapping[str, Callable[[Path, ExitStack], Section]] = {
    "S3File": on_s3,
    "HdfsFile": on_hdfs,
    "OssFile": on_oss,
    "SftpFile": on_sftp,
    "FtpFile": on_ftp,
}


# -- the page ----------------------------------------------------------------------------------------------------------


def section(connector: str) -> str:
    """What the page says of one connector."""
    with tempfile.TemporaryDirectory(prefix="seatunnel-mistakes-", ignore_cleanup_errors=True) as name:
        return "".join(_lines(connector, Path(name)))


def _lines(connector: str, folder: Path) -> Iterator[str]:
    yield f"\n## `{connector}`\n\n| mistake | message |\n|---|---|\n"
    (folder / "server").mkdir()
    with ExitStack() as stack:
        found = SERVERS[connector](folder / "server", stack)  # built in the user's folder, which jobs shall not see
        ground = stack.enter_context(ground_in(folder))
        for mistake in found.mistakes:
            of_sink = " (sink)" if mistake.side == "sink" else ""
            print(f"{connector}: {mistake.what}", file=sys.stderr, flush=True)
            yield f"| {mistake.what}{of_sink} | {_cell(found.message(ground, mistake))} |\n"


def _cell(message: str) -> str:
    return "<br>".join(f"`{line.strip().replace('|', chr(92) + '|')}`" for line in message.splitlines())


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(section(connector) for connector in SERVERS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
