"""Names of staged files. Does not import Arrow, so that the inspector can use it.

::

    <target>/.seatunnel/<job>/<pipeline>/<epoch>/<name>     staged
    <target>/.seatunnel/<job>/<pipeline>/<epoch>/.prepared  prepared by the driver for this epoch
    <target>/<folders>/<name>                               published
    <target>/.seatunnel/<job>/save-mode/<process>-<epoch>-<pipeline>-<sink>/<number>    being removed (``save_mode``)
    <target>/.seatunnel/<job>/replacing/…                   committed, but not in place yet (``replacing``)

A name contains ``<job>-p<pipeline>-s<sink>-o<source>-e<epoch>-u<unit>-a<attempt>``, which identifies the attempt of the
unit that wrote it. Therefore different attempts, epochs, sinks or jobs never write the same name.
"""

import os
import re

STAGING = ".seatunnel"

OWNER = re.compile(r"-p(?P<pipeline>\d+)-s(?P<sink>\d+)-o(?P<source>\d+)-e(?P<epoch>\d+)-u(?P<unit>\d+)-a")

SAVE_MODE = "save-mode"
"""Folder for the fences of save modes."""

REPLACING = "replacing"
"""Folder of committed files that replace existing files after the last row."""

REPLACED = re.compile(r"(?P<pipeline>\d+)-(?P<sink>\d+)")
"""Pattern of the prefix of names in ``REPLACING``, which identifies the sink."""

FENCE = re.compile(r"(?P<process>\d+)-(?P<epoch>\d+)-(?P<pipeline>\d+)-(?P<sink>\d+)")

PREPARED = ".prepared"
"""Name of the folder (in a bucket, an object) that marks a staging folder as prepared by the driver for its epoch."""

PROBE = ".probe-"
"""Name prefix of the files used to check that the driver can see files that a task writes."""


def staging_folder(root: str, job_id: str, pipeline_id: int, epoch: int) -> str:
    """Return the folder in which a pipeline stages files in one epoch."""
    return os.path.join(root, STAGING, job_id, str(pipeline_id), str(epoch))


def owner(name: str, job_id: str) -> re.Match[str] | None:
    """Match the part of a staged file's name that identifies the unit, after the job ID; ``None`` for other files."""
    return OWNER.search(name, name.find(job_id) + 1)


def committable_id(found: re.Match[str]) -> str:
    """Return the ID of the committable to which a file belongs."""
    return f"{found['source']}-{found['epoch']}-{found['unit']}"
