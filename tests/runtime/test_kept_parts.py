"""The parts of a source's memory, as attachments: durable before they are named, and stored once."""

import json
from typing import Any

import pytest

from seatunnel_core.errors import StoredValueError
from seatunnel_core.runtime.source_io import KeptParts
from seatunnel_core.work.parts import named_parts
from seatunnel_storage_api.errors import AttachmentNotFoundError
from seatunnel_storage_api.inventory import HoldingKind
from seatunnel_storage_api.memory import MemoryStorage

MEMORY = {"tables": {"a": {"memory": {"runs": [b"one", b"two"], "n": 1}}, "b": {"memory": {"runs": [b"one"]}}}}


class Counting(MemoryStorage):
    def __init__(self) -> None:
        super().__init__({}, namespace="/s/", max_retained=1)
        self.calls: list[str] = []

    def store_attachment(self, job_id: str, body: bytes) -> str:
        self.calls.append("store")
        return super().store_attachment(job_id, body)

    def get_attachment(self, job_id: str, digest: str) -> bytes:
        self.calls.append("get")
        return super().get_attachment(job_id, digest)

    def attachments(self) -> set[str | None]:
        return {each.digest for each in self.holdings("job") if each.kind is HoldingKind.ATTACHMENT}


def stored(parts: KeptParts, memory: Any) -> Any:
    """Return a memory as a checkpoint holds it."""
    return json.loads(json.dumps(parts.stored("source", memory)))


def test_what_a_checkpoint_names_is_durable_and_another_process_reads_it() -> None:
    storage = Counting()
    kept = stored(KeptParts(storage, "job"), MEMORY)
    assert set(named_parts(kept)) == storage.attachments()
    assert len(storage.attachments()) == 2
    assert KeptParts(storage, "job").whole("source", kept) == MEMORY


def test_a_part_is_stored_once_and_not_read_again() -> None:
    storage = Counting()
    parts = KeptParts(storage, "job")
    memory: Any = MEMORY
    for _ in range(3):
        memory = parts.whole("source", stored(parts, memory))
    assert storage.calls == ["store", "store"]


def test_an_older_memory_can_be_asked_for_again() -> None:
    """A poll whose files could not be looked into is repeated with the memory before it."""
    storage = Counting()
    parts = KeptParts(storage, "job")
    older = stored(parts, MEMORY)
    newer = stored(parts, {"runs": [b"three"]})
    assert parts.whole("source", older) == MEMORY
    assert parts.whole("source", newer) == {"runs": [b"three"]}


def test_sources_do_not_share_what_they_hold() -> None:
    storage = Counting()
    parts = KeptParts(storage, "job")
    kept = {name: parts.stored(name, {"part": name.encode()}) for name in ("a", "b")}
    assert [parts.whole(name, kept[name]) for name in kept] == [{"part": b"a"}, {"part": b"b"}]


def test_a_part_that_is_gone_is_an_error_and_so_is_an_enumeration_in_its_place() -> None:
    storage = Counting()
    kept = stored(KeptParts(storage, "job"), {"part": b"x"})
    storage.discard(storage.holdings("job"))
    with pytest.raises(AttachmentNotFoundError):
        KeptParts(storage, "job").whole("source", kept)
    enumeration = {"part": {"$attachment": storage.store_attachment("job", b"{}")}}
    with pytest.raises(StoredValueError):
        KeptParts(storage, "job").whole("source", enumeration)


@pytest.mark.parametrize("name", ["../../other", "A" * 64, 5, None, {}])
def test_a_name_that_is_no_digest_is_refused(name: Any) -> None:
    with pytest.raises(StoredValueError):
        list(named_parts({"deep": [{"$attachment": name}]}))


def test_a_memory_without_parts_is_as_it_was() -> None:
    storage = Counting()
    memory = {"polls": 3, "offsets": [[0, 5], [1, 7]], "nothing": None, "text": "x"}
    parts = KeptParts(storage, "job")
    assert parts.whole("source", stored(parts, memory)) == memory
    assert storage.calls == []
