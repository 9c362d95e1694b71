"""An agent: the process of a node that takes part in the election, serves HTTP and watches its host."""
