"""Configuration files and options: grammars, types, validation and error messages."""
