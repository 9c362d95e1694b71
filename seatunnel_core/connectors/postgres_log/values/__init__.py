"""Conversion of logged strings to the Arrow types of the ``Jdbc`` source."""
