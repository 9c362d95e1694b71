"""Agent: the process of a node that takes part in the election, serves HTTP and supervises worker processes."""
