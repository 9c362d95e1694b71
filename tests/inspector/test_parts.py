"""The parts of sources' memories are kept, copied and verified like enumerations."""

from pathlib import Path

import pytest
from attrs import evolve

from seatunnel_core.checkpoint.errors import StateFormatError
from seatunnel_core.checkpoint.state import codec
from seatunnel_core.checkpoint.state.vertex_id import VertexKind
from seatunnel_core.inspector.copy import copy_job
from seatunnel_core.inspector.garbage import find_garbage
from seatunnel_core.inspector.survey import survey, survey_job
from seatunnel_core.inspector.verify import verify
from seatunnel_core.runtime.source_io import KeptParts
from seatunnel_storage_api.blob import BlobStorage
from seatunnel_storage_api.memory import MemoryStorage
from tests.inspector.made import JOB, Made


@pytest.fixture
def part(made: Made) -> str:
    """The digest of a part that the latest checkpoint names, and the three before it do not."""
    memory = KeptParts(made.storage, JOB).stored("source", {"runs": [b"what was seen"]})
    states = made.states(emitted=9)
    named = evolve(
        states, sources={name: evolve(each, memory=memory, waiting=()) for name, each in states.sources.items()}
    )
    made.store(200_000, 7, named, base=(100_000, 2))
    return str(memory["runs"][0]["$attachment"])


def test_it_is_intact_and_a_missing_one_is_damage(made: Made, part: str) -> None:
    assert verify(made.storage, survey(made.storage)).sound
    made.storage.discard(each for each in made.storage.holdings() if each.digest == part)
    found = verify(made.storage, survey(made.storage))
    assert f"cursor part {part[:12]}… is missing" in found.problems[-1].replace("…, which is", "… is")


def test_it_is_no_garbage_and_neither_is_one_that_may_be_named_next(made: Made, part: str) -> None:
    KeptParts(made.storage, JOB).stored("source", {"runs": [b"seen since"]})
    found = find_garbage(made.storage, survey(made.storage), older_than_s=0)
    assert "attachment" not in {each.what for each in found.garbage}


def test_it_goes_along(made: Made, part: str) -> None:
    destination: BlobStorage = MemoryStorage({}, namespace="/other/", max_retained=10)
    copy_job(made.storage, destination, JOB)
    assert destination.get_attachment(JOB, part)
    assert verify(destination, [survey_job(destination, JOB)]).sound


def test_a_program_that_knows_no_parts_refuses_the_state(
    made: Made, part: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    state = made.storage.get_checkpoint(JOB, 1, 7, epoch=200_000)
    assert state is not None
    assert codec.encode(codec.decode(state.states)) == state.states
    monkeypatch.setitem(codec._NEWEST, VertexKind.SOURCE, codec.VERTEX_VERSION)
    with pytest.raises(
        StateFormatError, match="has version 2, but this engine supports versions up to 1: upgrade the engine"
    ):
        codec.decode(state.states)
