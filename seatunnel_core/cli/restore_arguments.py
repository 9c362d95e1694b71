"""Options that choose the checkpoint or savepoint to restore."""

import argparse

from seatunnel_core.errors import UsageError
from seatunnel_core.job.restoring import Restore

_OPTIONS = ("retract", "accept_duplicates", "allow_non_restored_state", "take_over")
"""Restore options by their Python names; the flags consist of the same words."""

_OF_OLD_JOBS = ("restore_with_checkpoint", "restore_with_savepoint", "retract", "take_over")
_OF_EITHER = ("accept_duplicates", "allow_non_restored_state")


def with_flags(message: str) -> str:
    """Replace Python options in an engine message with command-line flags: ``retract=True`` becomes ``--retract``."""
    for option in _OPTIONS:
        message = message.replace(f"{option}=True", _flag(option))
    return message.replace("stopped with a savepoint", "stopped with a savepoint (seatunnel -s)")


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def add_restore(parser: argparse.ArgumentParser) -> None:
    """Add the restore options."""
    group = parser.add_argument_group(
        "checkpoint or savepoint from which a job resumes, instead of its latest checkpoints"
    )
    add = group.add_argument
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        "--restore-with-checkpoint",
        metavar="[PIPELINE:]ID",
        action="append",
        default=[],
        help="with -r: restore this checkpoint; once for each pipeline",
    )
    where.add_argument("--restore-with-savepoint", metavar="NAME", help="with -r: restore this savepoint of the job")
    where.add_argument(
        "--from-savepoint", metavar="JOB_ID/NAME", help="start a new job from a savepoint of another job"
    )
    add(
        "--from-storage",
        metavar="STORAGE",
        help="storage that contains the savepoint: an engine file, a folder/ or an exported FILE.zip",
    )
    rows = group.add_mutually_exclusive_group()
    rows.add_argument("--retract", action="store_true", help="first roll back output published after that checkpoint")
    rows.add_argument(
        "--accept-duplicates",
        action="store_true",
        help=("keep output published after that checkpoint; its rows will be duplicated"),
    )
    forget = "discard the state of sources and sinks that were removed from the job"
    add("--allow-non-restored-state", action="store_true", help=forget)
    take = "with -r: resume the job even if another process on this machine runs it; that process then fails"
    add("--take-over", action="store_true", help=take)


def restore_arguments(values: argparse.Namespace) -> Restore:
    """Return the restore options; raise ``UsageError`` for an option that needs ``--restore`` or has no effect."""
    if values.restore and values.from_savepoint:
        raise UsageError("-r resumes a job, but --from-savepoint starts a new one: remove one of the two")
    if values.from_storage and not values.from_savepoint:
        raise UsageError("--from-storage is the storage of a savepoint: put it after --from-savepoint JOB_ID/NAME")
    if values.from_savepoint and values.retract:
        raise UsageError(
            "A new job cannot roll back output that another job published. Restore the other job instead: "
            "-r JOB_ID --restore-with-savepoint NAME --retract"
        )
    for name in (*_OF_OLD_JOBS, *_OF_EITHER):
        belongs = values.restore or (values.from_savepoint and name in _OF_EITHER)
        if getattr(values, name) and not belongs:
            raise UsageError(
                f"{_flag(name)} selects the state from which a job resumes, not the job: put it after -r JOB_ID"
            )
    if values.check and (values.restore_with_checkpoint or values.restore_with_savepoint or values.from_savepoint):
        raise UsageError("--check validates the job, not stored state: remove --check or the restore options")
    return Restore(
        checkpoints=values.restore_with_checkpoint,
        savepoint=values.restore_with_savepoint,
        from_savepoint=values.from_savepoint,
        from_storage=values.from_storage,
        retract=values.retract,
        accept_duplicates=values.accept_duplicates,
        allow_non_restored_state=values.allow_non_restored_state,
        take_over=values.take_over,
    )
