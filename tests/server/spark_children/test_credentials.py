"""What Spark's processes are told: derived from the cluster's secret, and for nobody else to read."""

import base64
import hmac
import stat
from pathlib import Path

from seatunnel_core.control.signing import Secret
from seatunnel_core.server.spark_children.credentials import Credentials, write_properties

SECRET = Secret(b"s" * 32)


def test_keys_depend_on_the_secret_the_cluster_and_the_purpose() -> None:
    one = Credentials.of(SECRET, "one")
    assert one == Credentials.of(SECRET, "one")
    others = [Credentials.of(SECRET, "two"), Credentials.of(Secret(b"t" * 32), "one")]
    assert len({one.rpc, one.pages.hex(), *(each.rpc for each in others)}) == 4
    assert one.rpc not in repr(one)


def test_a_token_is_signed_as_spark_checks_it() -> None:
    keys = Credentials.of(SECRET, "one")
    head, claims, signature = keys.token().split(".")
    key = base64.urlsafe_b64decode(keys.page_properties()["spark.org.apache.spark.ui.JWSFilter.param.secretKey"])
    expected = hmac.digest(key, f"{head}.{claims}".encode(), "sha256")
    assert base64.urlsafe_b64decode(signature + "=") == expected


def test_nobody_else_can_read_the_properties(tmp_path: Path) -> None:
    path = tmp_path / "spark.conf"
    path.write_text("of an earlier start")
    path.chmod(0o644)
    write_properties(path, {"spark.authenticate": "true"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "spark.authenticate true\n"
