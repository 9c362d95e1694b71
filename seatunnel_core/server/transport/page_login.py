"""Web page of ``seatunnel-cluster -d``, for clusters without a REST configuration."""

import os
import secrets
from pathlib import Path

from attrs import evolve

from seatunnel_core.config import http_options
from seatunnel_core.config.option import Options
from seatunnel_core.control.private_files import read_private
from seatunnel_core.errors import UsageError
from seatunnel_core.server.discovery.own_address import LOOPBACK
from seatunnel_core.server.transport.http_config import HttpConfig

USER = "admin"
PASSWORD_FILE = "page.password"


def with_page(http: HttpConfig, options: Options, folder: Path, *, has_secret: bool) -> HttpConfig:
    """Return the REST configuration with a port for the page, unless REST is configured explicitly.

    The page listens on loopback, on the first free port. If the cluster has a secret, the page requires a password,
    stored in an owner-only file in ``folder``: other users of this machine must not bypass the secret.
    """
    said = (http_options.ENABLE_HTTP, http_options.ENABLE_HTTPS, http_options.BIND_ADDRESS)
    if http.port is not None or http.https_port is not None or any(options.is_set(each) for each in said):
        return http
    port, count = int(options[http_options.HTTP_PORT]), int(options[http_options.PORT_RANGE])
    login = http.login
    if login is None and has_secret:
        login = USER, _password(folder / PASSWORD_FILE)
    return evolve(http, port=port, port_count=count, bind=LOOPBACK, login=login)


def _password(path: Path) -> str:
    """Return the password in a file. If the file does not exist, create it with a random password."""
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    except OSError as error:
        raise UsageError(f"the password of the page cannot be written to {path}: {error}") from error
    else:
        with open(opened, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(18) + "\n")
    try:
        found = read_private(path).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the password of the page cannot be read from {path}: {error}") from error
    if not found:
        raise UsageError(f"{path} is empty: put a password into it, or delete the file and start the node again")
    return found
