"""An engine of a storm is started again after a kill of ours, and after nothing else."""

from pathlib import Path

import pytest

from tests.servers.storm import Engine, Storm

STORES = 1_000
"""As many as take a while: one that is to be killed must not have come to its end when its first line is read."""


def engine(folder: Path, **configuration: str) -> Engine:
    local = {"storage.type": "local", "namespace": f"{folder}/namespace/"}
    return Engine({**local, **configuration}, pipeline_id=1, last=STORES, log=folder / "log")


def test_one_that_fails_by_itself_after_a_kill_is_reported(tmp_path: Path) -> None:
    failing = engine(tmp_path, namespace="/proc/nowhere/")
    failing.kills = 1
    with pytest.raises(AssertionError, match="engine 1 ended with 1:"):
        failing.run(lambda: None)


def test_one_that_somebody_else_killed_is_reported(tmp_path: Path) -> None:
    victim = engine(tmp_path)

    def kill() -> None:
        assert victim.process is not None
        victim.process.kill()

    with pytest.raises(AssertionError, match="engine 1 ended with -9:"):
        victim.run(kill)


def test_one_that_we_killed_goes_on_and_is_counted(tmp_path: Path) -> None:
    victim = engine(tmp_path)
    victim.run(lambda: victim.kills or victim.kill())
    assert (victim.acknowledged, victim.kills) == (STORES, 1)


def test_kills_that_did_not_happen_are_reported(tmp_path: Path) -> None:
    storm = Storm(
        configuration={"storage.type": "local", "namespace": f"{tmp_path}/namespace/"},
        folder=tmp_path,
        stores=4,
        engines=2,
        engine_kills=8,
    )
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(Engine, "kill", lambda _: True)
        with pytest.raises(AssertionError, match="fewer servers and engines died"):
            storm.rage()
