"""From where a job goes on, as it is typed: what is understood, what belongs to what, and what the runtime is told."""

from typing import Any

import pytest

from seatunnel_core.claiming.handover import ForeignSavepoint
from seatunnel_core.cli import run as cli_run
from seatunnel_core.cli.restore_arguments import with_flags
from seatunnel_core.cli.resume import resume_command
from seatunnel_core.job.restoring import Restore, SavepointName
from tests.cli.typed import refusal, typed


def test_a_plain_restore_asks_for_nothing_else() -> None:
    assert typed("-c", "j", "-r", "1").restoring == Restore()
    assert cli_run._restore(typed("-c", "j", "-r", "1")) == Restore()
    assert cli_run._restore(typed("-c", "j")) is None
    assert cli_run._restore(typed("-c", "j", "-r", "1", "--take-over")) == Restore(take_over=True)


def test_checkpoints_of_several_pipelines() -> None:
    flags = ("--restore-with-checkpoint", "1:100000-7", "--restore-with-checkpoint=2:8", "--retract")
    asked = cli_run._restore(typed("-c", "j", "-r", "1", *flags))
    assert asked is not None
    assert [(each.pipeline, each.epoch, each.checkpoint_id) for each in asked.checkpoints] == [
        (1, 100_000, 7),
        (2, None, 8),
    ]
    assert (asked.retract, asked.accept_duplicates, asked.allow_non_restored_state) == (True, False, False)


def test_a_savepoint_of_the_job_and_one_of_another() -> None:
    flags = ("--accept-duplicates", "--allow-non-restored-state")
    asked = cli_run._restore(typed("-c", "j", "-r", "1", "--restore-with-savepoint", "mine", *flags))
    assert asked == Restore(savepoint="mine", accept_duplicates=True, allow_non_restored_state=True)
    arguments = typed("-c", "j", "--from-savepoint", "old/mine", "--from-storage", "b.zip", *flags)
    begun = ForeignSavepoint.of(arguments.restoring)
    assert begun is not None
    assert (begun.savepoint, begun.storage) == (SavepointName(job_id="old", name="mine"), "b.zip")
    assert (begun.accept_duplicates, begun.allow_non_restored_state) == (True, True)
    assert ForeignSavepoint.of(typed("-c", "j", "-r", "1").restoring) is None


OF_A_RESTORE: list[list[str]] = [
    ["--restore-with-checkpoint", "7"],
    ["--restore-with-savepoint", "mine"],
    ["--take-over"],
    ["--retract"],
    ["--accept-duplicates"],
    ["--allow-non-restored-state"],
]


@pytest.mark.parametrize("flags", OF_A_RESTORE, ids=lambda flags: flags[0])
def test_what_says_from_where_needs_a_job(flags: list[str]) -> None:
    assert refusal("-c", "j", *flags).startswith(
        f"{flags[0]} selects the state from which a job resumes, not the job: "
    )
    assert refusal("-l", *flags).startswith(f"{flags[0]} selects the state"), "nothing is accepted and ignored"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["-r", "1", "--retract", "--accept-duplicates"], "not allowed with"),
        (["-r", "1", "--restore-with-checkpoint", "7", "--restore-with-savepoint", "x"], "not allowed with"),
        (["-r", "1", "--from-savepoint", "a/b"], "remove one of the two"),
        (["--from-storage", "x.zip"], "put it after --from-savepoint"),
        (["--from-savepoint", "a/b", "--retract"], "-r JOB_ID --restore-with-savepoint NAME --retract"),
        (["-r", "1", "--restore-with-checkpoint", "7", "--check"], "--check validates the job"),
    ],
)
def test_what_does_not_go_together(argv: list[str], says: str) -> None:
    assert says in refusal("-c", "j", *argv)


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["-r", "1", "--restore-with-checkpoint", "latest"], "such as 100000-7"),
        (["--from-savepoint", "mine"], "use JOB_ID/NAME"),
    ],
)
def test_a_wrong_name_is_answered_with_how_it_is_written(argv: list[str], says: str) -> None:
    assert says in refusal("-c", "j", *argv)


@pytest.mark.parametrize("flags", [*OF_A_RESTORE, ["--from-savepoint", "a/b"], ["--from-storage=x.zip"]], ids=str)
def test_the_command_that_goes_on_goes_back_no_second_time(flags: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEATUNNEL_COMMAND", "seatunnel")
    assert resume_command(["-c", "j", *flags, "-r", "1"], "42") == "seatunnel -c j -r 42"
    joined = ["=".join(flags)]
    assert resume_command(["-c", "j", *joined, "-r", "1"], "42") == "seatunnel -c j -r 42"


def test_what_a_restore_does_is_said_first(monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Any) -> None:
    from seatunnel_core.cli.main import main
    from tests.cli import test_run

    class Noted(test_run.PlayedJob):
        notes = ("Pipeline 1 goes back.",)

    monkeypatch.setattr(cli_run, "JobRun", Noted)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.conf").write_text(test_run.JOB)
    assert main(["-c", "job.conf", "-r", "42", "--restore-with-checkpoint", "7", "--retract"]) == 0
    assert "Pipeline 1 goes back." in capsys.readouterr().out
    restore = Noted.last.options["restore"]
    assert restore.retract
    assert [each.checkpoint_id for each in restore.checkpoints] == [7]


def test_a_message_names_the_flags_of_the_options_that_it_names_as_python_does() -> None:
    said = (
        "restore it with retract=True, accept_duplicates=True or allow_non_restored_state=True; it was stopped with a "
    )
    assert with_flags(f"{said}savepoint") == (
        "restore it with --retract, --accept-duplicates or --allow-non-restored-state; it was stopped with a savepoint "
        "(seatunnel -s)"
    )
    assert with_flags("take_over=True") == "--take-over"
