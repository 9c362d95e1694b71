"""Random histories: engines that start, store, fall asleep and wake up, with a collection at any moment.

Beside the storage that is collected stands one that is not: whatever an engine or a person may restore is in both.
"""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_state import VertexStates
from seatunnel_core.inspector import find_garbage, remove, survey, survey_job
from seatunnel_storage_api.errors import CheckpointConflictError, StaleEpochError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.state import CheckpointRef, CheckpointType
from tests.inspector.made import JOB, Made

KINDS = st.sampled_from(
    [CheckpointType.CHECKPOINT, CheckpointType.CHECKPOINT, CheckpointType.SAVEPOINT, CheckpointType.COMPLETED_POINT]
)
COMMITTABLES = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), max_size=3, unique=True)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.integers(1, 2)),
        st.tuples(st.just("store"), st.integers(0, 5), st.integers(0, 12), KINDS, COMMITTABLES),
        st.tuples(st.just("stage"), st.integers(0, 5), st.integers(1, 4)),
        st.tuples(st.just("collect"), st.booleans()),
    ),
    max_size=25,
)


@define
class Engine:
    pipeline: int
    epoch: int
    base: tuple[int, int] | None


@define
class Game:
    """The same history on a storage that is collected and on one that is not."""

    made: Made
    untouched: Made
    engines: list[Engine] = field(factory=list)

    def start(self, pipeline: int) -> None:
        latest = survey_job(self.made.storage, JOB).pipeline(pipeline).latest
        epoch = self.made.storage.acquire_epoch(JOB, pipeline, 1)
        assert self.untouched.storage.acquire_epoch(JOB, pipeline, epoch) == epoch
        base = None if latest is None else (latest.epoch, latest.checkpoint_id)
        self.engines.append(Engine(pipeline, epoch, base))

    def store(self, which: int, number: int, kind: CheckpointType, named: list[tuple[int, int]]) -> None:
        if not self.engines:
            return
        engine = self.engines[which % len(self.engines)]
        epochs = [
            each.epoch for each in self.engines if each.pipeline == engine.pipeline and each.epoch <= engine.epoch
        ]
        states = self.made.states(
            pipeline=engine.pipeline, uncommitted=sorted({(epochs[age % len(epochs)], unit) for age, unit in named})
        )
        for made in (self.made, self.untouched):
            with suppress(StaleEpochError, CheckpointConflictError):
                made.store(engine.epoch, number, states, pipeline=engine.pipeline, base=engine.base, kind=kind)

    def stage(self, which: int, unit: int) -> None:
        if self.engines:
            engine = self.engines[which % len(self.engines)]
            self.made.stage(engine.epoch, unit, engine.pipeline)

    def collect(self, whole: bool) -> None:
        jobs = survey(self.made.storage)
        staged = set(self.made.target.rglob("*.parquet"))
        remove(self.made.storage, find_garbage(self.made.storage, jobs, whole=whole, older_than_s=0).garbage)
        self.check(staged)

    def check(self, staged: set[Path]) -> None:
        job, whole = survey_job(self.made.storage, JOB), survey_job(self.untouched.storage, JOB)
        for number, pipeline in whole.pipelines.items():
            left = job.pipelines[number]
            assert left.needed == pipeline.needed
            assert left.latest == pipeline.latest
            assert left.listing.newest_epoch == pipeline.listing.newest_epoch
            for info in pipeline.needed:
                state = self.made.storage.load(info)
                assert state == self.untouched.storage.load(info)
                assert state is not None
                self.check_staged(codec.decode(state.states), number, staged)
        for digest in self.made.attachments.values():
            assert self.made.storage.get_attachment(JOB, digest)

    def check_staged(self, states: VertexStates, number: int, staged: set[Path]) -> None:
        """What was staged and is named is still there."""
        for committable in states.sinks[f"out{number}"].uncommitted:
            ((name, _),) = committable.body["files"]
            assert all(path.exists() for path in staged if path.name == name)


@given(STEPS)
def test_nothing_that_a_restore_needs_is_ever_collected(steps: list[tuple[object, ...]]) -> None:
    with TemporaryDirectory() as folder:
        games = [
            Made(storage=MemoryStorage(max_retained=2), target=Path(folder, name), pipelines=(1, 2))
            for name in ("out", "other")
        ]
        for made in games:
            made.begin()
        game = Game(*games)  # type: ignore[arg-type]
        for name, *arguments in steps:
            getattr(game, str(name))(*arguments)
        game.collect(True)
        for pipeline in (1, 2):
            game.start(pipeline)
        assert [CheckpointRef(*engine.base) for engine in game.engines[-2:] if engine.base] == [
            pipeline.latest.ref
            for pipeline in survey_job(game.untouched.storage, JOB).pipelines.values()
            if pipeline.latest is not None
        ]
