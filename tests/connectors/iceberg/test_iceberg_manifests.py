"""The cache of manifests."""

from typing import Any

import pytest
from attrs import field, frozen

from seatunnel_core.connectors.iceberg.manifests import ManifestEntries


@frozen(kw_only=True)
class Manifest:
    """A manifest without entries, which counts how often it is read."""

    manifest_path: str
    read: list[Any] = field(factory=list)

    def fetch_manifest_entry(self, io: Any) -> list[Any]:
        self.read.append(io)
        return []


@pytest.mark.parametrize(("most", "reads"), [(None, 1), (2, 2)])
def test_with_a_limit_the_oldest_manifest_is_read_again(most: int | None, reads: int) -> None:
    entries, manifests = ManifestEntries(most), [Manifest(manifest_path=name) for name in "abc"]
    for manifest in (*manifests, manifests[2], manifests[0]):
        entries.of(manifest, "io")
    assert [len(manifest.read) for manifest in manifests] == [reads, 1, 1]


@pytest.mark.parametrize(("most", "reads"), [(None, 1), (2, 2)])
def test_a_listing_does_not_fill_a_cache_with_a_limit(most: int | None, reads: int) -> None:
    entries, manifest = ManifestEntries(most), Manifest(manifest_path="a")
    for _ in range(2):
        entries.listed(manifest, "io")
    assert len(manifest.read) == reads
