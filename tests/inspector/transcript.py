"""The transcript of ``docs/guides/inspector.md``: played on a real job that was killed, and compared by shape.

``python -m tests.inspector.transcript`` plays it and writes the page's outputs anew.
"""

import io
import re
import shlex
import subprocess
import tempfile
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from attrs import evolve

from seatunnel_core.cli.main import main
from tests.runtime.command import Command, job, parquet_sink

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "inspector.md"
ROWS = {"flights": 4_000, "airports": 50}

_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_PLACE = "/data"
_MASKS = (
    (r"\d([\d,.]*\d)?(-\d+)?", "#"),
    (r"\b(split|unit|row|committable|checkpoint|object|attachment|time)s\b", r"\1"),
    (r"# (B|kB|MB|s|min)\b", "#"),
    (r"(# +)+#", "#"),
    (r"splits? #( to #)?( \(.*?\))?", "split #"),
)
_LUCK = re.compile(
    r"# (checkpoint|restore-point) # ago live|has emitted|continues with|… and|(published|staged|not found): |"
    r"(source|sink) [\w-]+|[+-] (unit|committable)|unit #: .* -> .*|\w+: # -> #"
)
"""How many checkpoints there are besides the latest, what happened between two of them, and how far the commit came."""

_SOURCE = """
  LocalFile {{
    plugin_output = {name}
    path = "{path}"
    file_format_type = csv
    csv_use_header_line = true
    split_size = 1600
    schema {{ fields {{ id = bigint, text = string }} }}
  }}"""


def killed_job(folder: Path) -> Command:
    """A job of two tables. The small one is done; of the other the third file was about to be published."""
    (folder / "in").mkdir(parents=True)
    for table, rows in ROWS.items():
        lines = "".join(f"{row},row {row:06d}\n" for row in range(1, rows + 1))
        (folder / "in" / f"{table}.csv").write_text(f"id,text\n{lines}", "utf-8")
    env = "job.name = nightly, job.mode = BATCH, checkpoint.interval = 200, read_limit.rows_per_second = 1000"
    sources = [_SOURCE.format(name=table, path=folder / "in" / f"{table}.csv") for table in ROWS]
    sinks = [parquet_sink(table, folder / "out" / table) for table in ROWS]
    command = evolve(Command.of(folder, job(env, sources, sinks)), job_id="nightly")
    engine = command.begin("-m", "local[2]", stop=["rename", r"/out/flights/(?!\.seatunnel)", 3, "before"])
    deadline = time.monotonic() + 100
    while not engine.stopped:
        assert engine.exit_code is None, engine.output
        assert time.monotonic() < deadline, engine.output
        time.sleep(0.02)
    engine.kill()
    engine.end()
    return command


def played(folder: Path, line: str) -> str:
    """What a command of the page prints, in the folder of the job."""
    if not line.startswith("seatunnel "):
        subprocess.run(line, shell=True, cwd=folder, check=True)
        return ""
    said, complaint = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(said), redirect_stderr(complaint):
        main(shlex.split(line)[1:])
    return (said.getvalue() + complaint.getvalue()).replace(str(folder), _PLACE)


def blocks(page: str) -> list[str]:
    return _BLOCK.findall(page)


def commands(block: str) -> list[tuple[str, str]]:
    """Each command of a block, with what is printed below it."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        else:
            command, output = found[-1]
            found[-1] = (command, f"{output}{line}\n")
    return found


def shape(output: str) -> list[str]:
    """The lines without their figures, each once, and without those that hang on how fast the machine was."""
    masked = output
    for pattern, instead in _MASKS:
        masked = re.sub(pattern, instead, masked)
    lines = (" ".join(line.split()) for line in masked.splitlines())
    return list(dict.fromkeys(line for line in lines if line and not _LUCK.match(line)))


def rewritten(page: str, folder: Path) -> str:
    """The page with the outputs of now."""

    def play(block: re.Match[str]) -> str:
        return "".join(f"$ {line}\n{played(folder, line)}" for line, _ in commands(block[0]))

    return _BLOCK.sub(play, page)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        place = killed_job(Path(scratch, "job")).folder
        PAGE.write_text(rewritten(PAGE.read_text("utf-8"), place), "utf-8")
