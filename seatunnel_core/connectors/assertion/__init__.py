"""A sink that checks rows and writes nothing."""
