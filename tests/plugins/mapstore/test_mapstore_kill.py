"""``kill -9`` of a process that writes a map with many threads: what it was told of is there."""

import subprocess
import sys
from pathlib import Path

import pytest
from seatunnel_storage_mapstore.maps import FileMapStoreFactory

_PROGRAM = """
import sys, threading
from seatunnel_storage_mapstore.journal import Limits
from seatunnel_storage_mapstore.maps import FileMapStoreFactory

store = FileMapStoreFactory().create("map", {"namespace": sys.argv[1]})
store._limits = Limits(segment_bytes=20_000)  # so that some kills hit a compaction
store.open()
lock = threading.Lock()

def write(thread):
    number = 0
    while True:
        number += 1
        store.store(str(thread), b"%d" % number * 50)
        with lock:
            sys.stdout.write(f"{thread} {number}\\n")
            sys.stdout.flush()

for thread in range(16):
    threading.Thread(target=write, args=(thread,)).start()
"""


@pytest.mark.parametrize("lines", [1, 300, 1_500])
def test_a_killed_process_leaves_every_change_that_was_acknowledged(tmp_path: Path, lines: int) -> None:
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        said = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        said += process.stdout.readlines()
    pairs = (line.split() for line in said if line.endswith("\n"))
    acknowledged = {int(one): int(other) for one, other in pairs}  # the last of each thread
    store = FileMapStoreFactory().create("map", {"namespace": str(tmp_path)})
    found = {int(key): value for key, value in store.load_all(store.load_all_keys()).items()}
    store.destroy()
    assert len(said) >= lines
    for thread, number in acknowledged.items():
        assert found[thread] in (b"%d" % number * 50, b"%d" % (number + 1) * 50), "one more may be there untold"
