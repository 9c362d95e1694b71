"""One mutant, from its number to what became of it."""

import hashlib
import time
import tracemalloc
from contextlib import suppress
from random import Random

from seatunnel_core.checkpoint.state import codec
from seatunnel_core.runtime.enumeration import thaw
from seatunnel_storage_api.errors import CheckpointCorruptedError
from seatunnel_storage_api.state import Manifest as StoredManifest
from seatunnel_storage_api.state import PipelineState
from tests.checkpoint.hostile.mutants import Object, damaged, forged, huge_lengths
from tests.checkpoint.hostile.victim import JOB, OURS, Victim, look_into_enumeration, look_into_manifest

SECONDS = 5.0
"""Of processor time. A mutant takes a few milliseconds; this only tells a loop from a slow machine."""

BYTES_PER_BYTE, BYTES_AT_LEAST = 40, 1 << 19
"""Memory that reading may take: an empty list is two bytes of JSON, and 56 bytes of Python in a slot of 8."""


def play(victim: Victim, number: int) -> str:
    """Make the mutant of this number, read it, go on from it, and say how that ended.

    Raises:
        AssertionError: something happened that must not. Any other exception must not either.
    """
    random = Random(number)
    key = _chosen(victim, random)
    began = time.process_time()
    end = _damage(victim, key, random) if number % 2 else _forge(victim, key, random)
    assert time.process_time() - began < SECONDS, f"mutant {number} took {time.process_time() - began:.1f} s"
    return end


def memory_taken(victim: Victim, number: int) -> tuple[int, int]:
    """How many bytes of memory it took to read (and to decode, if it is a forgery) a mutant, and how many it may take.

    ``tracemalloc`` has to run. Nothing is gone on from: to stop measuring while a thread of Arrow hands back memory of
    Python's kills the interpreter.
    """
    random = Random(number)
    key = _chosen(victim, random)
    if number % 2:
        sealed, body = damaged(random, victim.originals[key], random.choice(list(victim.originals.values()))), None
    else:
        sealed, body = forged(random, Object.of(victim.originals[key]), victim.places)
    return _measured(victim, key, sealed, body)


def memory_of_a_lie(victim: Victim, number: int) -> tuple[int, int]:
    """The same for an object whose header says that it, or what follows, is far longer than all there is."""
    random = Random(number)
    key = _chosen(victim, random)
    return _measured(victim, key, huge_lengths(random, victim.originals[key]), None)


def _measured(victim: Victim, key: str, sealed: bytes, body: bytes | None) -> tuple[int, int]:
    """Reads under the name that the body asks for; without one, as it stands."""
    tracemalloc.clear_traces()
    before, _ = tracemalloc.get_traced_memory()
    with suppress(*OURS):
        found = victim.read(key, sealed) if body is None else _read(victim, key, sealed, body)
        if isinstance(found, PipelineState):
            codec.decode(found.states)
        elif isinstance(found, StoredManifest):
            look_into_manifest(found.body)
        else:
            thaw(found)  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    return peak - before, BYTES_AT_LEAST + BYTES_PER_BYTE * len(sealed)


def _chosen(victim: Victim, random: Random) -> str:
    return random.choice((victim.checkpoint_key, victim.checkpoint_key, victim.manifest_key, victim.attachment_key))


def _damage(victim: Victim, key: str, random: Random) -> str:
    sealed = damaged(random, victim.originals[key], random.choice(list(victim.originals.values())))
    try:
        found = victim.read(key, sealed)
    except CheckpointCorruptedError:
        return "damaged: refused"
    assert sealed == victim.originals[key], "damaged bytes were read"
    assert found == victim.read(key, victim.originals[key])
    return "damaged by chance into what it was: read"


def _forge(victim: Victim, key: str, random: Random) -> str:
    kind = key.rpartition(".")[2]
    sealed, body = forged(random, Object.of(victim.originals[key]), victim.places)
    try:
        found = _read(victim, key, sealed, body)
        if isinstance(found, PipelineState):
            victim.restore(found)
        elif isinstance(found, StoredManifest):
            look_into_manifest(found.body)
        else:
            look_into_enumeration(found, victim.source)
    except OURS:
        return f"forged {kind}: refused"
    return f"forged {kind}: read, and gone on from"


def _read(victim: Victim, key: str, sealed: bytes, body: bytes) -> PipelineState | StoredManifest | bytes:
    found = _attachment(victim, sealed, body) if key == victim.attachment_key else victim.read(key, sealed)
    assert isinstance(found, PipelineState | StoredManifest | bytes)
    return found


def _attachment(victim: Victim, sealed: bytes, body: bytes) -> bytes:
    """Under the name that its content asks for: under any other it is refused at once."""
    digest = hashlib.sha256(body).hexdigest()
    path = victim.attachment_key.replace(victim.digest, digest)
    victim.storage.blobs[path] = sealed
    try:
        return victim.storage.get_attachment(JOB, digest)
    finally:
        if path != victim.attachment_key:
            del victim.storage.blobs[path]
        else:
            victim.storage.blobs[path] = victim.originals[path]
