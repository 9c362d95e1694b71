"""Secret stores for ``secret://`` references, one per module, each using its vendor's library."""
