"""Values that travel between planning, the protocol, tasks and sinks.

Splits, work units, attempts at them, committables, retractions and failures. Nothing here reads a clock, moves rows or
knows Arrow, Spark or the protocol.
"""
