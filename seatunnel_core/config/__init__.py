"""Configuration files and options: parsers, option types, validation and error messages."""
