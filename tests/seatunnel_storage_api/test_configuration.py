"""The two keys that every storage shares."""

import logging

import pytest

from seatunnel_storage_api import configuration
from seatunnel_storage_api.errors import NamespaceError, StorageConfigurationError
from seatunnel_storage_api.memory import MemoryStorageFactory


@pytest.mark.parametrize("written", [{}, {"namespace": ""}, {"namespace": None}])
def test_no_namespace_is_the_default_one(written: dict[str, str]) -> None:
    assert configuration.namespace(written) == "/seatunnel/checkpoint/"


@pytest.mark.parametrize("good", ["/", "/a/", "/a b/ü/", "/..a/b../"])
def test_a_plain_folder(good: str) -> None:
    assert configuration.namespace({"namespace": good}) == good


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ("/a", "write '/a/'"),
        ("a/", 'for example "/a/"'),
        ("/a/../", "plain path"),
        ("/./", "plain path"),
        ("/a//b/", "plain path"),
        ("//", "plain path"),
        ("/a\n/", "plain path"),
    ],
)
def test_a_bad_namespace_is_answered_with_what_to_write(bad: str, says: str) -> None:
    with pytest.raises(NamespaceError) as caught:
        configuration.namespace({"namespace": bad})
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("written", "means"), [({}, 3), ({"max-retained": ""}, 3), ({"max-retained": "7"}, 7), ({"max-retained": 2}, 2)]
)
def test_max_retained(written: dict[str, str], means: int) -> None:
    assert configuration.max_retained(written) == means


@pytest.mark.parametrize("bad", ["00", "-3", "3 ", "three", "9999999999"])
def test_a_bad_max_retained(bad: str) -> None:
    with pytest.raises(StorageConfigurationError, match="at least 1"):
        configuration.max_retained({"max-retained": bad})


@pytest.mark.parametrize(
    ("written", "means"), [({}, True), ({"on": ""}, True), ({"on": "False"}, False), ({"on": " true"}, True)]
)
def test_a_flag(written: dict[str, str], means: bool) -> None:
    assert configuration.flag(written, "on", default=True) is means


def test_a_bad_flag() -> None:
    with pytest.raises(StorageConfigurationError, match="on is 'yes', expected true or false"):
        configuration.flag({"on": "yes"}, "on", default=True)


def test_unknown_keys_are_named_with_a_suggestion_and_without_their_values(caplog: pytest.LogCaptureFixture) -> None:
    written = {"namespace": "/a/", "max-retain": "secret", "K1": "secret", "mine": "x"}
    sentences = configuration.unknown_keys(written, ["mine"])
    assert sentences == (
        "the key 'max-retain' in plugin-config is unknown and has no effect; did you mean 'max-retained'?",
        "the key 'K1' in plugin-config is unknown and has no effect; valid keys: max-retained, mine, namespace, "
        "read-only",
    )
    configuration.warn(sentences)
    assert [(record.name, record.levelno) for record in caplog.records] == [("seatunnel.storage", logging.WARNING)] * 2


def test_a_plugin_need_not_say_which_keys_have_no_effect() -> None:
    assert MemoryStorageFactory().idle_keys({"K1": "V1"}) == {}
