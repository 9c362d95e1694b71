"""Signatures between the nodes and clients of a cluster."""

import os
from pathlib import Path

import pytest

from seatunnel_core.control.signing import AUTHORIZATION, BOOT, CLUSTER, Doorkeeper, Secret, read_secret
from seatunnel_core.errors import UsageError

SECRET = Secret(b"s" * 32)


def signed(keeper: Doorkeeper, *, secret: Secret = SECRET, nonce: str = "me-1", body: bytes = b"x") -> dict[str, str]:
    signature = secret.sign(boot=keeper.boot, nonce=nonce, cluster="c", method="POST", target="/t", body=body)
    return {CLUSTER: "c", BOOT: keeper.boot, AUTHORIZATION: f"{nonce} {signature}"}


def test_a_signed_request_is_let_in_once() -> None:
    keeper = Doorkeeper(SECRET, "c")
    headers = signed(keeper)
    assert keeper.refusal(headers, "POST", "/t", b"x") is None
    assert keeper.refusal(headers, "POST", "/t", b"x") == "the request was received before"
    assert keeper.refusal(signed(keeper, nonce="me-0"), "POST", "/t", b"x") == "the request was received before"
    assert keeper.refusal(signed(keeper, nonce="me-2"), "POST", "/t", b"x") is None
    assert keeper.refusal(signed(keeper, nonce="you-1"), "POST", "/t", b"x") is None
    assert "earlier process" in str(Doorkeeper(SECRET, "c").refusal(headers, "POST", "/t", b"x"))


@pytest.mark.parametrize(
    ("method", "target", "body"), [("GET", "/t", b"x"), ("POST", "/u", b"x"), ("POST", "/t", b"y")]
)
def test_a_signature_covers_all_of_a_request(method: str, target: str, body: bytes) -> None:
    keeper = Doorkeeper(SECRET, "c")
    assert "another secret" in str(keeper.refusal(signed(keeper), method, target, body))


def test_who_has_no_secret_or_another_one_is_refused_by_name() -> None:
    keeper = Doorkeeper(SECRET, "c")
    assert "not signed" in str(keeper.refusal({}, "POST", "/t", b"x"))
    assert "another secret" in str(keeper.refusal(signed(keeper, secret=Secret(b"t" * 32)), "POST", "/t", b"x"))
    assert "not 'd'" in str(keeper.refusal({**signed(keeper), CLUSTER: "d"}, "POST", "/t", b"x"))
    assert "NAME-NUMBER" in str(keeper.refusal(signed(keeper, nonce="me-one"), "POST", "/t", b"x"))


def test_without_a_secret_only_the_name_of_the_cluster_counts() -> None:
    keeper = Doorkeeper(None, "c")
    assert keeper.refusal({}, "GET", "/", b"") is None
    assert "not 'd'" in str(keeper.refusal({CLUSTER: "d"}, "GET", "/", b""))


def test_too_many_senders_are_forgotten_and_nothing_recorded_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_core.control.signing._MOST_SENDERS", 2)
    keeper = Doorkeeper(SECRET, "c")
    first = signed(keeper, nonce="a-1")
    assert keeper.refusal(first, "POST", "/t", b"x") is None
    assert keeper.refusal(signed(keeper, nonce="b-1"), "POST", "/t", b"x") is None
    assert "earlier process" in str(keeper.refusal(signed(keeper, nonce="c-1"), "POST", "/t", b"x"))
    assert "earlier process" in str(keeper.refusal(first, "POST", "/t", b"x"))
    assert keeper.refusal(signed(keeper, nonce="c-1"), "POST", "/t", b"x") is None


def test_the_secret_is_read_from_a_file_that_nobody_else_may_read(tmp_path: Path) -> None:
    path = tmp_path / "cluster.secret"
    assert read_secret(path) is None
    path.write_text("s" * 32 + "\n")
    os.chmod(path, 0o644)
    with pytest.raises(UsageError, match="chmod 600"):
        read_secret(path)
    os.chmod(path, 0o600)
    assert read_secret(path) == SECRET
    assert "ssss" not in repr(read_secret(path))
    path.write_text("short")
    with pytest.raises(UsageError, match="at least 32"):
        read_secret(path)
