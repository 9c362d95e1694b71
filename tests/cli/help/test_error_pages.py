"""Every error of ours has a code, a page, and an example that is really said."""

import json
import logging
import re
from pathlib import Path

import pytest

from seatunnel_core.cli.logs import logs_sent_to
from seatunnel_core.cli.main import main
from seatunnel_core.errors import CommitError, RowError, SeaTunnelError
from seatunnel_core.manual.errors import AGAIN, ENGINE, MESSAGE, NEXT, coded, error_page
from seatunnel_core.transforms.sql.value import SqlError
from seatunnel_storage_api.errors import CheckpointStorageError, StorageAccessError
from tests.cli.help.error_examples import EXAMPLES
from tests.cli.help.error_pages import DOCS, FOLDER, is_ours, ours, pages


def test_the_pages_say_what_the_classes_say() -> None:
    """Write the docstring first; then `python -m tests.cli.help.error_pages` writes the pages."""
    for path, made in pages().items():
        assert path.exists(), f"{path.name}: run python -m tests.cli.help.error_pages"
        assert path.read_text(encoding="utf-8") == made


def test_every_page_is_of_an_error() -> None:
    assert set(FOLDER.glob("*")) == set(pages()) - {DOCS / "errors.md"}


@pytest.mark.parametrize("code", ours())
def test_a_page_says_what_was_done_and_what_to_do(code: str) -> None:
    page = error_page(ours()[code])
    assert re.fullmatch(r"[A-Z]+(-[A-Z]+)+", code)
    assert page.meaning
    assert {ENGINE, AGAIN, NEXT} <= page.parts.keys()
    assert (MESSAGE in page.parts) == (code in EXAMPLES)


@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_is_what_is_said(code: str, tmp_path: Path) -> None:
    """``…`` stands for anything."""
    kind = ours()[code]
    with pytest.raises(kind) as raised:
        EXAMPLES[code](tmp_path)
    assert raised.type is kind or code == raised.value.code  # type: ignore[attr-defined]
    pattern = ".*?".join(map(re.escape, error_page(kind).parts[MESSAGE].split("…")))
    assert re.match(pattern, str(raised.value).replace(f"{tmp_path}/", ""), re.DOTALL), str(raised.value)


def test_a_plugins_error_has_the_code_of_its_nearest_ancestor_or_its_own() -> None:
    class LicenceEndedError(CommitError):
        """The licence has ended."""

    class QuotaError(StorageAccessError):
        """The quota is used up.

        What to do: buy more.
        """

        code = "ACME-QUOTA"

    assert LicenceEndedError("…").code == "COMMIT-ERROR"
    assert SqlError("…").code == "TRANSFORM-ERROR"
    assert coded()["ACME-QUOTA"] is QuotaError
    assert coded()["COMMIT-ERROR"] is CommitError
    assert error_page(QuotaError).parts[NEXT] == "Buy more."


def test_no_two_classes_have_one_code_of_their_own() -> None:
    """A class of another name with the same words would hide the first."""
    every: list[type[SeaTunnelError] | type[CheckpointStorageError]] = [SeaTunnelError, CheckpointStorageError]
    for kind in every:
        every += kind.__subclasses__()
    own = [kind.code for kind in every if "code" in vars(kind) and is_ours(kind)]
    assert len(own) == len(set(own)) == len(ours())


def test_help_prints_the_page_of_a_code_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "stale-epoch"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    page = error_page(ours()["STALE-EPOCH"])
    assert said.startswith("STALE-EPOCH: ")
    for heading, text in page.parts.items():
        assert f"{heading}: {' '.join(text.split())}" in said


def test_a_wrong_code_is_answered_with_which_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "STALE-EPOC"]) == 2
    assert "there is no error code 'STALE-EPOC'; did you mean STALE-EPOCH?" in capsys.readouterr().err


def test_a_json_record_of_an_error_has_its_code() -> None:
    lines: list[str] = []
    with logs_sent_to(lines.append, level="INFO", format="json"):
        log = logging.getLogger("seatunnel.test")
        log.error("%s", RowError("a row"), extra={"code": RowError.code})
        log.error("the disk is full", extra={"code": ""})
    assert [json.loads(line).get("code") for line in lines] == ["ROW-ERROR", None]
