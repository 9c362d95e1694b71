"""``.env``, ``secrets.toml`` and the keyring: which one wins, who may read them, and what is never said."""

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked

from seatunnel_core.config.document import plain
from seatunnel_core.config.job_file import RawJob, load_job
from seatunnel_core.config.variables import Variables

JOB = 'source { Jdbc { url = "u", password = ${DB_PASSWORD} } }\nsink { Console { text = "${db.user}" } }'


class Ring(KeyringBackend):
    """A keyring in memory, which may be locked."""

    priority = 1
    locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("locked")
        return {("seatunnel", "DB_PASSWORD"): "of the ring", ("seatunnel", "db.user"): "ringer"}.get(
            (service, username)
        )

    def set_password(self, service: str, username: str, password: str) -> None: ...
    def delete_password(self, service: str, username: str) -> None: ...


@pytest.fixture(autouse=True)
def ring() -> Iterator[Ring]:
    before = keyring.get_keyring()
    mine = Ring()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


def loaded(folder: Path, text: str = JOB, **given: str) -> RawJob:
    (folder / "job.conf").write_text(text)
    return load_job(folder / "job.conf", Variables(given, {"DB_PASSWORD": "of the environment"} if given else {}))


def values(job: RawJob) -> list[str]:
    return [str(value) for block in job.blocks for key, value in plain(block.block).items() if key != "url"]


def keep(folder: Path, name: str, text: str, mode: int = 0o600) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(mode)


def test_what_stands_earlier_wins(tmp_path: Path) -> None:
    assert values(loaded(tmp_path)) == ["of the ring", "ringer"]
    keep(tmp_path, "secrets.toml", 'DB_PASSWORD = "of toml"\n[db]\nuser = "me"\nport = 5432\n')
    assert values(loaded(tmp_path)) == ["of toml", "me"]
    keep(tmp_path, ".env", "export DB_PASSWORD='of ${env} # file'\nOTHER\n")
    assert values(loaded(tmp_path)) == ["of ${env} # file", "me"]
    assert values(loaded(tmp_path, x="1"))[0] == "of the environment"
    assert values(loaded(tmp_path, DB_PASSWORD="of -i"))[0] == "of -i"


def test_without_any_the_variable_is_not_set(tmp_path: Path, ring: Ring) -> None:
    ring.locked = True
    assert "${DB_PASSWORD} is not set" in str(loaded(tmp_path).problems.errors[0])
    assert values(loaded(tmp_path, JOB.replace("DB_PASSWORD}", "DB_PASSWORD:none}")))[0] == "none"


def test_a_file_that_others_may_read_is_warned_of_when_it_is_used(tmp_path: Path) -> None:
    keep(tmp_path, "secrets.toml", 'db.user = "me"\nDB_PASSWORD = "hush"', 0o644)
    problems = [str(each) for each in loaded(tmp_path).problems.found]
    assert problems == [f"{tmp_path}/secrets.toml: other users of this machine can read {tmp_path}/secrets.toml. "
                        f"Run chmod 600 {tmp_path}/secrets.toml"]  # fmt: skip
    assert not loaded(tmp_path, "source { A { a = 1 } }\nsink { B { b = 2 } }").problems.found
    assert "hush" not in repr(loaded(tmp_path))


def test_a_file_that_is_none_is_an_error_without_its_text(tmp_path: Path) -> None:
    keep(tmp_path, "secrets.toml", "password: hush")
    said = str(loaded(tmp_path).problems.found[0])
    assert said == f"{tmp_path}/secrets.toml: {tmp_path}/secrets.toml cannot be read: it is not TOML"
