"""The codes of errors, which people look up and programs compare."""

from seatunnel_storage_api.errors import NamespaceError, StaleEpochError, StorageAccessError


def test_a_code_is_made_of_the_words_of_a_name() -> None:
    assert (StaleEpochError.code, NamespaceError.code) == ("STALE-EPOCH", "NAMESPACE-ERROR")


def test_a_plugins_error_has_the_code_of_its_nearest_ancestor_or_its_own() -> None:
    class QuotaError(StorageAccessError):
        """A plugin's, without a code."""

    class FullBucketError(QuotaError):
        """One with a code."""

        code = "ACME-FULL"

    assert (QuotaError("…").code, FullBucketError("…").code) == ("STORAGE-ACCESS", "ACME-FULL")
