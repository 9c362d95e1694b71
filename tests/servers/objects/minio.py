"""MinIO, the first S3 server of the tests: it verifies signatures and policies, and its conditional put is atomic."""

import json
from pathlib import Path
from typing import Any

from tests.servers.objects.s3 import S3Server, go_install

VERSION = "v0.0.0-20260212201848-7aac2a2c5b7c"


def build() -> Path:
    return go_install("github.com/minio/minio", VERSION)


class MinIO(S3Server):
    health = "/minio/health/ready"

    def command(self) -> list[str]:
        certificates = ["--certs-dir", str(self.ca_file.parent)] if self.ca_file else []
        address = f"127.0.0.1:{self.port}"
        return [str(build()), "server", "--quiet", "--address", address, *certificates, str(self.folder / "data")]

    def environment(self) -> dict[str, str]:
        return {
            "MINIO_ROOT_USER": self.access_key,
            "MINIO_ROOT_PASSWORD": self.secret_key,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",
        }

    def restricted(self, bucket: str, *actions: str) -> dict[str, str]:
        """Keys of ``plugin-config`` for somebody who may do only these actions (``s3:PutObject`` …) in a bucket."""
        resources = [f"arn:aws:s3:::{bucket}", f"arn:aws:s3:::{bucket}/*"]
        policy = {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Action": list(actions), "Resource": resources}],
        }
        role: dict[str, Any] = self.client("sts").assume_role(
            RoleArn="arn:minio:iam:::role/any",
            RoleSessionName="tests",
            Policy=json.dumps(policy),
            DurationSeconds=900,
        )
        credentials = role["Credentials"]
        return {
            "fs.s3a.access.key": credentials["AccessKeyId"],
            "fs.s3a.secret.key": credentials["SecretAccessKey"],
            "fs.s3a.session.token": credentials["SessionToken"],
        }
