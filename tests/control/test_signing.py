"""Signatures between the nodes and clients of a cluster."""

import os
from pathlib import Path

import pytest

from seatunnel_core.control.cluster import ClusterClient, UnsignedAnswerError
from seatunnel_core.control.signing import (
    ANSWER,
    AUTHORIZATION,
    BOOT,
    CLUSTER,
    DIGEST,
    Authenticator,
    Secret,
    digest_of,
    read_secret,
)
from seatunnel_core.errors import UsageError
from tests.servers.http_stand_in import StandIn, stand_in

SECRET = Secret(b"s" * 32)


def signed(
    keeper: Authenticator, *, secret: Secret = SECRET, nonce: str = "me-1", body: bytes = b"x"
) -> dict[str, str]:
    signature = secret.sign(
        boot=keeper.boot, nonce=nonce, cluster="c", method="POST", target="/t", digest=digest_of(body)
    )
    return {CLUSTER: "c", BOOT: keeper.boot, DIGEST: digest_of(body), AUTHORIZATION: f"{nonce} {signature}"}


def test_a_signed_request_is_let_in_once() -> None:
    keeper = Authenticator(SECRET, "c")
    headers = signed(keeper)
    assert keeper.refusal(headers, "POST", "/t") is None
    assert keeper.refusal(headers, "POST", "/t") == "the request has already been received"
    assert keeper.refusal(signed(keeper, nonce="me-0"), "POST", "/t") == "the request has already been received"
    assert keeper.refusal(signed(keeper, nonce="me-2"), "POST", "/t") is None
    assert keeper.refusal(signed(keeper, nonce="you-1"), "POST", "/t") is None
    assert "earlier process" in str(Authenticator(SECRET, "c").refusal(headers, "POST", "/t"))


@pytest.mark.parametrize(("method", "target"), [("GET", "/t"), ("POST", "/u")])
def test_a_signature_covers_all_of_a_request(method: str, target: str) -> None:
    keeper = Authenticator(SECRET, "c")
    assert "a different secret" in str(keeper.refusal(signed(keeper), method, target))


def test_a_signature_covers_the_body_by_its_digest() -> None:
    """So a request is refused before its body is received, and a body that is not the signed one behind it."""
    keeper = Authenticator(SECRET, "c")
    headers = signed(keeper, body=b"x")
    assert "a different secret" in str(keeper.refusal({**headers, DIGEST: digest_of(b"y")}, "POST", "/t"))
    assert keeper.refusal(headers, "POST", "/t") is None
    assert keeper.owns(headers, b"x")
    assert not keeper.owns(headers, b"y")


def test_an_answer_is_signed_for_its_request_alone() -> None:
    keeper = Authenticator(SECRET, "c")
    answer = keeper.answered(signed(keeper, nonce="me-1"), 200, b"{}")
    assert answer == {ANSWER: SECRET.sign_answer(nonce="me-1", status=200, body=b"{}")}
    others = [("me-2", 200, b"{}"), ("me-1", 503, b"{}"), ("me-1", 200, b"[]")]
    assert answer[ANSWER] not in {SECRET.sign_answer(nonce=a, status=b, body=c) for a, b, c in others}
    assert Authenticator(None, "c").answered({}, 200, b"{}") == {}


def test_who_has_no_secret_or_another_one_is_refused_by_name() -> None:
    keeper = Authenticator(SECRET, "c")
    assert "not signed" in str(keeper.refusal({}, "POST", "/t"))
    assert "a different secret" in str(keeper.refusal(signed(keeper, secret=Secret(b"t" * 32)), "POST", "/t"))
    assert "not 'd'" in str(keeper.refusal({**signed(keeper), CLUSTER: "d"}, "POST", "/t"))
    assert "NAME-NUMBER" in str(keeper.refusal(signed(keeper, nonce="me-one"), "POST", "/t"))


def test_without_a_secret_only_the_name_of_the_cluster_counts() -> None:
    keeper = Authenticator(None, "c")
    assert keeper.refusal({}, "GET", "/") is None
    assert "not 'd'" in str(keeper.refusal({CLUSTER: "d"}, "GET", "/"))


def test_too_many_senders_are_forgotten_and_nothing_recorded_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seatunnel_core.control.signing._MOST_SENDERS", 2)
    keeper = Authenticator(SECRET, "c")
    first = signed(keeper, nonce="a-1")
    assert keeper.refusal(first, "POST", "/t") is None
    assert keeper.refusal(signed(keeper, nonce="b-1"), "POST", "/t") is None
    assert "earlier process" in str(keeper.refusal(signed(keeper, nonce="c-1"), "POST", "/t"))
    assert "earlier process" in str(keeper.refusal(first, "POST", "/t"))
    assert keeper.refusal(signed(keeper, nonce="c-1"), "POST", "/t") is None


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


class Impostor(StandIn):
    """Answers as a node would, and does not know the secret."""

    def do_GET(self) -> None:
        self.reply(200, b"{}", {ANSWER: Secret(b"t" * 32).sign_answer(nonce="x-0", status=200, body=b"{}")})


def test_who_does_not_know_the_secret_cannot_answer_for_a_member() -> None:
    with stand_in(Impostor) as member:
        assert ClusterClient([member], "c", None).ask("GET", "/overview") == {}
        with pytest.raises(
            UnsignedAnswerError, match=f"{member}: its response is not signed with the cluster's secret"
        ):
            ClusterClient([member], "c", SECRET).ask("GET", "/overview")
