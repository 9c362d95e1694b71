"""Each member of a rule of ``Assert`` is compared, or the rule is rejected: an assertion that cannot fail is none."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from attrs import evolve

from seatunnel_core.config.document import Block, from_code
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.validation import BlockRules, Unknown, validate
from seatunnel_core.connectors.assertion.sink import AssertSink
from seatunnel_core.errors import RuleError, UsageError
from seatunnel_core.rows.batch import ConstraintKey, TableSchema
from tests.connectors.assertion.test_assert import asserted, field


def test_each_member_of_a_key_is_compared() -> None:
    """A name of a primary key and the order of a key's columns were read and not compared: such a rule always held."""
    key = ConstraintKey(name="u", kind="UNIQUE_KEY", columns=("id", "age"), sort_types=("ASC", "DESC"))
    columns = pa.schema([("id", pa.int64()), ("age", pa.int64())])
    schema = TableSchema(table="t", columns=columns, primary_key=("id",), primary_key_name="pk", constraint_keys=(key,))
    rows = pa.RecordBatch.from_pylist([{"id": 1, "age": 2}], columns)

    def check(name: str, sorts: Sequence[str | None], found: TableSchema = schema) -> None:
        named = [
            {"constraint_key_column_name": column, **({} if sort is None else {"constraint_key_sort_type": sort})}
            for column, sort in zip(("id", "age"), sorts, strict=True)
        ]
        rule = {"constraint_key_name": "u", "constraint_key_type": "UNIQUE_KEY", "constraint_key_columns": named}
        keys = {"primary_key_rule": {"primary_key_name": name}, "constraint_key_rule": [rule]}
        asserted({"catalog_table_rule": keys}, rows, found)

    check("pk", ("ASC", "desc"))
    check("pk", (None, None))
    with pytest.raises(RuleError, match="the primary key of table t has the name 'pk', expected 'kp'"):
        check("kp", ("ASC", "DESC"))
    with pytest.raises(RuleError, match=r"are UNIQUE_KEY u \(id, age DESC\); expected UNIQUE_KEY u \(id, age\)"):
        check("pk", (None, "ASC"))
    with pytest.raises(RuleError, match="has no primary key"):
        check("pk", (None, None), evolve(schema, primary_key=()))
    with pytest.raises(RuleError, match="does not report the name of the primary key"):
        check("pk", (None, None), evolve(schema, primary_key_name=None))


def test_a_rule_is_not_half_read() -> None:
    """A misspelt ``equals_to`` was left out with a warning, so that nothing was asserted."""
    for rules, said in (
        (field("name", {"rule_type": "NOT_NULL", "rule_value": 3}), "NOT_NULL does not use rule_value"),
        (field("name", {"equals_to": "x", "rule_value": 3}), "equals_to does not use rule_value"),
        ({"catalog_table_rule": {"primary_key_rule": {}}}, "needs primary_key_columns or primary_key_name"),
    ):
        with pytest.raises(UsageError, match=said):
            asserted(rules)
    problems, block = Problems(), from_code({"rules": {"field_rules": [{"field_name": "a", "field_valeu": []}]}})
    assert isinstance(block, Block)
    found = validate(block, AssertSink.declared, BlockRules(what="Assert", unknown=Unknown.LENIENT), problems)
    assert (found.wrong, len(problems.errors)) == ({"rules"}, 1)
    assert "rules.field_rules has no 'field_valeu'. Did you mean 'field_value'?" in str(problems.errors[0])
