"""The storage of a job, and the command on it."""

import pytest

from tests.cli.checkpoints.terminal import Terminal
from tests.inspector.conftest import made, storage
from tests.inspector.made import Made

__all__ = ["made", "storage"]


@pytest.fixture
def terminal(made: Made, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(made, capsys)
