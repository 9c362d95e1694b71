"""``secret://``: AWS Secrets Manager by moto's server, Vault by a stand-in for its HTTP, and options of a job.

Nothing that runs here speaks for GCP and Azure: only the form of their names is tested.
"""

import json
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from seatunnel_core.config.document import Block, Entry, Position, Scalar
from seatunnel_core.config.option import MAP, STRING, Option
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, validate
from seatunnel_core.secret_stores import azure, gcp
from seatunnel_storage_api import secret_store
from seatunnel_storage_api.discovery import hookimpl
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.secret import resolve
from seatunnel_storage_api.secret_store import SecretStore
from tests.servers.http_stand_in import StandIn, stand_in

HERE = Position("job.conf", 1, 1)


class Own(SecretStore):
    def get(self, name: str) -> str:
        return {"plain": "hush"}[name]


class Hooks:
    @hookimpl
    def seatunnel_secret_store(self) -> SecretStore:
        return Own()


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_store, "_kept", {})


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("own", "module:own", "seatunnel.secret_store")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [point])
    monkeypatch.setattr(EntryPoint, "load", lambda _: Hooks())


@pytest.mark.usefixtures("own")
def test_options_that_are_secrets_take_them_and_others_do_not() -> None:
    password = Option("password", STRING, secret=True, doc="It.")
    headers = Option("headers", MAP, secret=True, doc="They.")
    user = Option("user", STRING, doc="Who.")

    def read(**values: Scalar | Block) -> tuple[Any, list[str]]:
        problems = Problems()
        block = Block(tuple(Entry(key, value, HERE) for key, value in values.items()), HERE)
        found = validate(block, (password, headers, user), BlockRules(what="it"), problems)
        return found.options, [str(each) for each in problems.errors]

    def text(value: str) -> Scalar:
        return Scalar(value, value, HERE)

    members = Block((Entry("X", text("secret://own/plain"), HERE), Entry("Y", text("a"), HERE)), HERE)
    options, errors = read(password=text("secret://own/plain"), headers=members)
    assert (options["password"], dict(options["headers"]), errors) == ("hush", {"X": "hush", "Y": "a"}, [])
    assert "hush" not in repr(options)
    _, errors = read(user=text("secret://own/plain"))
    assert "'user' is not a secret option: its value is displayed and stored" in errors[0]


# -- AWS --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def amazon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "me",
        "AWS_SECRET_ACCESS_KEY": "x",
    }.items():
        monkeypatch.setenv(name, value)
    yield
    server.stop()


@pytest.mark.servers
@pytest.mark.usefixtures("amazon")
def test_aws_secrets_manager() -> None:
    import boto3

    client = boto3.client("secretsmanager")
    client.create_secret(Name="prod/db", SecretString='{"password": "hush"}')
    client.create_secret(Name="bytes", SecretBinary=b"x")
    assert resolve("password", "secret://aws/prod/db#password") == "hush"
    with pytest.raises(StorageConfigurationError, match="eu-central-1 has no secret prod/dc"):
        resolve("password", "secret://aws/prod/dc")
    with pytest.raises(StorageConfigurationError, match="the secret bytes is binary"):
        resolve("password", "secret://aws/bytes")


# -- Vault ------------------------------------------------------------------------------------------------------------


class Vault(StandIn):
    """As Vault answers ``GET /v1/<mount>/data/<path>``; a stand-in, for no Vault can be had here."""

    def do_GET(self) -> None:
        if self.headers.get("X-Vault-Token") != "right":
            self._answer(403, {"errors": ["permission denied"]})
        elif self.path.partition("?")[0] == "/v1/kv/data/team/db":
            self._answer(200, {"data": {"data": {"password": "hush"}, "metadata": {"version": 3}}})
        else:
            self._answer(404, {"errors": []})

    def _answer(self, status: int, body: object) -> None:
        self.reply(status, json.dumps(body).encode())


@pytest.fixture
def hashicorp(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with stand_in(Vault) as address:
        monkeypatch.setenv("VAULT_ADDR", f"http://{address}")
        monkeypatch.setenv("VAULT_TOKEN", "right")
        yield


@pytest.mark.usefixtures("hashicorp")
def test_vault(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve("password", "secret://vault/kv/team/db#password") == "hush"
    with pytest.raises(StorageConfigurationError, match="the mount kv has no secret at team/dc"):
        resolve("password", "secret://vault/kv/team/dc#password")
    monkeypatch.setenv("VAULT_TOKEN", "wrong")
    with pytest.raises(
        StorageConfigurationError, match="PermissionError: the token in VAULT_TOKEN lacks permission to read the secret"
    ):
        resolve("password", "secret://vault/kv/team/other#password")


# -- the others -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [gcp, azure])
def test_a_name_that_is_too_short_is_refused_before_anybody_is_asked(store: Any) -> None:
    with pytest.raises(LookupError, match="expected secret://"):
        store.seatunnel_secret_store().get("only")
