"""The disks of the state, or of the database, and of the sinks: full, read-only, slow, failing; and the database."""

import errno
import random
import threading
from collections.abc import Iterator

from tests.server.nemesis.ground import Ground
from tests.server.nemesis.kinds import LONG, PAUSES, SHORT, kind
from tests.server.nemesis.storage import Disk


def with_disk(ground: Ground) -> bool:
    """Return whether the state lies on a disk of its own."""
    return ground.disk is not None


def with_sink_disk(ground: Ground) -> bool:
    """Return whether the sinks of files lie on a disk of their own."""
    return ground.sink_disk is not None


def with_files(ground: Ground) -> bool:
    """Return whether the state lies in files, whose calls can be made to fail."""
    return ground.database is None and all(member.interposer for member in ground.members)


def with_database(ground: Ground) -> bool:
    """Return whether the state lies in a database."""
    return ground.database is not None


@kind("storage: full", LONG, with_disk)
def _full(ground: Ground, _draw: random.Random) -> Iterator[None]:
    yield from _filled(ground.disk)


@kind("sink: full", LONG, with_sink_disk)
def _full_sink(ground: Ground, _draw: random.Random) -> Iterator[None]:
    yield from _filled(ground.sink_disk)


def _filled(disk: Disk | None) -> Iterator[None]:
    assert disk is not None
    disk.fill()
    yield
    disk.empty()


@kind("storage: read-only", LONG, with_files)
def _read_only(ground: Ground, _draw: random.Random) -> Iterator[None]:
    """For all nodes; also what they have open already. A mounted disk could only be closed while nothing is open."""
    yield from _all_told(ground, error=errno.EROFS, reads=1)


@kind("storage: frozen", LONG, with_disk)
def _frozen(ground: Ground, _draw: random.Random) -> Iterator[None]:
    """Whoever writes waits, and cannot be killed meanwhile."""
    assert ground.disk is not None
    ground.disk.freeze()
    yield
    ground.disk.thaw()


@kind("storage: slow", LONG, with_disk)
def _slow(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _slowed(ground.disk, draw)


@kind("sink: slow", LONG, with_sink_disk)
def _slow_sink(ground: Ground, draw: random.Random) -> Iterator[None]:
    yield from _slowed(ground.sink_disk, draw)


def _slowed(disk: Disk | None, draw: random.Random) -> Iterator[None]:
    """Let a disk stand still for most of the time."""
    over, rest_s = threading.Event(), draw.uniform(0.2, 2)
    assert disk is not None

    def drag() -> None:
        while not over.is_set():
            disk.freeze()
            over.wait(rest_s)
            disk.thaw()
            over.wait(0.05)

    dragging = threading.Thread(target=drag, name="drag")
    dragging.start()
    yield
    over.set()
    dragging.join()


@kind("storage: failing", LONG, with_files)
def _failing(ground: Ground, draw: random.Random) -> Iterator[None]:
    """Each call of each node ends with an error."""
    yield from _all_told(ground, error=draw.choice((errno.EIO, errno.ESTALE, errno.EDQUOT)))


def _all_told(ground: Ground, **what: int) -> Iterator[None]:
    """Make the storage of all nodes something, and then what it was."""
    for member in ground.members:
        assert member.interposer is not None
        member.interposer.tell(**what)
    yield
    for member in ground.members:
        assert member.interposer is not None
        member.interposer.tell(**dict.fromkeys(what, 0))


@kind("database: killed", SHORT, with_database)
def _database_killed(ground: Ground, _draw: random.Random) -> Iterator[None]:
    assert ground.database is not None
    ground.database.kill()
    yield
    ground.database.start_again()


@kind("database: stopped", PAUSES, with_database)
def _database_stopped(ground: Ground, _draw: random.Random) -> Iterator[None]:
    assert ground.database is not None
    stopped = ground.database.stop()
    yield
    ground.database.go_on(stopped)
