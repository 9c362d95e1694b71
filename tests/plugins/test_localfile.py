"""What ``type: localfile`` says of itself, and that what it writes instead keeps the same files."""

import itertools
import subprocess
import sys
from pathlib import Path

import pytest
import seatunnel_storage_localfile.factory
import yaml
from seatunnel_storage_localfile.factory import replacement

from seatunnel_storage_api.discovery import open_storage
from seatunnel_storage_api.errors import StorageAccessError
from seatunnel_storage_api.testing.given import JOB, checkpoint, claim

_TWICE = """
import logging, sys
from seatunnel_storage_api.discovery import open_storage
logging.basicConfig(format="LOG %(levelname)s %(message)s")
for name in ("one", "two"):
    open_storage("localfile", {"namespace": f"{sys.argv[1]}/{name}/", "max-retained": "5"}).close()
"""


@pytest.fixture
def _as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seatunnel_storage_localfile.factory, "_times_said", itertools.count())


@pytest.mark.parametrize(("flags", "warnings"), [([], 0), (["-W", "always"], 1)], ids=["as a user", "as a developer"])
def test_it_says_once_in_a_process_that_it_is_deprecated(tmp_path: Path, flags: list[str], warnings: int) -> None:
    command = [sys.executable, *flags, "-c", _TWICE, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert said.count("LOG WARNING the checkpoint storage localfile is deprecated") == 1
    assert said.count("DeprecationWarning: the checkpoint storage localfile is deprecated") == warnings
    assert f"namespace: {tmp_path}/one/" in said


@pytest.mark.usefixtures("_as_in_a_new_process")
def test_what_to_write_instead_keeps_the_same_files(tmp_path: Path) -> None:
    with (
        pytest.warns(DeprecationWarning, match="localfile is deprecated") as caught,
        open_storage("localfile", {"namespace": f"{tmp_path}/", "max-retained": "7"}) as old,
    ):
        old.store_checkpoint(checkpoint(claim(old), 1, b"states"))
    text = str(caught[0].message)
    assert text == replacement(f"{tmp_path}/", 7)
    written = yaml.safe_load(text.partition("\n")[2])["seatunnel"]["engine"]["checkpoint"]["storage"]
    assert written["max-retained"] == 7
    with open_storage(written["type"], written["plugin-config"]) as new:
        latest = new.get_latest_checkpoint(JOB, 1)
        assert latest is not None
        assert latest.states == b"states"


@pytest.mark.usefixtures("_as_in_a_new_process")
def test_errors_name_it_and_nothing_is_said_of_a_storage_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageAccessError, match="localfile"):
        open_storage("localfile", {"namespace": f"{tmp_path}/file/"})
