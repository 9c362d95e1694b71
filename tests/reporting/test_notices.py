"""What is logged of a pipeline says which job, pipeline and checkpoint it is about."""

import logging

import pytest

from seatunnel_core.checkpoint import commands
from seatunnel_core.checkpoint.commands import AbortKind
from seatunnel_core.reporting.counters import Metrics
from seatunnel_core.reporting.notices import Notices, PipelineLog
from seatunnel_storage_api.state import CheckpointRef, CheckpointType

COMPLETED = commands.CheckpointCompleted(
    checkpoint_id=7, checkpoint_type=CheckpointType.CHECKPOINT, acknowledge_ms=1, store_ms=2, state_bytes=90
)
ABORTED = commands.CheckpointAborted(checkpoint_id=8, kind=AbortKind.STORAGE, reason="the disk is full")


def said(notices: Notices, *wanted: commands.Command) -> None:
    for notice in wanted:
        notices.handlers[type(notice)](notice)


def test_every_record_says_what_it_is_about(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "seatunnel")
    notices = Notices(PipelineLog("42", 3), Metrics())
    notices.epoch_started(
        commands.EpochStarted(epoch=200_000, base=CheckpointRef(100_000, 6), restored_units=2, restored_committables=1)
    )
    said(notices, COMPLETED, ABORTED, commands.Degraded(reason="nothing moves"))
    about = [(vars(record)["job"], vars(record)["pipeline"], vars(record)["checkpoint"]) for record in caplog.records]
    assert about == [("42", 3, None), ("42", 3, 7), ("42", 3, 8), ("42", 3, None)]
    assert caplog.messages == [
        "epoch 200000 started from checkpoint 100000-6: 2 work units are run again, 1 committables are committed again",
        "checkpoint 7 (checkpoint) completed in 3 ms, 90 bytes",
        "checkpoint 8 aborted: the disk is full",
        "degraded: nothing moves",
    ]


def test_checkpoints_are_counted() -> None:
    collected = Metrics()
    said(Notices(PipelineLog("42", 3), collected), COMPLETED, COMPLETED, ABORTED)
    assert (collected.checkpoints_completed, collected.checkpoints_failed) == (2, 1)


def test_being_well_again_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    said(Notices(PipelineLog("42", 3), Metrics()), commands.Degraded(reason=""))
    assert caplog.records == []


@pytest.mark.parametrize("kind", AbortKind)
def test_only_a_checkpoint_that_went_wrong_is_a_warning(kind: AbortKind, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "seatunnel")
    aborted = commands.CheckpointAborted(checkpoint_id=8, kind=kind, reason="so it was")
    said(Notices(PipelineLog("42", 3), Metrics()), aborted)
    assert [record.levelno for record in caplog.records] == [logging.WARNING if kind.is_failure else logging.INFO]
