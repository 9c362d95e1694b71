"""Tables on a real server: identities and large values, other shapes, partitions, generated columns, publications."""

import pytest

from seatunnel_core.connectors.postgres_log.change_batch import ChangeBatch, Reason
from seatunnel_core.connectors.postgres_log.errors import LogError, PublicationError
from seatunnel_core.connectors.postgres_log.publications import (
    add_tables,
    capture_problems,
    create_publication,
    drop_publication,
    publication,
    remove_tables,
)
from tests.connectors.postgres_log.log_shop import LogShop, changes, rows

pytestmark = pytest.mark.servers

LARGE = "x" * 9_000


def large_table(shop: LogShop, identity: str) -> None:
    shop.run(
        "CREATE TABLE t (id int PRIMARY KEY, big text NOT NULL, small int)",
        "ALTER TABLE t ALTER big SET STORAGE EXTERNAL",
        "CREATE UNIQUE INDEX by_big ON t (substr(big, 1, 3))",
        "CREATE UNIQUE INDEX by_small ON t (id)",
        f"ALTER TABLE t REPLICA IDENTITY {identity}",
        f"INSERT INTO t VALUES (1, '{LARGE}', 1)",
    )


@pytest.mark.parametrize("identity", ["DEFAULT", "USING INDEX by_small"])
def test_an_unchanged_large_value_is_absent_with_the_identity_of_a_key(shop: LogShop, identity: str) -> None:
    large_table(shop, identity)
    found: list[ChangeBatch] = []
    with shop.logged(found):
        shop.run("UPDATE t SET small = 2", "UPDATE t SET id = 2", "UPDATE t SET big = 'b'", "DELETE FROM t")
    assert rows(found) == [
        ("+U", 1, "absent", 2),
        ("-U", 1, "absent", "absent"),
        ("+U", 2, "absent", 2),
        ("+U", 2, "b", 2),
        ("-D", 2, "absent", "absent"),
    ]
    assert changes(found)[0].table.identity == ("DEFAULT" if identity == "DEFAULT" else "INDEX")


def test_an_unchanged_large_value_is_that_of_the_old_row_with_the_identity_full(shop: LogShop) -> None:
    large_table(shop, "FULL")
    found: list[ChangeBatch] = []
    with shop.logged(found):
        shop.run("UPDATE t SET small = NULL", "UPDATE t SET id = 2", "UPDATE t SET big = 'b'", "DELETE FROM t")
    assert rows(found) == [
        *(("-U", 1, LARGE, 1), ("+U", 1, LARGE, None)),
        *(("-U", 1, LARGE, None), ("+U", 2, LARGE, None)),
        *(("-U", 2, LARGE, None), ("+U", 2, "b", None)),
        ("-D", 2, "b", None),
    ]
    assert all(each.complete for each in changes(found))
    assert changes(found)[0].table.key == ("id", "big", "small")


def test_a_large_value_in_the_index_of_the_identity(shop: LogShop) -> None:
    """The server logs the key of the old row because it is large, also if it has not changed."""
    large = "y" * 2_200
    shop.run(
        "CREATE TABLE t (id int PRIMARY KEY, big text NOT NULL UNIQUE, note text, small int)",
        "ALTER TABLE t ALTER big SET STORAGE EXTERNAL, ALTER note SET STORAGE EXTERNAL",
        "ALTER TABLE t REPLICA IDENTITY USING INDEX t_big_key",
        f"INSERT INTO t VALUES (1, '{large}', '{large}', 1)",
    )
    found: list[ChangeBatch] = []
    with shop.logged(found):
        shop.run("UPDATE t SET small = 2")
    assert rows(found) == [("-U", "absent", large, "absent", "absent"), ("+U", 1, large, "absent", 2)]


def test_updates_without_identity_are_refused_by_the_server_and_by_the_check(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int)", "CREATE TABLE n (id int PRIMARY KEY)", "ALTER TABLE n REPLICA IDENTITY NOTHING")
    found: list[ChangeBatch] = []
    with shop.logged(found):
        shop.run("INSERT INTO t VALUES (1)", "INSERT INTO n VALUES (2)")
    assert rows(found) == [("+I", 1), ("+I", 2)]
    assert [each.table.identity for each in changes(found)] == ["DEFAULT", "NOTHING"]
    assert [each.table.key for each in changes(found)] == [(), ()]
    problems = capture_problems(shop.sql, ["shop"], [("shop", "t"), ("shop", "n")])
    assert [each.partition("; ")[2] for each in problems] == [
        'add a primary key, or run ALTER TABLE "shop"."t" REPLICA IDENTITY FULL',
        'add a primary key, or run ALTER TABLE "shop"."n" REPLICA IDENTITY FULL',
    ]


