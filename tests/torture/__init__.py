"""Running jobs are killed from outside and resumed until they are done; then their rows are counted by other programs.

Run it with ``make torture`` or ``python -m tests.torture --help``. Linux: processes are watched through ``/proc``.
"""
