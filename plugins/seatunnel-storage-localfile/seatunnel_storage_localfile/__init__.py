"""The deprecated checkpoint storage of type ``localfile``."""
