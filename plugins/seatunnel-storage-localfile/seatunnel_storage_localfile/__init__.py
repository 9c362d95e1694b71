"""Deprecated checkpoint storage of type ``localfile``."""
