"""Entries of manifests, cached by path, because a manifest never changes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyiceberg.manifest import ManifestEntry, ManifestFile


class ManifestEntries:
    """Cache of the entries of manifests, except deleted entries."""

    def __init__(self, most: int | None = None) -> None:
        """Create an empty cache for at most ``most`` manifests; ``None`` means no limit."""
        self._most = most
        self._entries: dict[str, list[ManifestEntry]] = {}

    def of(self, manifest: "ManifestFile", io: Any) -> "list[ManifestEntry]":
        """Return the entries of a manifest from the cache, or read and cache them."""
        path = manifest.manifest_path
        if path not in self._entries:
            if self._most is not None and len(self._entries) >= self._most:
                del self._entries[next(iter(self._entries))]
            self._entries[path] = manifest.fetch_manifest_entry(io)
        return self._entries[path]

    def listed(self, manifest: "ManifestFile", io: Any) -> "list[ManifestEntry]":
        """Return the entries of a manifest; do not cache them if the cache has a limit."""
        return self.of(manifest, io) if self._most is None else manifest.fetch_manifest_entry(io)
