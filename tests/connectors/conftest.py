"""What the tests of connectors share."""

import gc

import pytest

from tests.plugins.conftest import GSSAPI

# As there: its tests cannot even be read without it.
collect_ignore_glob = [] if GSSAPI else ["file/test_hdfs_file_kerberos*.py"]


@pytest.fixture(autouse=True, scope="module")
def jdbc_modules_look_for_their_own_garbage_only(request: pytest.FixtureRequest) -> None:
    """Their tests collect what killed sinks had open; with all objects of the run that took a fifth of a second."""
    if "jdbc" in request.path.name:
        gc.collect()
        gc.freeze()
