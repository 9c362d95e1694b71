"""Jobs in SQL: the same tree as in HOCON, and messages that say where."""

import sys
from pathlib import Path
from typing import Any

import pytest

from seatunnel_core.config.document import plain
from seatunnel_core.config.file import parse
from seatunnel_core.config.job_file import load_job
from seatunnel_core.config.problem import Problems
from seatunnel_core.config.variables import Variables
from seatunnel_core.errors import ConfigError

SOURCE = "CREATE TABLE people WITH ('connector'='FakeSource', 'type'='source');\n"
SINK = "CREATE TABLE target WITH ('connector'='Console', 'type'='sink');\n"
BOTH = SOURCE + SINK


def sections(text: str, name: str = "job.sql", variables: dict[str, str] | None = None) -> dict[str, Any]:
    """By section: what each plugin is told, in the order of the text."""
    tree = parse(text, name, Variables(variables or {}, {}), Problems())
    return {
        entry.key: [(each.key, plain(each.value, textual=True)) for each in entry.value]  # type: ignore[union-attr]
        for entry in tree
    }


IN_SQL = """
/* config
env {
  parallelism = 1
  job.mode = "BATCH"
}
*/

CREATE TABLE source_table WITH (
  'connector'='jdbc',
  'type'='source',
  'url' = 'jdbc:mysql://localhost:3306/seatunnel',
  'query' = 'select * from source where name = ''Joy Ding''', -- the quotes are doubled
  'properties'= '{
    useSSL = false,
    rewriteBatchedStatements = true
  }',
  'table_list' = '[ { table_path = "source.table1" }, { table_path = "source.table2" } ]'
);
CREATE TABLE sink_table WITH (
  'connector'='jdbc',
  'type'='sink',
  'generate_sink_sql' = 'true'
);
CREATE TABLE temp1 AS SELECT id, name, age, email FROM source_table;
INSERT INTO sink_table SELECT * FROM temp1;
"""
IN_HOCON = """
env {
  parallelism = 1
  job.mode = "BATCH"
}
source {
  jdbc {
    url = "jdbc:mysql://localhost:3306/seatunnel"
    query = "select * from source where name = 'Joy Ding'"
    properties { useSSL = false, rewriteBatchedStatements = true }
    table_list = [ { table_path = "source.table1" }, { table_path = "source.table2" } ]
    plugin_output = source_table
  }
}
transform {
  Sql {
    plugin_input = source_table
    query = "SELECT id, name, age, email FROM source_table"
    plugin_output = temp1
  }
}
sink {
  jdbc {
    generate_sink_sql = "true"
    plugin_input = [ temp1 ]
  }
}
"""


def test_the_example_of_the_documentation_means_what_it_means_in_hocon() -> None:
    assert sections(IN_SQL) == sections(IN_HOCON, "job.conf")


def test_an_insert_with_a_query_makes_a_transform_and_one_with_a_table_none() -> None:
    found = sections(
        BOTH
        + "INSERT INTO target SELECT people;"
        + "insert into target select name, extract(year from born) from people where name <> 'a; FROM b';"
        + "INSERT INTO target SELECT `name` FROM `people`"
    )
    (transforms, sinks) = (found["transform"], found["sink"])
    assert [options["query"] for _, options in transforms] == [
        "select name, extract(year from born) from people where name <> 'a; FROM b'",
        "SELECT `name` FROM `people`",
    ]
    outputs = [options["plugin_output"] for _, options in transforms]
    assert sinks == [("Console", {"plugin_input": ["people", *outputs]})]
    assert len(set(outputs)) == 2
    assert all(options["plugin_input"] == "people" for _, options in transforms)


def test_a_table_may_be_made_if_it_is_not_there() -> None:
    there = BOTH.replace("CREATE TABLE", "create table if not exists")
    rest = "CREATE TABLE IF NOT EXISTS adults AS SELECT * FROM people WHERE age > 17; INSERT INTO target SELECT adults;"
    assert sections(there + rest) == sections((BOTH + rest).replace("IF NOT EXISTS ", ""))
    with pytest.raises(ConfigError, match="'people' already exists"):
        sections(SOURCE + there)


def test_a_made_name_is_nobodys_name() -> None:
    taken = "".join(f"CREATE TABLE target_input_{n} AS SELECT a FROM people;\n" for n in range(9))
    found = sections(BOTH + taken + "INSERT INTO target SELECT b FROM people;")
    outputs = [options["plugin_output"] for _, options in found["transform"]]
    assert len(outputs) == len(set(outputs)) == 10
    assert found["sink"][0][1]["plugin_input"] == [outputs[-1]]


