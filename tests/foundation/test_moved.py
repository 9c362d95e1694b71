"""Import paths of the version before: what a plugin imports from them is what has moved, and it is told."""

import importlib
import sys

import pytest

from seatunnel_core.moved import MOVED
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.split import Split


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_leads_to_modules_that_are_there(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is {MOVED[old][0]}"):
        importlib.import_module(old)
    for home in MOVED[old]:
        importlib.import_module(home)


def test_the_names_are_the_same_objects_as_in_their_new_places() -> None:
    sys.modules.pop("seatunnel_core.checkpoint.split", None)
    with pytest.warns(DeprecationWarning, match="goes with the next version"):
        split = importlib.import_module("seatunnel_core.checkpoint.split")
    assert split.Split is Split
    assert split.Committable is Committable
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = split.nothing


def test_a_path_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("seatunnel_core.checkpoint.nothing")
