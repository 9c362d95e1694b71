"""Common part of object stores: no folders, no rename, and atomic writes."""
