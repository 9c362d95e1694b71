"""What the S3 servers of the tests have in common: how they are built, reached, certified."""

import mmap
import os
import ssl
import subprocess
import urllib.request
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from seatunnel_storage_api.testing import Backdoor
from tests.servers.process import ServerProcess, cache_folder, free_port, only_one, require, unavailable

REGION = "us-east-1"


def go_install(module: str, version: str, folder: str = "") -> Path:
    """A program of a Go module in the cache, compiled when it is missing or of another version; takes minutes."""
    programs = cache_folder("bin")
    program = programs / (folder or module).rpartition("/")[2]
    with only_one(programs):
        if not _is_of(program, f"mod\t{module}\t{version}\t"):
            require("go")
            command = ["go", "install", "/".join(filter(None, (module, folder))) + f"@{version}"]
            environment = {**os.environ, "GOBIN": str(programs)}
            outcome = subprocess.run(command, env=environment, capture_output=True, text=True)
            if outcome.returncode != 0:
                unavailable(f"{module} cannot be compiled: {outcome.stderr[-2_000:]}")
    return program


def _is_of(program: Path, version: str) -> bool:
    """Looks for what Go writes into every program; needs no Go, so a cache is enough to run the tests."""
    if not program.exists():
        return False
    with open(program, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        return image.find(version.encode()) >= 0


class S3Server(ABC):
    """One server with its data in a folder. ``kill`` is ``kill -9``; ``start`` and ``restart`` keep port and data. As a
    context manager it runs within the block."""

    access_key = "seatunnel-tests"
    secret_key = "a-secret-of-the-tests"

    def __init__(self, folder: Path, *, tls: bool = False) -> None:
        self.folder = folder
        self.port = free_port()
        self.ca_file = self_signed(folder / "certificates") if tls else None
        self.endpoint = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        (folder / "data").mkdir(parents=True)
        self.process = ServerProcess(
            command=self.command(),
            environment=self.environment(),
            ready=lambda: self._is_up(),
            log=folder / "log",
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def environment(self) -> dict[str, str]: ...

    @property
    @abstractmethod
    def health(self) -> str:
        """A path that answers 200 when requests are served."""

    def start(self) -> None:
        self.process.start()

    def kill(self) -> None:
        self.process.kill()

    def restart(self) -> None:
        self.process.restart()

    def client(self, service: str = "s3", **more: Any) -> Any:
        """A plain boto3 client of the administrator; ``more`` goes to ``boto3.client``."""
        given: dict[str, Any] = {
            "endpoint_url": self.endpoint,
            "aws_access_key_id": self.access_key,
            "aws_secret_access_key": self.secret_key,
            "region_name": REGION,
            "verify": str(self.ca_file) if self.ca_file else None,
            "config": Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
        }
        return boto3.session.Session().client(service, **{**given, **more})

    def make_bucket(self, name: str) -> str:
        self.client().create_bucket(Bucket=name)
        return name

    def configuration(self, bucket: str, **more: str) -> dict[str, str]:
        """The ``plugin-config`` that reaches a bucket as the administrator."""
        return {
            "storage.type": "s3",
            "s3.bucket": bucket,
            "fs.s3a.endpoint": self.endpoint,
            "fs.s3a.endpoint.region": REGION,
            "fs.s3a.path.style.access": "true",
            "fs.s3a.access.key": self.access_key,
            "fs.s3a.secret.key": self.secret_key,
            **more,
        }

    def backdoor(self, bucket: str, namespace: str) -> "BucketBackdoor":
        return BucketBackdoor(self.client(), bucket, namespace)

    def _is_up(self) -> bool:
        """Its health alone does not tell: on a busy machine MinIO said 200 there and "not initialized" to a request."""
        trusted = ssl.create_default_context(cafile=self.ca_file) if self.ca_file else None
        with urllib.request.urlopen(self.endpoint + self.health, timeout=2, context=trusted) as answer:
            if answer.status != 200:
                return False
        try:
            self.client().list_buckets()
        except (BotoCoreError, ClientError):
            return False
        return True


class BucketBackdoor(Backdoor):
    """Raw access to objects, each named by its key below the namespace."""

    def __init__(self, client: Any, bucket: str, namespace: str) -> None:
        self.client = client
        self.bucket = bucket
        self.folder = namespace.removeprefix("/")

    def paths(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.folder)
        return [found["Key"].removeprefix(self.folder) for page in pages for found in page.get("Contents", ())]

    def read(self, path: str) -> bytes:
        with self.client.get_object(Bucket=self.bucket, Key=self.folder + path)["Body"] as body:
            content: bytes = body.read()
            return content

    def write(self, path: str, body: bytes) -> None:
        self.client.put_object(Bucket=self.bucket, Key=self.folder + path, Body=body)

    def delete(self, path: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=self.folder + path)


def self_signed(folder: Path) -> Path:
    """Makes ``public.crt`` and ``private.key`` for 127.0.0.1 and localhost; returns the former."""
    require("openssl")
    folder.mkdir(parents=True)
    key, certificate = folder / "private.key", folder / "public.crt"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "7"]
    subprocess.run([*command, *subject, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate
