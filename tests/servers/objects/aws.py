"""Where AWS' clients look for credentials on the machine that runs them."""

from pathlib import Path

import pytest

from tests.servers.process import deaf_port


def forget_credentials(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """As on a machine that has none: ``config`` and ``credentials`` in the folder are AWS' files, if they are there."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", f"http://127.0.0.1:{deaf_port()}/")
