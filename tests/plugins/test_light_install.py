"""``pip install seatunnel-storage-hdfs`` without extras brings little; what is missing is named when it is needed."""

import re
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
HEAVY = {
    *("boto3", "botocore", "oss2", "hdfs", "requests", "requests-gssapi", "gssapi", "fsspec"),
    *("pyarrow", "pandas", "numpy", "pyspark", "py4j"),
}

KEEP_A_CHECKPOINT = """
import sys
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.state import CheckpointType, PipelineState
with open_storage("hdfs", {"namespace": sys.argv[1] + "/"}) as storage:
    epoch = storage.acquire_epoch("job", 1, minimum=1)
    state = PipelineState(job_id="job", pipeline_id=1, epoch=epoch, checkpoint_id=1,
                          checkpoint_type=CheckpointType.CHECKPOINT, base=None, states=b"all of it")
    storage.store_checkpoint(state)
    assert storage.get_latest_checkpoint("job", 1) == state
print("kept")
"""

WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {heavy!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def modules(names: set[str]) -> set[str]:
    return {name.replace("-", "_") for name in names}


def without_heavy(program: str, *arguments: str) -> str:
    """What a program prints where none of the heavy packages can be imported."""
    code = WITHOUT.format(heavy=modules(HEAVY)) + program
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def required(name: str) -> set[str]:
    """The distributions that pip brings along with one of this name, without extras."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for written in metadata.requires(waiting.pop()) or ():
            requirement = Requirement(written)
            wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if wanted and requirement.name.lower() not in found:
                found.add(requirement.name.lower())
                waiting.append(requirement.name)
    return found


@pytest.mark.parametrize("name", ["hdfs", "jdbc", "localfile", "mapstore"])
def test_no_plugin_requires_anything_heavy(name: str) -> None:
    brought = required(f"seatunnel-storage-{name}")
    assert {"seatunnel-core", "attrs"} <= brought
    assert not brought & HEAVY


def test_local_files_need_nothing_heavy(tmp_path: Path) -> None:
    assert without_heavy(KEEP_A_CHECKPOINT, str(tmp_path)) == "kept\n"


@pytest.mark.parametrize(
    ("configuration", "package", "extra"),
    [
        ({"storage.type": "s3", "s3.bucket": "b"}, "(boto3|botocore)", "s3"),
        ({"storage.type": "oss", "oss.bucket": "b"}, "oss2", "oss"),
        ({"storage.type": "hdfs", "fs.defaultFS": "hdfs://localhost:9000"}, "(hdfs|requests)", "hdfs"),
        ({"storage.type": "memory"}, "fsspec", "fsspec"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_missing_extra_is_named(configuration: dict[str, str], package: str, extra: str) -> None:
    program = f"""
from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import StorageConfigurationError
try:
    open_storage("hdfs", {configuration!r})
except StorageConfigurationError as error:
    print(error)
"""
    said = without_heavy(program)
    assert re.search(rf"need the package {package}\b.*, which is not installed: in a clone of this project, run ", said)
    assert said.endswith(f"pip install './plugins/seatunnel-storage-hdfs[{extra}]'\n")


@pytest.mark.install
@pytest.mark.twin
@pytest.mark.timeout(600)
def test_the_wheels_alone_in_a_fresh_environment(tmp_path: Path) -> None:
    """Slow, and asks pip's index: so it runs with the servers."""
    wheels = tmp_path / "wheels"
    for project in (ROOT, ROOT / "plugins" / "seatunnel-storage-hdfs"):
        build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(wheels), str(project)]
        subprocess.run(build, check=True, capture_output=True)
    venv.create(tmp_path / "fresh", with_pip=True)
    python = str(tmp_path / "fresh" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--find-links", str(wheels)]
    subprocess.run([*install, "seatunnel-storage-hdfs"], check=True)
    listed = subprocess.run([python, "-m", "pip", "freeze", "--all"], check=True, capture_output=True, text=True).stdout
    installed = {re.split(r"[= @]", line)[0].lower() for line in listed.splitlines()}
    assert {"seatunnel-core", "seatunnel-storage-hdfs"} <= installed
    assert not installed & HEAVY
    program = [python, "-c", KEEP_A_CHECKPOINT, str(tmp_path / "kept")]
    assert subprocess.run(program, check=True, capture_output=True, text=True, cwd=tmp_path).stdout == "kept\n"
