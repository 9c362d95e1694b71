"""Draws the picture of the running screen that the README shows, from what a terminal of 112 columns received.

stty cols 112 && script -q -c '.venv/bin/seatunnel -c examples/demo/flights.conf' build/demo.typescript
python -m tests.cli.running_screen build/demo.typescript > docs/start/running-screen.svg
"""

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

COLUMNS = 108
COMMAND = "$ make demo"
_REDRAWN = re.compile(r"\r?(?:\x1b\[2K(?:\x1b\[1A)?)+")
"""What clears the table before it is drawn again."""
_HEADER = re.compile(r"\AScript started on .*\n")
"""First line of a file that ``script`` wrote."""
_CURSOR = re.compile(r"\x1b\[\?25[lh]")
_FONTS = re.compile(r" *@font-face \{.*?\}\n", re.DOTALL)


def frame(received: str) -> str:
    """Return the lines above the table, and the table as it was when two thirds of the job had gone by."""
    text = _HEADER.sub("", _CURSOR.sub("", received.replace("\r\n", "\n")))
    above, *tables = _REDRAWN.split(text)
    running = [table for table in tables if " running " in table]
    return f"{above.rstrip()}\n\n{running[len(running) * 2 // 3].rstrip()}"


def picture(text: str) -> str:
    """Return it as SVG. The fonts are those of the machine that shows it; rich would load its own from the network."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(COMMAND)
    console.print(Text.from_ansi(text))
    svg = _FONTS.sub("", console.export_svg(title="seatunnel", theme=SVG_EXPORT_THEME, unique_id="screen"))
    svg = svg.replace("Fira Code,", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono,")
    return re.sub(r"[ \t]+\n", "\n", svg)


if __name__ == "__main__":
    sys.stdout.write(picture(frame(Path(sys.argv[1]).read_bytes().decode())))
