"""Conversion of the strings in the log to the Arrow types of the ``Jdbc`` source."""
