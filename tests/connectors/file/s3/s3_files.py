"""The connector ``S3File`` on a server, and what lies in its bucket."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connectors.file.s3 import S3FileSink, S3FileSource
from seatunnel_core.connectors.filesystems.staged_name import PREPARED
from tests.servers.objects.s3 import S3Server

COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])
ROWS = [{"id": number, "name": f"näme {number}"} for number in range(300)]
BUCKET = "files"
BEGUN: set[str] = set()
"""The keys of uploads."""


def access(server: S3Server, **more: Any) -> dict[str, Any]:
    return {
        "bucket": f"s3a://{BUCKET}",
        "fs.s3a.endpoint": server.endpoint,
        "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "access_key": server.access_key,
        "secret_key": server.secret_key,
        "hadoop_s3_properties": {"fs.s3a.path.style.access": "true"},
        **more,
    }


def keys(server: S3Server, folder: str) -> list[str]:
    """The keys below a folder, but for the marks of prepared epochs, which stay until the last sweep of a job."""
    found = server.client().list_objects_v2(Bucket=BUCKET, Prefix=f"{folder[1:]}/")
    return [each["Key"] for each in found.get("Contents", ()) if not each["Key"].endswith(f"/{PREPARED}")]


def note_uploads(server: S3Server) -> None:
    """From now on, the key of every upload that a sink of this process begins is known."""
    client = sink(server, "/any").files.store.client  # type: ignore[attr-defined]
    client.meta.events.register(
        "provide-client-params.s3.CreateMultipartUpload",
        lambda params, **_: BEGUN.add(params["Key"]),
        unique_id="the tests",
    )


def uploads_left(server: S3Server, folder: str) -> int:
    """Key by key: MinIO lists the uploads of one only."""
    client, begun = server.client(), [key for key in BEGUN if key.startswith(f"{folder[1:]}/")]
    found = (client.list_multipart_uploads(Bucket=BUCKET, Prefix=key).get("Uploads", ()) for key in begun)
    return sum(len(each) for each in found)


def parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), COLUMNS), out, row_group_size=50)
    return out.getvalue()


def source(server: S3Server, path: str, **more: Any) -> S3FileSource:
    given = {**access(server), "path": path, "file_format_type": "parquet", **more}
    return S3FileSource(options_of(S3FileSource, given))


def sink(server: S3Server, path: str, **more: Any) -> S3FileSink:
    return S3FileSink(options_of(S3FileSink, {**access(server), "path": path, "file_format_type": "json", **more}))
