"""Builds every server that is missing, all at once: ``python -m tests.servers.build``."""

import importlib
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

OBJECTS = ("minio", "versitygw", "azurite", "fake_gcs")
KINDS = (
    *(f"objects.{kind}" for kind in OBJECTS),
    "hadoop",
    "kerberos",
    "sshd",
    "postgres",
    "mariadb",
    "mysql",
    "kafka",
    "redis_server",
)
TWINS = ("objects.azurite", "objects.fake_gcs", "kerberos", "sshd", "mysql")
"""Those that tests with the mark ``twin`` alone ask for."""


def build(kind: str) -> str | None:
    """What went wrong, if anything."""
    started = time.monotonic()
    try:
        importlib.import_module(f"tests.servers.{kind}").build()
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
        return f"{kind}: {error}"
    print(f"{kind}: there after {time.monotonic() - started:.0f} s", flush=True)
    return None


if __name__ == "__main__":
    wanted = [kind for kind in KINDS if os.environ.get("TWINS") != "no" or kind not in TWINS]
    with ThreadPoolExecutor(len(wanted)) as builders:
        problems = [problem for problem in builders.map(build, wanted) if problem]
    for problem in problems:
        print(f"NOT BUILT: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)
