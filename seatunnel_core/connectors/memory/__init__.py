"""The source and the sink ``Memory``, which read and write tables of a Python program."""
