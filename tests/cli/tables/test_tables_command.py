"""``seatunnel tables reread``: its arguments, and the errors of jobs that do not run here."""

from pathlib import Path

import pytest

from seatunnel_core.cli.arguments import parse
from seatunnel_core.cli.main import main
from seatunnel_core.cli.tables.arguments import TablesArguments
from seatunnel_core.errors import UsageError


def test_the_arguments_are_read() -> None:
    assert parse(["tables", "reread", "shop", "shop.a"], "") == TablesArguments(job_id="shop", table="shop.a")
    cluster = parse(["tables", "reread", "shop", "shop.a", "-m", "cluster", "-cn", "prod"], "")
    assert cluster == TablesArguments(job_id="shop", table="shop.a", mode="cluster", cluster="prod")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reread", "shop"], "required: TABLE"),
        (["drop", "shop", "shop.a"], "'drop'"),
        (["reread", "a/b", "shop.a"], "a/b"),
        (["reread", "shop", "shop.a", "-cn", "prod"], "add -m cluster"),
        (["reread", "shop", "shop.a", "-m", "local"], "'local'"),
    ],
)
def test_wrong_arguments_are_rejected(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(["tables", *arguments], "")


def test_a_job_that_does_not_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert main(["tables", "reread", "shop", "shop.a"]) == 2
    assert "the job shop is not running as your user on this machine" in capsys.readouterr().err
