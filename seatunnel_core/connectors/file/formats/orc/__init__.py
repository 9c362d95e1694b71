"""The format ``orc``, read in a child process, because a damaged file can crash the process that reads it."""
