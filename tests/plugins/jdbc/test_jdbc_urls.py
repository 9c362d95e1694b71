"""URLs of databases, which the connector ``Jdbc`` and the storage ``jdbc`` read alike."""

import pytest
from seatunnel_storage_jdbc import address as of_storage

from seatunnel_core.clients.jdbc.address import Address
from seatunnel_core.clients.jdbc.tls import tls_context
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.jdbc import address as of_connector
from seatunnel_core.connectors.jdbc.options import CONNECTION
from seatunnel_core.errors import UsageError
from seatunnel_storage_api.errors import StorageConfigurationError


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql:database",
        "jdbc:postgresql://host",
        "jdbc:mysql://host:many/database",
        "jdbc:mysql://me:secret@host/database",
        "jdbc:mariadb://one,two/database",
        "jdbc:sqlite:",
    ],
)
def test_a_wrong_url_is_refused_in_the_same_words(url: str) -> None:
    with pytest.raises(UsageError) as one:
        of_connector.address_of(Options({"url": url}, CONNECTION))
    with pytest.raises(StorageConfigurationError) as other:
        of_storage.address_of({"url": url})
    assert str(one.value).removeprefix("option 'url': ") == str(other.value).removeprefix("url: ")
    assert "secret" not in str(one.value)


def test_properties_of_the_job_override_those_of_the_url() -> None:
    url = "jdbc:mariadb://host/a%20b?user=one&password=hidden-1&sslMode=REQUIRED"
    more = {"url": url, "properties": {"sslMode": "DISABLED", "user": "two"}, "password": "hidden-2"}
    found = of_connector.address_of(Options(more, CONNECTION))
    assert (found.kind, found.host, found.port, found.database) == ("mysql", "host", 3306, "a b")
    assert (found.user, found.password, found.properties) == ("two", "hidden-2", (("sslMode", "DISABLED"),))
    assert "hidden" not in f"{found} {found!r}"


def test_secrets_are_masked_and_switches_are_not() -> None:
    """Each true in a message of the server became ***, because a property with Key in its name was true."""
    properties = (("allowPublicKeyRetrieval", "true"), ("sslpassword", "in the url"))
    found = Address(kind="mysql", database="d", password="p w x", properties=properties)
    assert found.hide("password=p w x&host=h") == "password=***&host=h"
    assert found.hide("true, p w x, p%20w%20x, in the url, pwd=x") == "true, ***, ***, ***, pwd=***"


def test_modes_of_both_drivers_encrypt() -> None:
    assert tls_context({}) is tls_context({"sslMode": "DISABLE", "useSSL": "true"}) is None
    for mode, checks in (("TRUST", False), ("verify-full", True), ("VERIFY_IDENTITY", True)):
        context = tls_context({"sslMode": mode})
        assert context is not None
        assert context.check_hostname == checks
    with pytest.raises(StorageConfigurationError, match="sslMode = MAYBE is unknown"):
        tls_context({"sslMode": "maybe"})
