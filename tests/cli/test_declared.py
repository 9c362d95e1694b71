"""Options that are declared once, as fields: the parser and the values that it gives."""

import argparse

import pytest
from attrs import frozen

from seatunnel_core.cli.command import Command, Parser
from seatunnel_core.cli.declared import add_options, flag_of, option, read_options, switch
from seatunnel_core.errors import UsageError


@frozen(kw_only=True)
class Asked(Command):
    words: tuple[str, ...] = option(
        "-w", "--word", action="append", default=[], converter=tuple, repr=False, help="one"
    )
    where: str = option("-m", "--master", default="here", exclusive="where", help="a", aliases={"-e --mode": "same"})
    nowhere: bool = switch("-n", "--nowhere", exclusive="where", help="b")
    typed: str


def read(*argv: str, only: tuple[str, ...] | None = None) -> Asked:
    parser = Parser(prog="x")
    add_options(parser, Asked, only)
    return read_options(Asked, parser.parse_args(argv), typed="t")


def test_fields_have_what_was_typed_and_else_their_defaults() -> None:
    assert read() == Asked(typed="t")
    assert (read().words, read().where, read().nowhere) == ((), "here", False)
    assert read("-w", "a", "--word=b").words == ("a", "b")
    assert read("--mode", "there").where == read("-m", "there").where == "there"
    assert read("-n").nowhere
    assert "secret" not in repr(read("-w", "secret"))


def test_one_of_exclusive_options_is_given() -> None:
    with pytest.raises(UsageError, match=r"not allowed with argument -m/--master"):
        read("-m", "a", "-n")


def test_a_parser_may_have_some_of_the_options() -> None:
    assert read("-n", only=("nowhere",)) == Asked(typed="t", nowhere=True)
    with pytest.raises(UsageError, match="See: x --help"):
        read("-w", "a", only=("nowhere",))


def test_a_message_has_the_long_flag_and_help_has_each() -> None:
    assert (flag_of(Asked, "words"), flag_of(Asked, "where")) == ("--word", "--master")
    parser = argparse.ArgumentParser()
    add_options(parser, Asked)
    assert {each.help: each.option_strings for each in parser._actions}["same"] == ["-e", "--mode"]
