"""Files on servers that have an fsspec client and rename files atomically.

fsspec's clients keep their connections for the life of a process, one for each thread and set of options.
"""
