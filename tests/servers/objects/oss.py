"""Alibaba OSS for the tests: a stand-in that verifies signatures, or a real bucket that the environment names.

``OSS_ENDPOINT OSS_ACCESS_KEY_ID OSS_ACCESS_KEY_SECRET OSS_BUCKET`` name a real one, and ``OSS_REGION`` its region where
the endpoint does not tell.
"""

import json
import os
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from tests.servers.objects.oss_stored import METADATA, REGION
from tests.servers.process import ServerProcess, free_port

BUCKET = "checkpoints"
KEY_ID = "stand-in-id"
SECRET = "stand-in-secret-canary"

_REAL = ("OSS_ENDPOINT", "OSS_ACCESS_KEY_ID", "OSS_ACCESS_KEY_SECRET", "OSS_BUCKET")


def build() -> None:
    """Nothing: the stand-in is a module of the tests."""


def real_bucket() -> dict[str, str] | None:
    """The configuration of the real bucket that the environment names; ``None`` if it names none."""
    if any(not os.environ.get(name) for name in _REAL):
        return None
    return {
        "storage.type": "oss",
        "oss.bucket": os.environ["OSS_BUCKET"],
        "fs.oss.endpoint": os.environ["OSS_ENDPOINT"],
        "fs.oss.accessKeyId": os.environ["OSS_ACCESS_KEY_ID"],
        "fs.oss.accessKeySecret": os.environ["OSS_ACCESS_KEY_SECRET"],
        **({"fs.oss.region": os.environ["OSS_REGION"]} if os.environ.get("OSS_REGION") else {}),
    }


@define
class OssStandIn:
    """The stand-in as a process. It keeps objects in memory: a killed one comes back empty."""

    folder: Path
    port: int = field(factory=free_port)
    _process: ServerProcess = field(init=False)

    def __attrs_post_init__(self) -> None:
        settings = {"credentials": {KEY_ID: {"secret": SECRET}}, "buckets": [BUCKET]}
        self._process = ServerProcess(
            command=[sys.executable, "-m", "tests.servers.objects.oss_stand_in", str(self.port), json.dumps(settings)],
            ready=lambda: self._control("GET", "requests") == [],
            log=self.folder / "oss-stand-in.log",
            environment={"PYTHONPATH": str(Path(__file__).parents[3])},
        )

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def metadata(self) -> str:
        """Where the stand-in of the metadata service is."""
        return self.endpoint + METADATA

    def start(self) -> None:
        self._process.start()

    def kill(self) -> None:
        self._process.kill()

    def configuration(self, namespace: str, **more: str) -> dict[str, str]:
        """The plugin's keys, signed by version 4."""
        return {
            "storage.type": "oss",
            "namespace": namespace,
            "oss.bucket": BUCKET,
            "fs.oss.endpoint": self.endpoint,
            "fs.oss.region": REGION,
            "fs.oss.accessKeyId": KEY_ID,
            "fs.oss.accessKeySecret": SECRET,
            **more,
        }

    def set(self, **settings: Any) -> None:
        """Changes what ``oss_stored.Settings`` holds."""
        self._control("PUT", "settings", json.dumps(settings).encode())

    def forget_requests(self) -> None:
        self._control("DELETE", "requests")

    def requests(self) -> list[tuple[str, str, str, tuple[str, ...]]]:
        """Method, bucket, key and names of the query of every request since ``forget_requests``."""
        return [(method, bucket, key, tuple(names)) for method, bucket, key, names in self._control("GET", "requests")]

    def verbs(self) -> Mapping[str, int]:
        """The same, counted as ``put``, ``read``, ``list``, ``delete``."""
        counted: dict[str, int] = {}
        for method, _, key, names in self.requests():
            verb = {"PUT": "put", "POST": "delete"}.get(method, "read" if key else "list")
            if "uploads" in names or "uploadId" in names:
                verb = "upload"
            assert verb != "delete" or "delete" in names
            counted[verb] = counted.get(verb, 0) + 1
        return counted

    def _control(self, method: str, name: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(f"{self.endpoint}/-/{name}", body, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())
