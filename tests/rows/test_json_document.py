"""Paths into JSON: followed step by step where that is enough, as the package finds them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_core.rows import json_document
from seatunnel_core.rows.json_document import compiled, found

KEYS = st.sampled_from(["a", "b", "0", "-1", "é x"])
LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | KEYS
DOCUMENTS = st.recursive(LEAVES, lambda each: st.lists(each, max_size=3) | st.dictionaries(KEYS, each, max_size=3))
STEPS = st.one_of(KEYS.map(lambda key: f"['{key}']"), st.integers(-2, 2).map(lambda index: f"[{index}]"))
MANY = st.sampled_from([".a", "[*]", "..a", "[0:2]", "['a','b']", "[?@.a]", ".~a"])


@given(
    document=st.lists(DOCUMENTS, max_size=3) | st.dictionaries(KEYS, DOCUMENTS, max_size=3),
    steps=st.lists(STEPS | MANY, max_size=3),
)
def test_a_path_leads_to_what_the_package_finds(document: Any, steps: list[str]) -> None:
    path = "$" + "".join(steps)
    assert found(path, document) == list(compiled(path).findall(document))


def test_a_path_of_names_and_indexes_does_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value took the package 30 microseconds."""
    document = {"a": [{"b c": 1}]}
    assert json_document._steps("$.a[0]['b c']") == ("a", 0, "b c")
    monkeypatch.setattr(json_document, "compiled", lambda path: pytest.fail(path))
    assert found("$.a[0]['b c']", document) == [1]
    assert found("$.a[0]['b c']", {"a": []}) == []
