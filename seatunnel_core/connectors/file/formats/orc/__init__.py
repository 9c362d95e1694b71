"""The format ``orc``, read in a child process, because a damaged file ends the process that reads it."""
