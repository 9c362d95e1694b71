"""Values passed between planning, the protocol, tasks and sinks.

Splits, work units and their attempts, committables, retractions and failures. This package reads no clock, moves no
rows and does not know Arrow, Spark or the protocol.
"""
