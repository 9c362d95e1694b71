"""Delimited text: the formats ``csv`` and ``text``."""
