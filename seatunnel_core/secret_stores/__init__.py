"""Stores of secrets behind ``secret://``, one a module, each by the library of its vendor."""
