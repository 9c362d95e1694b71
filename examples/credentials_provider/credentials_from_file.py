"""Credentials from a JSON file that another process keeps up to date, such as a Vault agent.

::

    {"access_key": "…", "secret_key": "…", "session_token": "…", "expires_at": "2030-01-01T00:00:00+00:00"}
"""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from seatunnel_storage_api.credentials import Credentials

FILE = "seatunnel.credentials.file"


def provide(configuration: Mapping[str, str]) -> Credentials | None:
    """Return the file's credentials, or ``None`` if no file is configured, so that the next provider is used."""
    if not configuration.get(FILE):
        return None
    written = json.loads(Path(configuration[FILE]).read_text())
    expires_at = written.get("expires_at")
    return Credentials(
        access_key=written["access_key"],
        secret_key=written["secret_key"],
        session_token=written.get("session_token"),
        expires_at=datetime.fromisoformat(expires_at) if expires_at else None,
    )
