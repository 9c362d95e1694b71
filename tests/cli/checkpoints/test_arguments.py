"""The arguments of ``seatunnel checkpoints``: mistakes are answered with what to write."""

import pytest

from seatunnel_core.cli.checkpoints import tables as tables
from seatunnel_core.cli.checkpoints.arguments import parse_checkpoints
from seatunnel_core.errors import UsageError
from tests.cli.checkpoints.terminal import Terminal


def refusal(*argv: str) -> str:
    with pytest.raises(UsageError) as raised:
        parse_checkpoints(argv)
    return str(raised.value)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([], "specify one of list, show, diff"),
        (["lst"], "invalid choice: 'lst'"),
        (["show"], "arguments are required: JOB"),
        (["show", "j", "0"], "the number of a pipeline"),
        (["show", "j", "1", "x"], "expected EPOCH-ID, for example 100000-7"),
        (["show", "j", "1", "1", "2"], "at most 1"),
        (["diff", "j", "1", "1", "2", "3"], "at most 2"),
        (["copy"], "required: --to"),
        (["export", "folder/"], "export writes one file: folder/.zip"),
        (["gc", "--older-than", "1y"], "90s, 15m, 6h or 7d"),
        (["gc", "--older-than", "5"], "90s, 15m, 6h or 7d"),
        (["list", "-p", "secret"], "expected KEY=VALUE"),
        (["list", "--from", "a", "--engine-config", "b"], "not allowed with"),
        (["list", "--what"], "--what"),
    ],
)
def test_mistakes_are_answered_with_what_to_write(argv: list[str], says: str) -> None:
    assert says in refusal(*argv)


@pytest.mark.parametrize("verb", ["list", "show", "diff", "verify", "export", "copy", "gc"])
def test_each_verb_has_a_help_with_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        parse_checkpoints([verb, "--help"])
    assert left.value.code == 0
    assert f"seatunnel checkpoints {verb} " in capsys.readouterr().out.split("example:")[1]


def test_a_wrong_configuration_is_wrong_usage(terminal: Terminal) -> None:
    terminal.run("list", "-p", "namespace=bad", code=2, state="hdfs")
    assert "must end with" in terminal.complaint
    terminal.run("list", code=2, state="no-such-plugin")
    assert "no installed plugin" in terminal.complaint