def test_each_shape_of_a_table_is_a_version(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(10))", "INSERT INTO t VALUES (0, 0, 'old')")
    found: list[ChangeBatch] = []
    with shop.logged(found):
        shop.run(
            "INSERT INTO t VALUES (1, 1, 'x')",
            "ALTER TABLE t ADD COLUMN c bigint DEFAULT 7",
            "INSERT INTO t VALUES (2, 1, 'x', 2)",
            "ALTER TABLE t RENAME COLUMN b TO d",
            "UPDATE t SET a = 5 WHERE id = 1",
            "ALTER TABLE t ALTER d TYPE varchar(300)",
            "INSERT INTO t VALUES (4, 1, 'x', 2)",
            "ALTER TABLE t DROP COLUMN a",
            "UPDATE t SET d = 'y' WHERE id = 0",
            "ALTER TABLE t ALTER c TYPE numeric(10,2)",
            "ALTER TABLE t RENAME TO u",
            "INSERT INTO u VALUES (5, 'z', 1.25)",
        )
    shapes = [each.table.fingerprint for each in changes(found)]
    assert shapes == [
        '"id" integer, "a" integer, "b" character varying(10)',
        '"id" integer, "a" integer, "b" character varying(10), "c" bigint',
        '"id" integer, "a" integer, "d" character varying(10), "c" bigint',
        '"id" integer, "a" integer, "d" character varying(300), "c" bigint',
        '"id" integer, "d" character varying(300), "c" bigint',
        '"id" integer, "d" character varying(300), "c" numeric(10,2)',
    ]
    assert [batch.reason for batch in found] == [Reason.SHAPE] * 5 + [Reason.END]
    assert [str(row) for row in rows(found)][:-1] == [
        "('+I', 1, 1, 'x')",
        "('+I', 2, 1, 'x', 2)",
        "('+U', 1, 5, 'x', 7)",
        "('+I', 4, 1, 'x', 2)",
        "('+U', 0, 'y', 7)",
    ]
    assert str(changes(found)[-1].table) == "shop.u"
    assert changes(found)[-1].table.oid == changes(found)[0].table.oid


def test_a_table_that_is_changed_and_altered_in_one_transaction(shop: LogShop) -> None:
    shop.run("CREATE TABLE t (id int PRIMARY KEY)")
    found: list[ChangeBatch] = []
    with shop.logged(found), shop.sql.transaction():
        shop.run("INSERT INTO t VALUES (1)", "ALTER TABLE t ADD x int", "INSERT INTO t VALUES (2, 2)", "SAVEPOINT s")
        shop.run("INSERT INTO t VALUES (3, 3)", "ROLLBACK TO s", "INSERT INTO t VALUES (4, 4)")
    assert rows(found) == [("+I", 1), ("+I", 2, 2), ("+I", 4, 4)]
    assert len({number for each in changes(found) for number in each.transactions}) == 1


@pytest.mark.parametrize("via_root", [True, False])
def test_partitions(shop: LogShop, via_root: bool) -> None:
    shop.require(13)
    shop.run(
        "CREATE TABLE p (id int, x int, PRIMARY KEY (id)) PARTITION BY RANGE (id)",
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE p2 (x int, id int NOT NULL PRIMARY KEY)",
        "ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10) TO (20)",
    )
    drop_publication(shop.sql, "parts")
    create_publication(shop.sql, "parts", [("shop", "p")], via_root=via_root)
    slot, start = shop.slot()
    shop.run("INSERT INTO p VALUES (1, 1), (11, 2)", "UPDATE p SET id = 12 WHERE id = 1")
    with shop.reader(slot, start, publications=["parts"]) as reader:
        found = list(reader.batches(shop.end()))
    names = {each.table.name for each in changes(found)}
    assert names == ({"p"} if via_root else {"p1", "p2"})
    moved = [("+I", 1, 1), ("+I", 11, 2), ("-D", 1, "absent"), ("+I", 12, 1)]
    if via_root:
        assert rows(found) == moved
    else:
        assert rows(found, "p1") == [("+I", 1, 1), ("-D", 1, "absent")]
        assert rows(found, "p2") == [("+I", 2, 11), ("+I", 1, 12)], "in the order of its own columns"
    drop_publication(shop.sql, "parts")


def test_generated_columns_and_unlogged_tables_are_not_in_the_log(shop: LogShop) -> None:
    shop.run(
        "CREATE TABLE t (id serial PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED)",
        "CREATE UNLOGGED TABLE u (id int PRIMARY KEY)",
        "CREATE VIEW v AS SELECT 1 AS one",
    )
    found: list[ChangeBatch] = []
    with shop.logged(found):
        shop.run("INSERT INTO t (a) VALUES (5)", "INSERT INTO u VALUES (1)", "UPDATE t SET a = 6")
    assert rows(found) == [("+I", 1, 5), ("+U", 1, 6)]
    problems = capture_problems(shop.sql, ["shop"], [("shop", "u"), ("shop", "v"), ("shop", "none")])
    assert any("unlogged or temporary; run ALTER TABLE" in each for each in problems)
    assert "shop.v is not a table; its changes are not in the log" in problems
    assert "the table shop.none does not exist" in problems


