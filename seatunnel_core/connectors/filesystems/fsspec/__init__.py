"""Files of servers that fsspec has a client for and that rename a file in one step.

fsspec's clients keep their connection for the life of a process, one for each thread and set of options.
"""
