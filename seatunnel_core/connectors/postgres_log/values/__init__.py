"""Conversion of values in the log, which are the server's strings, to the Arrow types of the source ``Jdbc``."""
