"""Stores of secrets are found by name, asked once, and told of without what they hold."""

from importlib.metadata import EntryPoint

import pytest

from seatunnel_storage_api import secret_store
from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.secret import resolve, shown
from seatunnel_storage_api.secret_store import SecretStore

FAILS: dict[str, Exception] = {
    "none": LookupError("there is no none"),
    "nothing": LookupError(),
    "broken": ValueError("cannot be reached\nhush"),
    "mute": ValueError(),
    "library": ModuleNotFoundError("No module named 'far'", name="far"),
    "unset": StorageConfigurationError("set FAR_ADDRESS"),
}


class Own(SecretStore):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, name: str) -> str:
        self.asked.append(name)
        if name in FAILS:
            raise FAILS[name]
        return {"db": '{"password": "hush", "port": 5432, "deep": {}}', "plain": "hush", "empty": ""}[name]


class Hooks:
    def __init__(self, store: object) -> None:
        self.store = store

    @hookimpl
    def seatunnel_secret_store(self) -> object:
        return self.store


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Own:
    store = Own()
    plugins = {"one:own": Hooks(store), "one:wrong": Hooks("x"), "one:twice": Hooks(store), "two:twice": Hooks(store)}

    def points(*, group: str, name: str | None = None) -> list[EntryPoint]:
        assert group == "seatunnel.secret_store"
        found = [EntryPoint(value.partition(":")[2], value, group) for value in (*plugins, "three:torn")]
        return [point for point in found if name in (None, point.name)]

    monkeypatch.setattr("importlib.metadata.entry_points", points)
    monkeypatch.setattr(EntryPoint, "load", lambda point: plugins[point.value])
    monkeypatch.setattr(secret_store, "_kept", {})
    return store


def test_a_secret_and_a_part_of_one(own: Own) -> None:
    assert resolve("password", "secret://own/plain") == "hush"
    assert resolve("password", "secret://own/db#password") == "hush"
    assert resolve("password", "secret://own/db#port") == "5432"
    assert resolve("path", "secret://own/plain") == "secret://own/plain"  # no secret
    assert shown("password", "secret://own/plain") == "secret://own/plain"
    resolve("password", "secret://own/plain")
    assert own.asked.count("plain") == 1  # kept for a moment


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("secret://own/none", "which does not exist: there is no none"),
        ("secret://own/nothing", "which does not exist: nothing"),
        ("secret://own/broken", "own cannot be queried: ValueError: cannot be reached"),
        ("secret://own/mute", "own cannot be queried: ValueError: "),
        (
            "secret://own/library",
            "the package far is not installed: in a clone of this project, run pip install '.[secrets-own]'",
        ),
        ("secret://own/unset", ": set FAR_ADDRESS"),
        ("secret://own/empty", "which is empty"),
        ("secret://own/plain#a", "the secret is not a JSON object: remove #a"),
        ("secret://own/db#pasword", "the secret has no string 'pasword'; it has password, port, deep"),
        ("secret://own/db#deep", "has no string 'deep'"),
        ("secret://own", "does not refer to a secret"),
        ("secret://owm/x", "there is no secret store 'owm'; installed: own, torn, twice, wrong"),
        ("secret://wrong/x", "one:wrong does not return a secret store"),
        ("secret://twice/x", "two secret stores are named 'twice': one:twice, two:twice"),
        ("secret://torn/x", "the secret store 'torn' cannot be loaded: KeyError: 'three:torn'"),
    ],
)
@pytest.mark.usefixtures("own")
def test_what_cannot_be_had_is_told_without_the_secret(reference: str, said: str) -> None:
    with pytest.raises(StorageConfigurationError) as caught:
        resolve("password", reference)
    assert str(caught.value).startswith(f"the value of 'password' is {reference}")
    assert said in str(caught.value)
    assert "hush" not in str(caught.value)
