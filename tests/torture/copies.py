"""Files of any kind that a tortured job copies byte by byte, in the format ``binary``."""

import random
from pathlib import Path

import pyarrow as pa
from attrs import frozen

from tests.live_folder import files_below
from tests.torture.databases.tables import Table
from tests.torture.job import Target

FILES = 240
PIECE_BYTES = 50
MOST_PIECES = 40
"""Of one file; a piece is a row."""

_COLUMNS = pa.schema([("data", pa.binary()), ("relativePath", pa.string()), ("partIndex", pa.int64())])


@frozen(kw_only=True)
class Copied(Table):
    """A folder of files, empty ones among them; ``rows`` is how many pieces they have."""

    def reading(self) -> str:
        return f'file_format_type = "binary"\n    binary_chunk_size = {PIECE_BYTES}'


@frozen(kw_only=True)
class Copies(Target):
    """Where they are copied to."""

    def differences(self) -> str:
        wanted, found = _contents(self.table.path), _contents(self.folder)
        wrong = sorted(name for name in wanted | found if wanted.get(name) != found.get(name))
        return f"{self.folder}: {len(wrong)} of {len(wanted)} files differ: {', '.join(wrong[:3])}" if wrong else ""


def make_copied(folder: Path, rng: random.Random) -> Copied:
    pieces = 0
    for number in range(FILES):
        size = rng.choice((0, rng.randrange(PIECE_BYTES * MOST_PIECES)))
        path = folder / str(number % 7) / f"{number:03}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(size))
        pieces += max(-(-size // PIECE_BYTES), 1)
    return Copied(name="copied", path=folder, columns=_COLUMNS, rows=pieces, counted=_COLUMNS.empty_table())


def _contents(folder: Path) -> dict[str, bytes]:
    found = (path.relative_to(folder) for path in files_below(folder))
    return {str(path): (folder / path).read_bytes() for path in found if ".seatunnel" not in path.parts}
