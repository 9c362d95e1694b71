"""What targets show as published, and a base that does not know all of it (R10)."""

import pytest
from attrs import evolve

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.checkpoint.decisions.base import RestoreRequest
from seatunnel_core.checkpoint.errors import RestoreRefusedError
from seatunnel_core.checkpoint.state.vertex_state import TaskState
from seatunnel_core.work.failure import Failure, FailureKind
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from tests.checkpoint.played import Played, info_of
from tests.checkpoint.test_start import HELD, stored


class TestWhatTargetsShow:
    """A restored job stores nothing before its base knows all that is published (R10)."""

    def asked(self, state: PipelineState | None, *published: str) -> Played:
        played = Played(epoch=2, restore=RestoreRequest(requires_known=True, since=2))
        played.deliver(events.Started(now_ms=0))
        played.deliver(events.EpochClaimed(now_ms=0, epoch=2))
        known = () if state is None else (info_of(state),)
        played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=known, newest_epoch=2))
        if state is not None:
            played.deliver(events.CheckpointLoaded(now_ms=0, state=state))
        assert played.only(commands.ListPublished) == commands.ListPublished(epoch=2)
        assert not played.ever(commands.StoreCheckpoint)
        played.deliver(events.PublishedListed(now_ms=0, published={"out": frozenset(published)}))
        return played

    @pytest.mark.parametrize("published", [(), ("0-1-1",), ("0-1-1", "0-1-3")])
    def test_what_the_base_names_is_known(self, published: tuple[str, ...]) -> None:
        assert self.asked(stored(), *published).only(commands.StoreCheckpoint)

    @pytest.mark.parametrize("published", [("0-1-2",), ("0-1-1", "0-1-4")])
    def test_a_newer_checkpoint_was_removed(self, published: tuple[str, ...]) -> None:
        played = self.asked(stored(), *published)
        failure = played.only(commands.EndPipeline).failure
        assert failure is not None
        assert (failure.kind, failure.code) == (FailureKind.USAGE, RestoreRefusedError.code)
        assert f"1 unit ({published[-1]}), but the latest checkpoint 1-7 does not contain them" in failure.message
        assert "-r job --restore-with-checkpoint 1-7 --retract" in failure.message
        assert not played.ever(commands.StoreCheckpoint)

    def test_every_checkpoint_was_removed(self) -> None:
        played = self.asked(None, "0-1-1", "0-1-2", "0-1-3", "0-1-4")
        failure = played.only(commands.EndPipeline).failure
        assert failure is not None
        assert "4 units (0-1-1, 0-1-2, 0-1-3, …), but the job has no checkpoint" in failure.message
        assert failure.message.endswith("or empty the target and start over under a new id")

    def test_a_target_that_cannot_be_read_fails_the_start(self) -> None:
        played = Played(restore=RestoreRequest(requires_known=True))
        played.deliver(events.Started(now_ms=0))
        played.deliver(events.EpochClaimed(now_ms=0, epoch=1))
        played.deliver(events.CheckpointsListed(now_ms=0, checkpoints=(), newest_epoch=1))
        broken = Failure(kind=FailureKind.TRANSIENT, message="cannot be read")
        played.deliver(events.ConnectorFailed(now_ms=0, failure=broken))
        assert played.only(commands.EndPipeline).failure == broken

    def test_a_finished_pipeline_and_a_retraction_do_not_ask(self) -> None:
        for state in (
            stored(evolve(HELD, tasks={"in": TaskState(next_unit=4)}), CheckpointType.COMPLETED_POINT),
            stored(evolve(HELD, retracting=CheckpointRef(1, 5))),
        ):
            played = Played(epoch=2, restore=RestoreRequest(requires_known=True, since=2))
            assert played.begin(state)

    def test_a_restart_does_not_ask_again(self) -> None:
        request = RestoreRequest(requires_known=True, since=2)
        played = Played(epoch=3, restore=request)
        assert played.begin(stored(epoch=2))
