"""The page that ``seatunnel-cluster -d`` serves by itself."""

import stat
from pathlib import Path

import pytest

from seatunnel_core.config.engine import load_engine
from seatunnel_core.errors import UsageError
from seatunnel_core.server.transport.http_config import HttpConfig, http_config
from seatunnel_core.server.transport.page_login import PASSWORD_FILE, with_page


def served(folder: Path, http: str = "", *, has_secret: bool = False) -> HttpConfig:
    file = folder / "seatunnel.yaml"
    file.write_text(f"seatunnel:\n  engine:\n    http: {{{http}}}\n" if http else "seatunnel:\n  engine: {}\n")
    options = load_engine(file).options
    return with_page(http_config(options, has_secret=has_secret), options, folder, has_secret=has_secret)


def test_a_page_is_served_on_loopback_on_the_first_free_port(tmp_path: Path) -> None:
    found = served(tmp_path)
    assert (found.port, found.bind, found.login) == (8080, "127.0.0.1", None)
    assert found.port_count > 1
    assert not (tmp_path / PASSWORD_FILE).exists()


def test_a_secret_is_not_bypassed(tmp_path: Path) -> None:
    """Whoever is on this machine and does not know the secret must not get in by the page."""
    login = served(tmp_path, has_secret=True).login
    assert login is not None
    assert len(login[1]) >= 20
    assert login == served(tmp_path, has_secret=True).login, "the next start has the same password"
    assert stat.S_IMODE((tmp_path / PASSWORD_FILE).stat().st_mode) == 0o600
    assert login[1] not in repr(served(tmp_path, has_secret=True))
    (tmp_path / PASSWORD_FILE).write_text("")
    with pytest.raises(UsageError, match="is empty"):
        served(tmp_path, has_secret=True)


@pytest.mark.parametrize("said", ["enable-http: false", "enable-http: true", "bind-address: 127.0.0.2"])
def test_what_the_configuration_says_stays(tmp_path: Path, said: str) -> None:
    found = served(tmp_path, said)
    assert (found.port is not None) is ("true" in said)
    assert found.port_count == 1
