"""From a bucket into a bucket: what the job does there besides what it does on local disks, against a bare transfer."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import boto3

from tests.bench.tables import LINEITEM, LINEITEM_PARQUET_BYTES
from tests.servers.objects.minio import MinIO

_SERVER = "BENCH_BUCKET"
_PIECE = 8 << 20

_JOB = """env {{ job.name = "buckets", job.mode = "BATCH", parallelism = 2 }}
source {{
  S3File {{
    {access}
    path = "/lineitem"
    file_format_type = "csv"
    csv_use_header_line = true
    schema {{ fields {{ {fields} }} }}
  }}
}}
sink {{
  S3File {{
    {access}
    path = "/out/{name}"
    file_format_type = "parquet"
  }}
}}
"""


@contextmanager
def bucket_with(table: Path) -> Iterator[None]:
    """MinIO with the table's files, which systems find by the environment."""
    with tempfile.TemporaryDirectory() as folder, MinIO(Path(folder)) as server:
        server.make_bucket("bench")
        for file in sorted(table.iterdir()):
            server.client().upload_file(str(file), "bench", f"lineitem/{file.name}")
        os.environ[_SERVER] = json.dumps([server.endpoint, server.access_key, server.secret_key])
        try:
            yield
        finally:
            del os.environ[_SERVER]


def client() -> Any:
    endpoint, access_key, secret_key = json.loads(os.environ[_SERVER])
    keys = {"aws_access_key_id": access_key, "aws_secret_access_key": secret_key, "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=endpoint, **keys)


def write_job(folder: Path) -> Path:
    """The job file; its output has the folder's name."""
    names = ("fs.s3a.endpoint", "access_key", "secret_key")
    given: Mapping[str, str] = dict(zip(names, json.loads(os.environ[_SERVER]), strict=True))
    access = "\n    ".join(f'{key} = "{value}"' for key, value in {"bucket": "bench", **given}.items())
    fields = ", ".join(f'{name} = "{kind}"' for name, kind in LINEITEM.items())
    path = folder / "buckets.conf"
    path.write_text(_JOB.format(access=access, fields=fields, name=folder.name))
    return path


def transfer() -> None:
    """Every byte of the table is read, and as many are written as its Parquet files have."""
    asked = client()
    for found in asked.list_objects_v2(Bucket="bench", Prefix="lineitem/")["Contents"]:
        body = asked.get_object(Bucket="bench", Key=found["Key"])["Body"]
        while body.read(_PIECE):
            pass
    asked.upload_fileobj(BytesIO(bytes(LINEITEM_PARQUET_BYTES)), "bench", f"bare/{os.getpid()}")


def fetch_output(folder: Path) -> int:
    """Copies what the job wrote to where systems are checked, takes it out of the bucket, and says its bytes."""
    asked, size = client(), 0
    (folder / "out").mkdir()
    for found in asked.list_objects_v2(Bucket="bench", Prefix=f"out/{folder.name}/").get("Contents", ()):
        asked.download_file("bench", found["Key"], str(folder / "out" / Path(found["Key"]).name))
        asked.delete_object(Bucket="bench", Key=found["Key"])
        size += found["Size"]
    return size
