"""Credentials that an installed distribution hands out: found by name, guarded, never shown."""

import datetime
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from seatunnel_storage_api.credentials import Credentials, load_provider, provider_names
from seatunnel_storage_api.errors import StoragePluginError, StorageUnavailableError

Install = Callable[..., None]
NOBODY: Mapping[str, str] = {}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Puts a distribution with one provider on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(code: str, *, name: str = "vault", module: str = "handing_out", value: str = "provide") -> None:
        (tmp_path / f"{module}.py").write_text(code)
        folder = tmp_path / f"{module}-1.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[seatunnel.credentials_provider]\n{name} = {module}:{value}\n")
        monkeypatch.delitem(sys.modules, module, raising=False)

    return put


def test_nothing_is_shown() -> None:
    shown = repr(Credentials(access_key="the-id", secret_key="the-secret", session_token="the-token"))
    assert "the-" not in shown


def test_an_end_without_a_time_zone_means_nothing() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Credentials(access_key="a", secret_key="b", expires_at=datetime.datetime(2030, 1, 1))
    Credentials(access_key="a", secret_key="b", expires_at=datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC))


def test_a_provider_is_found_by_its_name(install: Install) -> None:
    install(
        "from seatunnel_storage_api.credentials import Credentials\n"
        "def provide(configuration):\n"
        "    return Credentials(access_key=configuration['seatunnel.credentials.who'], secret_key='s')\n"
    )
    assert "vault" in provider_names()
    provide = load_provider("vault")
    assert provide is not None
    assert provide({"seatunnel.credentials.who": "me"}) == Credentials(access_key="me", secret_key="s")
    assert load_provider("another") is None


def test_none_means_that_the_next_one_is_asked(install: Install) -> None:
    install("def provide(configuration): return None\n")
    provide = load_provider("vault")
    assert provide is not None
    assert provide(NOBODY) is None


def test_its_failure_may_pass(install: Install) -> None:
    install("def provide(configuration): raise OSError('vault is sealed')\n")
    provide = load_provider("vault")
    assert provide is not None
    with pytest.raises(StorageUnavailableError, match=r"'vault' failed: OSError: vault is sealed\. Check") as caught:
        provide(NOBODY)
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import no_such_package", "cannot be loaded: ModuleNotFoundError"),
        ("provide = 1", "is not a function"),
    ],
)
def test_one_that_cannot_be_used_says_so(install: Install, code: str, says: str) -> None:
    install(code)
    with pytest.raises(StoragePluginError, match=says):
        load_provider("vault")


def test_other_things_than_credentials_are_refused(install: Install) -> None:
    install("def provide(configuration): return {'secret': 'the-secret'}\n")
    provide = load_provider("vault")
    assert provide is not None
    with pytest.raises(StoragePluginError, match="returned dict") as caught:
        provide(NOBODY)
    assert "the-secret" not in str(caught.value)


def test_two_of_one_name_are_refused(install: Install) -> None:
    install("", module="one")
    install("", module="other")
    with pytest.raises(StoragePluginError, match="one:provide and other:provide"):
        load_provider("vault")
