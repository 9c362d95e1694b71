"""The page of mistakes with servers says what a person reads; each mistake ends its job before any row has moved."""

import pytest

from tests.connectors.mistakes.files_page import PAGE, SERVERS, section

pytestmark = [pytest.mark.servers, pytest.mark.timeout(300), pytest.mark.xdist_group("mistakes-files")]


@pytest.mark.parametrize("connector", SERVERS)
def test_the_page_is_what_is_said(connector: str) -> None:
    """Look at what has changed; then `python -m tests.connectors.mistakes.files_page` writes the page."""
    if connector == "SftpFile":
        pytest.importorskip("paramiko")
    assert section(connector) in PAGE.read_text(encoding="utf-8")
