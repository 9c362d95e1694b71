"""Common code of object stores, which have no folders and no rename, and write objects atomically."""
