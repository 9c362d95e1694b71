"""The command line as a test types it."""

import pytest

from seatunnel_core.cli.arguments import RunArguments, parse
from seatunnel_core.errors import UsageError


def typed(*argv: str) -> RunArguments:
    """What is understood of a command that runs a job."""
    arguments = parse(argv, version="1")
    assert isinstance(arguments, RunArguments)
    return arguments


def refusal(*argv: str) -> str:
    """What is answered to a command that is not understood."""
    with pytest.raises(UsageError) as raised:
        parse(argv, version="1")
    return str(raised.value)
