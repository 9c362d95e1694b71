"""versitygw, the second S3 server of the tests: other key rules than MinIO, objects are files, up again in no time."""

from pathlib import Path

from tests.servers.objects.s3 import S3Server, go_install

VERSION = "v1.8.0"


def build() -> Path:
    return go_install("github.com/versity/versitygw", VERSION, "cmd/versitygw")


class Versitygw(S3Server):
    health = "/health"

    def command(self) -> list[str]:
        folders = {name: self.folder / name for name in ("iam", "versions")}
        for folder in folders.values():
            folder.mkdir(exist_ok=True)
        certificate = (
            ["--cert", str(self.ca_file), "--key", str(self.ca_file.with_name("private.key"))] if self.ca_file else []
        )
        listening = ["--port", f"127.0.0.1:{self.port}", "--health", self.health, "--quiet", *certificate]
        files = ["posix", "--versioning-dir", str(folders["versions"]), str(self.folder / "data")]
        return [str(build()), *listening, "--iam-dir", str(folders["iam"]), *files]

    def environment(self) -> dict[str, str]:
        return {"ROOT_ACCESS_KEY": self.access_key, "ROOT_SECRET_KEY": self.secret_key}
