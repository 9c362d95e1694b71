"""A checkpoint storage in memory, with the meaning of the storage contract and nothing else."""

from attrs import define, field

from seatunnel_core.work.split import Split
from seatunnel_storage_api import retention
from seatunnel_storage_api.state import CheckpointRef, PipelineListing, PipelineState
from tests.checkpoint.played import info_of


@define
class ModelStorage:
    """Put-if-absent, markers, listings, attachments. Each method is one atomic step of a real storage."""

    retained: int
    checkpoints: dict[CheckpointRef, PipelineState] = field(factory=dict)
    epochs: set[int] = field(factory=set)
    attachments: dict[str, tuple[Split, ...]] = field(factory=dict)
    conflicts: list[str] = field(factory=list)

    def claim(self, minimum: int) -> int:
        epoch = max(minimum, self.listing().highest_epoch + 1)
        self.epochs.add(epoch)
        return epoch

    def put(self, state: PipelineState) -> None:
        existing = self.checkpoints.setdefault(state.ref, state)
        if existing.states != state.states:
            self.conflicts.append(f"checkpoint {state.ref} was put twice with different states")

    def listing(self) -> PipelineListing:
        infos = tuple(info_of(self.checkpoints[ref]) for ref in sorted(self.checkpoints))
        return PipelineListing(checkpoints=infos, epochs=tuple(sorted(self.epochs)))

    def is_fenced(self, epoch: int) -> bool:
        return max(self.epochs, default=None) != epoch

    def too_much(self, stored: CheckpointRef) -> tuple[frozenset[CheckpointRef], frozenset[int]]:
        """What a store of ``stored``, having just listed, will remove."""
        pruning = retention.prune(self.listing(), stored=stored, max_retained=self.retained)
        return frozenset(info.ref for info in pruning.checkpoints), frozenset(pruning.epochs)

    def remove(self, refs: frozenset[CheckpointRef], epochs: frozenset[int]) -> None:
        for ref in refs:
            self.checkpoints.pop(ref, None)
        self.epochs -= epochs