def test_truncate_names_its_tables(shop: LogShop) -> None:
    shop.run(
        "CREATE TABLE a (id int PRIMARY KEY)",
        "CREATE TABLE b (id serial PRIMARY KEY, a int REFERENCES a)",
        "INSERT INTO a VALUES (1)",
    )
    found: list[ChangeBatch] = []
    with shop.logged(found):
        shop.run("INSERT INTO b (a) VALUES (1)", "TRUNCATE a RESTART IDENTITY CASCADE", "INSERT INTO a VALUES (2)")
    first, second = found
    assert first.truncation is not None
    assert sorted(map(str, first.truncation.tables)) == ["shop.a", "shop.b"]
    assert (first.truncation.restart_identity, first.truncation.transaction.xid) == (True, first.transactions[-1].xid)
    assert rows([first]) == [("+I", 1, 1)]
    assert rows([second]) == [("+I", 2)]


def test_publications_are_created_changed_and_checked(shop: LogShop) -> None:
    shop.require(15)
    shop.run("CREATE TABLE a (id int PRIMARY KEY, x int, secret text)", "CREATE TABLE b (id int PRIMARY KEY)")
    shop.run('CREATE TABLE "c ""d" (id int PRIMARY KEY)')
    a, b, c = ("shop", "a"), ("shop", "b"), ("shop", 'c "d')
    for name in ("one", "two"):
        drop_publication(shop.sql, name)
    (missing,) = capture_problems(shop.sql, ["one"], [a])
    assert missing == 'the publication one does not exist; run CREATE PUBLICATION "one" FOR TABLE "shop"."a"'
    create_publication(shop.sql, "one", [a], columns={a: ["id", "x"]}, row_filters={a: "id > 10"})
    create_publication(shop.sql, "two", [b])
    (absent,) = capture_problems(shop.sql, ["one", "two"], [a, b, c])
    assert 'run ALTER PUBLICATION "one" ADD TABLE "shop"."c ""d"' in absent
    add_tables(shop.sql, "one", [c])
    assert capture_problems(shop.sql, ["one", "two"], [a, b, c]) == []
    found = publication(shop.sql, "one")
    assert found is not None
    assert (found.tables[a].columns, found.tables[a].row_filter, found.via_root) == (("id", "x"), "(id > 10)", True)
    slot, start = shop.slot()
    shop.run(
        "INSERT INTO a VALUES (1, 1, 's'), (11, 11, 's')", "INSERT INTO b VALUES (1)", 'INSERT INTO "c ""d" VALUES (7)'
    )
    with shop.reader(slot, start, publications=["one", "two"]) as reader:
        batches = list(reader.batches(shop.end()))
    assert sorted(rows(batches)) == [("+I", 1), ("+I", 7), ("+I", 11, 11)]
    remove_tables(shop.sql, "one", [c])
    shop.run("ALTER PUBLICATION two SET (publish = 'insert')")
    assert [each.partition(";")[0] for each in capture_problems(shop.sql, ["one", "two"], [b, c])] == [
        "the publication two does not publish delete and truncate and update",
        'the table shop.c "d is not in any of the publications',
    ]
    with pytest.raises(PublicationError, match=r'relation "shop.none" does not exist'):
        add_tables(shop.sql, "one", [("shop", "none")])
    for name in ("one", "two"):
        drop_publication(shop.sql, name)
    assert publication(shop.sql, "one") is None


def test_different_column_lists_of_a_table_are_refused_by_the_server(shop: LogShop) -> None:
    shop.require(15)
    shop.run("CREATE TABLE a (id int PRIMARY KEY, x int)")
    for name, columns in (("one", ["id"]), ("two", ["id", "x"])):
        drop_publication(shop.sql, name)
        create_publication(shop.sql, name, [("shop", "a")], columns={("shop", "a"): columns})
    slot, start = shop.slot()
    shop.run("INSERT INTO a VALUES (1, 1)")
    with (
        shop.reader(slot, start, publications=["one", "two"]) as reader,
        pytest.raises(LogError, match="cannot use different column lists"),
    ):
        list(reader.batches(shop.end()))
    for name in ("one", "two"):
        drop_publication(shop.sql, name)


def test_messages_of_clients(shop: LogShop) -> None:
    shop.require(14)
    slot, start = shop.slot()
    shop.run("SELECT pg_logical_emit_message(false, 'app', 'now')")
    with shop.sql.transaction():
        shop.run("SELECT pg_logical_emit_message(true, 'app', 'ä')")
    with shop.reader(slot, start, messages=True) as reader:
        found = [
            each for batch in reader.batches(shop.end()) for each in batch.messages if each.message.prefix == "app"
        ]
    assert [(each.message.content.decode(), each.transaction is None) for each in found] == [
        ("now", True),
        ("ä", False),
    ]
