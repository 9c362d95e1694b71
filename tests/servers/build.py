"""Builds every server that is missing, all at once: ``python -m tests.servers.build``."""

import importlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

KINDS = ("minio", "versitygw", "hadoop", "kerberos", "azurite", "fake_gcs", "sshd", "postgres", "mariadb", "kafka")


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
    with ThreadPoolExecutor(len(KINDS)) as builders:
        problems = [problem for problem in builders.map(build, KINDS) if problem]
    for problem in problems:
        print(f"NOT BUILT: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)
