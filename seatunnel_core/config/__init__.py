"""Configuration files and options: their grammars, their types, and everything that is said about a wrong one."""
