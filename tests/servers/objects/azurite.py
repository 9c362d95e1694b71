"""Azurite, Microsoft's own emulator of Azure's blob storage: it verifies the signatures of account keys."""

import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from attrs import define, field

from tests.servers.process import ServerProcess, cache_folder, free_port, only_one, require, unavailable

VERSION = "3.35.0"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The emulator's account key, which Microsoft publishes: no secret."""


def build() -> Path:
    """Its program, installed from npm into the cache when it is missing or of another version."""
    folder = cache_folder("azurite")
    program = folder / VERSION / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    with only_one(folder):
        if not program.exists():
            require("npm", "node")
            command = ["npm", "install", "--no-fund", "--no-audit", "--silent", "--prefix", str(folder / VERSION)]
            outcome = subprocess.run([*command, f"azurite@{VERSION}"], capture_output=True, text=True)
            if outcome.returncode != 0:
                unavailable(f"azurite cannot be installed: {outcome.stderr[-2_000:]}")
    return program


@define
class Azurite:
    """One account with its data in a folder."""

    folder: Path
    port: int = field(factory=free_port)
    process: ServerProcess = field(init=False)

    def __attrs_post_init__(self) -> None:
        where = ["--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--location", str(self.folder)]
        quiet = ["--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        self.process = ServerProcess(
            command=["node", str(build()), *where, *quiet], ready=self._is_up, log=self.folder / "azurite.log"
        )

    @property
    def connection_string(self) -> str:
        endpoint = f"http://127.0.0.1:{self.port}/{ACCOUNT}"
        return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};BlobEndpoint={endpoint};"

    def _is_up(self) -> bool:
        """It answers whoever does not sign with a refusal."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{ACCOUNT}?comp=list", timeout=2):
                return True
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code in (400, 403)
