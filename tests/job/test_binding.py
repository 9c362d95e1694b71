"""What a sink was told in each epoch, and how one telling differs from another."""

from seatunnel_core.job.binding import Binding, differences, followed, from_epoch, in_epoch

FIRST = Binding(terms={"path": "/a"}, since=100)
SECOND = Binding(terms={"path": "/b"}, tracks={"file_name_expression": "x"}, place="/b", since=300)


def test_each_epoch_has_what_stood_when_it_began() -> None:
    bindings = (FIRST, SECOND)
    assert [in_epoch(bindings, epoch) for epoch in (99, 100, 299, 300, 999)] == [None, FIRST, FIRST, SECOND, SECOND]


def test_from_an_epoch_on_what_stood_in_it_counts_too() -> None:
    bindings = (FIRST, SECOND)
    found = {epoch: tuple(from_epoch(bindings, epoch)) for epoch in (50, 100, 200, 300)}
    assert found == {50: (FIRST, SECOND), 100: (FIRST, SECOND), 200: (FIRST, SECOND), 300: (SECOND,)}


def test_a_process_with_the_same_options_adds_nothing() -> None:
    same = Binding(terms={"path": "/a"}, since=200)
    assert followed((FIRST,), same) == (FIRST,)
    assert followed((FIRST,), SECOND) == (FIRST, SECOND)
    assert followed((), FIRST) == (FIRST,)


def test_a_difference_names_the_option_and_both_values() -> None:
    then, now = {"path": "/a", "mode": "append", "same": "1"}, {"path": "/b", "same": "1", "staging": "/s"}
    assert differences(then, now) == [
        "path was '/a' and is '/b'",
        "mode was 'append' and is not set",
        "staging was not set and is '/s'",
    ]
    assert differences(then, then) == []


def test_what_is_recorded_is_read_again() -> None:
    assert [Binding.from_record(each.record()) for each in (FIRST, SECOND)] == [FIRST, SECOND]
