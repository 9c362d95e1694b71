"""One engine of a storm, as a process: ``python -m tests.servers.storm_writer ORDER``.

Stores the ids up to ``last`` one after the other, from where the pipeline stands. A store that raises
``StorageUnavailableError`` is done again, with the same key, until it is acknowledged. Each acknowledgement is a line:
epoch, id, and how often the storage had been unavailable before.
"""

import json
import random
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from seatunnel_storage_api.discovery import load_factory
from seatunnel_storage_api.errors import StorageUnavailableError
from seatunnel_storage_api.state import CheckpointRef, CheckpointType, PipelineState
from seatunnel_storage_api.storage import CheckpointStorage

JOB = "storm"
PATIENCE_S = 120.0

Answer = TypeVar("Answer")


def storage_of(configuration: Mapping[str, str]) -> CheckpointStorage:
    """The storage of the plugin that the key ``type`` names, ``hdfs`` without one."""
    keys = dict(configuration)
    return load_factory(keys.pop("type", "hdfs")).create(keys)


def state(
    pipeline_id: int, epoch: int, checkpoint_id: int, base: CheckpointRef | None, author: str = ""
) -> PipelineState:
    """What is stored under an id: up to 200 kB that nothing else has, and that can be told from the id."""
    draw = random.Random(f"{pipeline_id} {checkpoint_id}")
    return PipelineState(
        job_id=JOB,
        pipeline_id=pipeline_id,
        epoch=epoch,
        checkpoint_id=checkpoint_id,
        checkpoint_type=CheckpointType.CHECKPOINT,
        base=base,
        states=author.encode() + draw.randbytes(draw.choice((0, 100, 10_000, 200_000))),
    )


def patiently(action: Callable[[], Answer]) -> tuple[Answer, int]:
    """The answer, and how often the storage had been unavailable before."""
    deadline = time.monotonic() + PATIENCE_S
    refused = 0
    while True:
        try:
            return action(), refused
        except StorageUnavailableError:
            refused += 1
            if time.monotonic() > deadline:
                raise


def main(order: str) -> None:
    wanted = json.loads(order)
    pipeline = wanted["pipeline_id"]
    storage, _ = patiently(lambda: storage_of(wanted["configuration"]))
    with storage:
        epoch, _ = patiently(lambda: storage.acquire_epoch(JOB, pipeline, 1))
        latest, _ = patiently(lambda: storage.get_latest_checkpoint(JOB, pipeline))
        base = latest.ref if latest else None
        for number in range(latest.checkpoint_id + 1 if latest else 1, wanted["last"] + 1):
            due = state(pipeline, epoch, number, base)
            _, refused = patiently(lambda due=due: storage.store_checkpoint(due))  # type: ignore[misc]
            sys.stdout.write(f"{epoch} {number} {refused}\n")  # whole or not at all, if this process is killed
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
