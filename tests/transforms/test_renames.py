"""``FieldRename`` and ``TableRename``: the same rule for names of columns and of tables."""

from typing import Any

import pytest
from attrs import evolve

from seatunnel_core.connector_api.transform import Transform
from seatunnel_core.errors import TransformError, UsageError
from seatunnel_core.transforms.field_rename import FieldRename
from seatunnel_core.transforms.table_rename import TableRename
from tests.transforms.tables import PEOPLE, ROWS, changed, made

NAMES = [
    ({}, "id name age"),
    ({"convert_case": "upper"}, "ID NAME AGE"),
    ({"convert_case": "UPPER", "prefix": " f_ ", "suffix": "_s"}, "f_ID_s f_NAME_s f_AGE_s"),
    ({"replacements_with_regex": [{"replace_from": "name", "replace_to": "who"}]}, "id who age"),
    ({"replacements_with_regex": [{"replace_from": "nam", "replace_to": "who"}]}, "id whoe age"),
    ({"replacements_with_regex": [{"replace_from": "nam", "replace_to": "x", "is_regex": "false"}]}, "id name age"),
    ({"replacements_with_regex": [{"replace_from": "name", "replace_to": "who", "is_regex": False}]}, "id who age"),
    ({"replacements_with_regex": [{"replace_from": "a", "replace_to": "_", "is_regex": "true"}]}, "id n_me _ge"),
    ({"replacements_with_regex": [{"replace_from": "^a", "replace_to": "$1", "is_regex": True}]}, "id name $1ge"),
    (
        {
            "convert_case": "UPPER",
            "prefix": "F_",
            "replacements_with_regex": [{"replace_from": "a", "replace_to": "x", "is_regex": True}],
        },
        "F_ID F_NxME F_xGE",
    ),
    (
        {
            "replacements_with_regex": [
                {"replace_from": "e", "replace_to": "1", "is_regex": True},
                {"replace_from": "age", "replace_to": "2"},
            ]
        },
        "id nam1 2",
    ),
    (
        {
            "suffix": "_",
            "specific": [{"field_name": "id", "target_name": "key"}, {"field_name": "id", "target_name": "x"}],
        },
        "key name_ age_",
    ),
]


@pytest.mark.parametrize(("options", "names"), NAMES)
def test_columns(options: dict[str, Any], names: str) -> None:
    rename = made(FieldRename, **options)
    schema = rename.output_schema(PEOPLE)
    assert schema.columns.names == names.split()
    assert schema.columns.types == PEOPLE.columns.types
    assert schema.primary_key == (names.split()[0],)
    assert changed(rename)[1] == ("UPDATE_BEFORE", ROWS[1])


@pytest.mark.parametrize(
    ("table", "options", "expected"),
    [
        ("people", {"prefix": "T_"}, "T_people"),
        ("shop.people", {"prefix": "T_", "convert_case": "UPPER"}, "SHOP.T_PEOPLE"),
        ("db.shop.people", {"replacements_with_regex": [{"replace_from": "people", "replace_to": "U"}]}, "db.shop.U"),
        ("shop.user_shop", {"replacements_with_regex": [{"replace_from": "user", "replace_to": "U"}]}, "shop.U_shop"),
        ("people.people", {"replacements_with_regex": [{"replace_from": "people", "replace_to": "U"}]}, "people.U"),
        ("DB.User", {"convert_case": "LOWER", "suffix": "_table"}, "db.user_table"),
    ],
)
def test_tables(table: str, options: dict[str, Any], expected: str) -> None:
    rename = made(TableRename, **options)
    schema = evolve(PEOPLE, table=table)
    assert rename.output_schema(schema) == evolve(PEOPLE, table=expected)
    assert [kind for kind, _ in changed(rename, schema=schema)] == ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"]


@pytest.mark.parametrize("kind", [FieldRename, TableRename])
@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"replace_to": "x"}, "an entry needs replace_from; replace_from is missing in"),
        ({"replace_from": "("}, r"'\(' is not a regular expression"),
        ({"replace_from": "a", "is_regex": "perhaps"}, "is_regex: expected true or false, found 'perhaps'"),
    ],
)
def test_replacements_that_cannot_work(kind: type[Transform], entry: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"option 'replacements_with_regex'.*{message}"):
        made(kind, replacements_with_regex=[entry])


def test_single_columns_have_both_names() -> None:
    with pytest.raises(UsageError, match="needs field_name and target_name; target_name is missing"):
        made(FieldRename, specific=[{"field_name": "id"}])
    with pytest.raises(TransformError, match=r"FieldRename: the table shop\.people has no column nam"):
        made(FieldRename, specific=[{"field_name": "nam", "target_name": "x"}]).output_schema(PEOPLE)


def test_two_columns_of_one_name_are_refused() -> None:
    rename = made(FieldRename, replacements_with_regex=[{"replace_from": "^.*$", "replace_to": "x", "is_regex": True}])
    with pytest.raises(TransformError, match=r"the columns id, name, age of the table .* would all have the name x"):
        rename.output_schema(PEOPLE)
