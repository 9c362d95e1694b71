"""Statements that keep the types of columns."""

import pytest

from seatunnel_core.connectors.jdbc.databases.mysql_values import column_of
from seatunnel_core.connectors.mysql_cdc.altered_types import AlteredTypes

COLUMNS = (
    ("i", "int(11)"),
    ("u", "bigint(20) unsigned"),
    ("y", "tinyint(1)"),
    ("n", "decimal(9,2)"),
    ("t", "timestamp(6)"),
    ("v", "varchar(20)"),
    ("e", "enum('a','b')"),
)


def types(*statements: str) -> AlteredTypes:
    found = AlteredTypes.of([column_of(name, declared) for name, declared in COLUMNS])
    for each in statements:
        found.alter(each)
    return found


@pytest.mark.parametrize(
    "clauses",
    [
        "MODIFY i int NOT NULL",
        "MODIFY COLUMN `I` INTEGER NULL DEFAULT -3 COMMENT 'not (unsigned, CHARSET'",
        "CHANGE i i INT(10) NOT NULL, ADD INDEX (i)",
        "MODIFY u bigint unsigned",
        "MODIFY y bool NOT NULL",
        "MODIFY n NUMERIC(9, 2)",
        "MODIFY t timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6)",
        "ALTER v SET DEFAULT 'x'",
    ],
)
def test_statements_that_keep_recorded_types(clauses: str) -> None:
    if "CHARSET" in clauses:  # text of comments counts, to be on the safe side
        assert not types().keeps(f"ALTER TABLE t {clauses}")
        clauses = clauses.replace("CHARSET", "")
    assert types().keeps(f"ALTER TABLE t {clauses}")


@pytest.mark.parametrize(
    "clauses",
    [
        "MODIFY i int unsigned",
        "MODIFY i bigint",
        "MODIFY i int FIRST",
        "MODIFY i int AFTER u",
        "MODIFY i int, MODIFY u int",
        "MODIFY i int PRIMARY KEY",
        "MODIFY i int AS (u + 1) STORED",
        "CHANGE i j int",
        "MODIFY y tinyint",
        "MODIFY n decimal(9,3)",
        "MODIFY t timestamp",
        "MODIFY v varchar(20)",
        "MODIFY e enum('a','b')",
        "MODIFY other int",
        "MODIFY IF EXISTS i int",
        "ADD i int",
        "ADD j int",
        "DROP i",
        "MODIFY i int, CHARACTER SET latin1",
        "CONVERT TO CHARACTER SET latin1",
    ],
)
def test_statements_that_may_change_types(clauses: str) -> None:
    assert not types().keeps(f"ALTER TABLE t {clauses}")
    assert not types().keeps("DROP TABLE t")


@pytest.mark.parametrize(
    ("first", "last", "keeps"),
    [
        ("ADD j int AFTER i", "MODIFY j int NOT NULL", True),
        ("ADD IF NOT EXISTS j int", "MODIFY j int NOT NULL", False),
        ("ADD COLUMN IF NOT EXISTS i bigint", "MODIFY i bigint", False),
        ("ADD j varchar(10) DEFAULT ''", "MODIFY j varchar(20) NOT NULL", True),
        ("ADD j varchar(10), CHARACTER SET latin1", "MODIFY j varchar(10) NOT NULL", False),
        ("ADD j varchar(10) COLLATE latin1_bin", "MODIFY j varchar(10) NOT NULL", False),
        ("ADD j text, ADD INDEX (i)", "MODIFY j text NOT NULL", True),
        ("ADD j text", "MODIFY j text BINARY", False),
        ("ADD j varchar(10)", "MODIFY j varbinary(10)", False),
        ("ADD (j int)", "MODIFY j int", False),
        ("MODIFY v varchar(30)", "MODIFY v varchar(30) NOT NULL", True),
        ("MODIFY i bigint", "MODIFY i int", False),
        ("DROP u, ADD u int", "MODIFY u int NULL", True),
        ("DROP u", "MODIFY i int NULL", False),
        ("CHANGE i j bigint, CHANGE u i int", "MODIFY i int", False),
    ],
)
def test_types_after_a_statement(first: str, last: str, keeps: bool) -> None:
    assert types(f"ALTER TABLE t {first}").keeps(f"ALTER TABLE t {last}") is keeps


def test_no_type_is_known_after_another_statement() -> None:
    """A cursor of an earlier version has no statement."""
    assert not types("").keeps("ALTER TABLE t MODIFY i int")
