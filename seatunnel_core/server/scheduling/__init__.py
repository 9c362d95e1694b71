"""What a leader does next with its jobs: pure decisions from what is recorded and what the members report.

A job waits, with no host in its record; is placed, which the record says before a host gets the order; is followed
there; and goes to the history, or waits again when its host is gone. A change of a record and the order that follows
from it are never decided in one step: so an order that is lost is given again, by the next leader too.
"""
