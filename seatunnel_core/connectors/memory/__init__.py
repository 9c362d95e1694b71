"""The ``Memory`` source and sink, which read and write tables of a Python program."""
