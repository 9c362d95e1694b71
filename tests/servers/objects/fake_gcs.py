"""fake-gcs-server, an independent server of Google Cloud Storage's JSON API. It verifies no credentials."""

import urllib.request
from pathlib import Path

from attrs import define, field

from tests.servers.objects.s3 import go_install
from tests.servers.process import ServerProcess, free_port

VERSION = "v1.52.2"


def build() -> Path:
    return go_install("github.com/fsouza/fake-gcs-server", VERSION)


@define
class FakeGcs:
    """Its buckets and objects, in memory."""

    folder: Path
    port: int = field(factory=free_port)
    process: ServerProcess = field(init=False)

    def __attrs_post_init__(self) -> None:
        where = ["-host", "127.0.0.1", "-port", str(self.port), "-public-host", f"127.0.0.1:{self.port}"]
        how = ["-scheme", "http", "-backend", "memory", "-external-url", self.endpoint, "-log-level", "error"]
        self.process = ServerProcess(
            command=[str(build()), *where, *how], ready=self._is_up, log=self.folder / "fake-gcs.log"
        )

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _is_up(self) -> bool:
        with urllib.request.urlopen(f"{self.endpoint}/storage/v1/b?project=p", timeout=2) as answer:
            return bool(answer.status == 200)
