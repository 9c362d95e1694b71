"""Where REST listens, and that nobody is let in from other machines without being asked, unless that is said."""

from pathlib import Path

import pytest

from seatunnel_core.config.http_options import Permission
from seatunnel_core.errors import SeaTunnelError, UsageError
from seatunnel_core.server.agent.node_config import node_config
from seatunnel_core.server.transport.http_config import HttpConfig, User


def configured(folder: Path, keys: str, *, port: int | None = None, secret: bool = True) -> HttpConfig:
    """Return what a node with these keys below ``http`` is told."""
    (folder / "config").mkdir(exist_ok=True)
    (folder / "config/seatunnel.yaml").write_text(f"seatunnel: {{engine: {{http: {{{keys}}}}}}}")
    path = folder / "config/cluster.secret"
    path.unlink(missing_ok=True)
    if secret:
        path.write_text("s" * 32)
        path.chmod(0o600)
    return node_config(environment={"HOME": str(folder)}, folder=folder, http_port=port).http


LOGIN = "enable-basic-auth: true, basic-auth-password: hunter2"
ANYWHERE = "bind-address: 0.0.0.0"


def test_the_keys_are_those_of_seatunnel(tmp_path: Path) -> None:
    found = configured(
        tmp_path,
        f"enable-http: true, port: 8081, context-path: /seatunnel/, {ANYWHERE}, {LOGIN}, enable-dynamic-port: true, "
        "port-range: 7, enable-https: true, https-port: 8444, key-store-path: k.p12, key-store-password: one, "
        "key-manager-password: two, trust-store-path: t.jks, trust-store-password: three",
    )
    assert (found.port, found.https_port, found.port_count, found.bind) == (8081, 8444, 7, "0.0.0.0")
    assert (found.context_path, found.login) == ("/seatunnel", ("admin", "hunter2"))
    assert found.key_store is not None
    assert found.trust_store is not None
    assert (str(found.key_store.path), found.key_store.password, found.key_store.key_password) == (
        "k.p12",
        "one",
        "two",
    )
    assert (str(found.trust_store.path), found.trust_store.password) == ("t.jks", "three")
    for secret in ("hunter2", "'one'", "'two'", "'three'"):
        assert secret not in repr(found)


def test_without_keys_nothing_listens_and_what_is_asked_for_listens_on_loopback(tmp_path: Path) -> None:
    assert configured(tmp_path, "port: 8081").port is None
    found = configured(tmp_path, "enable-http: true", port=9000)
    assert (found.port, found.bind, found.is_local, found.port_count) == (9000, "127.0.0.1", True, 1)
    assert configured(tmp_path, "enable-http: true, bind-address: localhost").bind == "127.0.0.1"
    assert configured(tmp_path, "enable-http: true, bind-address: '[::1]'").is_local


HTTPS = "enable-https: true, key-store-path: k.pem"


@pytest.mark.parametrize(
    "keys",
    [
        f"enable-http: true, {ANYWHERE}",
        f"enable-http: true, bind-address: '::', {HTTPS}, trust-store-path: t.pem",
        f"{HTTPS}, {ANYWHERE}",
        "enable-http: true, bind-address: 192.0.2.1",
    ],
)
def test_a_port_that_would_ask_nobody_is_no_start(tmp_path: Path, keys: str) -> None:
    with pytest.raises(UsageError, match=r"http\.allow-unauthenticated-access: true") as refused:
        configured(tmp_path, keys)
    assert "run anything as this user" in str(refused.value)
    assert configured(tmp_path, f"{keys}, {LOGIN}").login == ("admin", "hunter2")
    assert configured(tmp_path, f"{keys}, allow-unauthenticated-access: true").is_open


def test_a_certificate_of_the_client_is_an_answer_to_who_are_you(tmp_path: Path) -> None:
    assert not configured(tmp_path, f"{HTTPS}, {ANYWHERE}, trust-store-path: t.pem").is_open


def test_a_password_in_the_clear_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    configured(tmp_path, f"enable-http: true, {ANYWHERE}, {LOGIN}")
    assert "passwords are sent unencrypted" in caplog.text
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("enable-https: true", "needs http.key-store-path"),
        ("trust-store-path: t.pem", "which need http.enable-https: true"),
        ("enable-basic-auth: true", "is not set"),
        ("enable-basic-auth: true, basic-auth-password: admin", "well-known default"),
        (f"{LOGIN}, basic-auth-username: 'a:b'", "contains a colon"),
        ("bind-address: elsewhere.example", "use an address of this machine"),
        ("context-path: /a b", "use letters"),
        ("context-path: '/{x}'", "use letters"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(tmp_path: Path, keys: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        configured(tmp_path, keys)
    assert said in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_password_needs_a_secret_on_the_member_port(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--make-secret"):
        configured(tmp_path, LOGIN, secret=False)


USERS = "users: [{username: eve, password: looks, permissions: [look, stop]}]"


def test_further_users_have_permissions(tmp_path: Path) -> None:
    found = configured(tmp_path, f"enable-http: true, {LOGIN}, {USERS}")
    permissions = frozenset({Permission.LOOK, Permission.STOP})
    assert found.users == (User(name="eve", password="looks", permissions=permissions),)
    assert "looks" not in repr(found)
    for keys, said in (
        (USERS, "enable-basic-auth"),
        (f"{LOGIN}, users: [{{username: eve, permissions: [look]}}]", "needs the option 'password'"),
        (f"{LOGIN}, users: [{{username: eve, password: looks}}]", "needs the option 'permissions'"),
        (f"{LOGIN}, users: [{{password: looks, permissions: [look]}}]", "needs the option 'username'"),
        (f"{LOGIN}, {USERS.replace('looks', chr(39) * 2)}", "empty username or password"),
        (f"{LOGIN}, {USERS.replace('eve', 'admin')}", "already used"),
        (f"{LOGIN}, {USERS.replace('eve', chr(39) + 'e:ve' + chr(39))}", "colon"),
    ):
        with pytest.raises(SeaTunnelError, match=said):
            configured(tmp_path, f"enable-http: true, {keys}")
    with pytest.raises(SeaTunnelError, match="look, check"):
        configured(tmp_path, f"enable-http: true, {LOGIN}, {USERS.replace('stop', 'dance')}")
