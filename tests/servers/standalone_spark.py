"""A Spark standalone cluster on loopback, from the pyspark wheel: a master and some workers."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

from tests.servers.process import free_port

PATIENCE_S = 240.0


@contextmanager
def standalone_spark(folder: Path, workers: Mapping[str, int], *, memory: str = "1g") -> Iterator[str]:
    """Its address, as soon as all workers have registered.

    Args:
        folder: takes the logs, and what the workers keep, in folders of their names.
        workers: how many cores each has, by its name.
        memory: of each worker, for its executors.
    """
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("PYTHONPATH", None)
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    launched: list[Any] = []

    def launch(name: str, *arguments: str) -> None:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        with (folder / f"{len(launched)}.log").open("wb") as log:
            launched.append(subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log))

    try:
        launch("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        for worker, cores in workers.items():
            work = ("-c", str(cores), "-m", memory, "-d", str(folder / worker), "--webui-port", "0")
            launch("worker.Worker", "--host", "127.0.0.1", *work, url)
        deadline = time.monotonic() + PATIENCE_S
        while (folder / "0.log").read_text().count("Registering worker") < len(workers):
            assert time.monotonic() < deadline, (folder / "0.log").read_text()
            time.sleep(0.2)
        yield url
    finally:
        for process in launched:
            process.terminate()
        for process in launched:
            process.wait(timeout=30)