def test_only_comments_that_begin_with_config_are_configuration() -> None:
    found = sections(
        "/* no config { */ -- /* config nor this\n"
        + "CREATE TABLE people WITH ('connector'='FakeSource', 'type'='SOURCE', 'note'='/* config a = 1 */');"
        + SINK
        + "INSERT INTO target SELECT people;\n/*config env { job.name = a } */\n/* config env { parallelism = 2 } */"
    )
    assert found["env"] == [("job", {"name": "a"}), ("parallelism", "2")]
    assert found["source"] == [("FakeSource", {"note": "/* config a = 1 */", "plugin_output": "people"})]


def test_variables_are_filled_in_wherever_values_stand() -> None:
    text = (
        "/* config env { job.name = ${job} } */"
        + "CREATE TABLE people WITH ('connector'='FakeSource', 'type'='source', "
        + "'row.num'='${rows}', 's'='{a = ${rows}}');"
        + SINK
        + "INSERT INTO target SELECT a FROM people WHERE a > ${rows:7};"
    )
    found = sections(text, variables={"rows": "5", "job": "night"})
    assert found["source"][0][1] == {"row.num": "5", "s": {"a": "5"}, "plugin_output": "people"}
    assert found["transform"][0][1]["query"] == "SELECT a FROM people WHERE a > 5"
    assert sections(text, variables={"job": "j", "rows": "x"})["source"][0][1]["row.num"] == "x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "DROP TABLE a;",
            "job.sql:1:1: a statement cannot begin with 'DROP'. A job in SQL consists of CREATE TABLE name WITH",
        ),
        ("\n  CREATE TABLE", "job.sql:2:14: the name of the table is expected here, not the end"),
        (
            "CREATE TABLE a (id int) WITH ('x'='y')",
            "job.sql:1:16: the table 'a' declares columns in SQL. Remove them; ",
        ),
        ("CREATE TABLE a;", "job.sql:1:14: expected WITH (…) or AS SELECT … after 'a', found 'the end'"),
        ("CREATE TABLE a WITH (connector='b')", "1:22: a key in single quotes is expected here, not CONNECTOR"),
        ("CREATE TABLE a WITH ('connector'='b' 'c'='d')", "job.sql:1:38: ',' or ')' is expected here, not a string"),
        ("CREATE TABLE a WITH ('connector'='b') x", "job.sql:1:39: a semicolon is expected here, not X"),
        ("CREATE TABLE a WITH ('k'='1', 'k'='2')", "job.sql:1:31: the key 'k' occurs twice"),
        ("CREATE TABLE a WITH ('type'='source')", "the table 'a' has no connector. Add 'connector' = '…'"),
        ("CREATE TABLE a WITH ('connector'='b')", "job.sql:1:14: the table 'a' has no type. Add 'type' = "),
        (
            "CREATE TABLE a WITH ('connector'='b', 'type'='table')",
            "job.sql:1:46: the table 'a' has the unknown type 'table'. Use source or sink",
        ),
        (SOURCE + SOURCE, "job.sql:2:14: the table 'people' already exists: it is created at job.sql:1:14"),
        (BOTH, "job.sql:2:14: nothing is inserted into 'target'. Add INSERT INTO target SELECT …;"),
        (
            BOTH + "INSERT INTO traget SELECT people",
            "3:13: there is no sink 'traget' above this line; did you mean 'target'",
        ),
        (BOTH + "INSERT INTO target (a) SELECT a FROM people", "job.sql:3:20: INSERT INTO takes no columns. Name and "),
        (BOTH + "INSERT INTO target VALUES (1)", "job.sql:3:20: 'SELECT' is expected here, not VALUES"),
        (BOTH + "INSERT INTO target SELECT 1, 2", "job.sql:3:30: FROM and a table is expected here, not the end"),
        (BOTH + "INSERT INTO target SELECT a FROM", "the name of a table is expected here, not the end"),
        (
            BOTH + "INSERT INTO target SELECT a FROM peple",
            "job.sql:3:34: no table 'peple' that produces rows is created above this line; did you mean 'people'?",
        ),
        (BOTH + "INSERT INTO target SELECT target", "no table 'target' that produces rows is created above this line"),
        ("CREATE TABLE a WITH ('x'='\n { b = ] }')", "job.sql:2:8: "),
        (
            "/* config source { FakeSource {} } */",
            "job.sql:1:11: source is not allowed in a comment. Write the block in SQL. ",
        ),
        ("CREATE TABLE a WITH ('x'='y", "job.sql: this is not SQL: "),
    ],
)
def test_a_mistake_is_reported_with_its_place(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as raised:
        sections(text)
    assert expected in str(raised.value)


def test_an_option_that_is_wrong_is_reported_at_its_place(tmp_path: Path) -> None:
    job = tmp_path / "job.sql"
    job.write_text("/* config\nenv {\n  parallelism = two\n}\n*/\n" + BOTH + "INSERT INTO target SELECT people;")
    (problem,) = load_job(job).problems.errors
    assert f"{job}:3:17: " in str(problem)


def test_without_the_library_the_command_to_install_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ConfigError, match=r"needs sqlglot: .* run pip install '\.\[sql\]'"):
        sections(BOTH)
