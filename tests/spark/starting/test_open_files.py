"""The limit of open files: raised where that is allowed, and named where Spark fails because of it."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
from seatunnel_core.spark.starting import open_files
soft, hard = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
open_files.raise_limit()
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], open_files.is_short(), open_files.shortage())
"""


@pytest.mark.parametrize(
    ("soft", "hard", "said"),
    [
        (256, 256, "256 True this process is limited to 256 open files"),
        (256, 512, "512 True this process is limited to 512 open files"),
        (256, 4096, "1024 False "),
        (2048, 4096, "2048 False "),
    ],
)
def test_the_limit_is_raised_as_far_as_the_hard_one(soft: int, hard: int, said: str) -> None:
    command = [sys.executable, "-c", PROGRAM, str(soft), str(hard)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout.startswith(said)
