"""A quota of HDFS that is used up may pass, as a full disk does; the same request is not repeated."""

import errno
from typing import Any
from unittest.mock import Mock

import hdfs
import pytest

from seatunnel_core.clients.webhdfs.refusals import refusal
from seatunnel_core.connectors.filesystems.hdfs import HdfsFileSystem
from seatunnel_core.connectors.staging.target import _TRANSIENT


@pytest.mark.parametrize(
    ("exception", "number", "tries"),
    [
        ("DSQuotaExceededException", errno.EDQUOT, 1),
        ("NSQuotaExceededException", errno.EDQUOT, 1),
        ("QuotaByStorageTypeExceededException", errno.EDQUOT, 1),
        ("AccessControlException", errno.EACCES, 1),
    ],
)
def test_a_quota_is_no_refusal(exception: str, number: int, tries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second request under the same name would find the empty file of the first, and report that instead."""
    client: Any = Mock()
    client.create.side_effect = refusal(hdfs.HdfsError("no room", exception=exception))
    client.status.return_value = {"type": "DIRECTORY"}
    monkeypatch.setattr(HdfsFileSystem, "_client", lambda _self: client)
    with pytest.raises(OSError, match=f"{exception}: no room") as raised:
        HdfsFileSystem(top="hdfs://host", configuration={}).leave_note("hdfs://host/out/.probe-1")
    assert raised.value.errno == number
    assert (raised.value.errno in _TRANSIENT) is (number == errno.EDQUOT)
    assert client.create.call_count == tries
