"""Connections of PyMySQL: certificates are loaded only where they are used."""

import ssl

from seatunnel_core.connectors.jdbc.databases.mysql_connection import mysql_connection


def test_a_connection_that_verifies_nothing_loads_no_certificates() -> None:
    """Each range of the log has its own connection, and most of the time to open one went into certificates."""
    context = mysql_connection({"defer_connect": True}).ctx
    assert context.cert_store_stats()["x509_ca"] == 0
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_a_given_context_is_used() -> None:
    context = ssl.create_default_context()
    assert mysql_connection({"defer_connect": True, "ssl": context}).ctx is context
