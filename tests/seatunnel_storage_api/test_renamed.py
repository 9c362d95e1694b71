"""Old names in a module: each gives what has its new name, and warns; any other name is not there."""

import pytest

from seatunnel_storage_api import retry


def test_an_old_name_gives_the_new_function_and_warns_where_it_is_used() -> None:
    with pytest.warns(DeprecationWarning, match="retry.sort_out is as_storage_errors now") as warned:
        assert retry.sort_out is retry.as_storage_errors
    assert warned[0].filename == __file__


def test_a_name_that_never_was_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'seatunnel_storage_api.retry' has no attribute 'nothing'"):
        _ = retry.nothing
