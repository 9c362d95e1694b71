import pytest

from seatunnel_core.connector_api.errors import SourceError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data import options as opt
from seatunnel_core.connectors.change_data.table_choice import TableChoice

LISTED = [("shop", "public", "orders"), ("shop", "public", "people"), ("shop", "old", "orders")]


def choice(**values: object) -> TableChoice:
    given = {key.replace("_", "-"): value for key, value in values.items()}
    return TableChoice.of(Options(given, (opt.TABLE_NAMES, opt.TABLE_PATTERN)))


def test_names_may_be_the_last_parts_of_a_path() -> None:
    assert choice(table_names=("people", "shop.old.orders")).chosen(LISTED) == LISTED[1:]


def test_a_pattern_matches_whole_paths() -> None:
    assert choice(table_pattern=r"shop\.public\..*").chosen(LISTED) == LISTED[:2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"table_names": ("orders",)}, "matches several tables; write the whole path, such as shop.public.orders"),
        ({"table_names": ("public.poeple",)}, "did you mean public.people"),
        ({"table_pattern": "public"}, "whole path; tables are shop.public.orders"),
    ],
)
def test_tables_that_do_not_exist_are_errors(values: dict[str, object], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        choice(**values).chosen(LISTED)


def test_a_user_who_sees_no_table_learns_it() -> None:
    with pytest.raises(SourceError, match="cannot access any table; check the user's permissions"):
        choice(table_names=("orders",)).chosen([])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"table_names": ("a",), "table_pattern": "b"}, "cannot be combined with table-names"),
        ({"table_names": ()}, "the list is empty"),
        ({"table_names": ("a..b",)}, "a name or a quote is missing"),
        ({"table_pattern": "("}, "is not a regular expression"),
    ],
)
def test_choices_that_contradict_themselves_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choice(**values)
