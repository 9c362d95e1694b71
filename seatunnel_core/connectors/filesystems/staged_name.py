"""The names of staged files, apart from what stages them, so that a program without Arrow can read them.

::

    <target>/.seatunnel/<job>/<pipeline>/<epoch>/<name>     staged
    <target>/<folders>/<name>                               published
    <target>/.seatunnel/<job>/save-mode/<process>-<epoch>-<pipeline>-<sink>/<number>    on its way out (``save_mode``)

A name contains ``<job>-p<pipeline>-s<sink>-o<source>-e<epoch>-u<unit>-a<attempt>``: which attempt of which unit wrote
it. So no two attempts, epochs, sinks or jobs ever write the same name.
"""

import os
import re

STAGING = ".seatunnel"

OWNER = re.compile(r"-p(?P<pipeline>\d+)-s(?P<sink>\d+)-o(?P<source>\d+)-e(?P<epoch>\d+)-u(?P<unit>\d+)-a")

SAVE_MODE = "save-mode"
"""The folder of the fences of save modes."""

FENCE = re.compile(r"(?P<process>\d+)-(?P<epoch>\d+)-(?P<pipeline>\d+)-(?P<sink>\d+)")

PROBE = ".probe-"
"""What the names of the files begin with that a task writes for the driver to find."""


def staging_folder(root: str, job_id: str, pipeline_id: int, epoch: int) -> str:
    return os.path.join(root, STAGING, job_id, str(pipeline_id), str(epoch))


def owner(name: str, job_id: str) -> re.Match[str] | None:
    """Which unit of the job staged a file of this name; ``None`` when none did. A job's id may look like an owner."""
    return OWNER.search(name, name.find(job_id) + 1)


def committable_id(found: re.Match[str]) -> str:
    """The id of the committable that names the file, if any does."""
    return f"{found['source']}-{found['epoch']}-{found['unit']}"
