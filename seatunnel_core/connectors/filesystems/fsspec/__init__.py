"""Files on servers that rename files atomically and have an fsspec client.

These clients keep their connections for the life of a process, one per thread and set of options.
"""
