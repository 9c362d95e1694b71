"""Values that planning, the protocol, tasks and sinks exchange.

These are splits, work units and their attempts, committables, retractions and failures. The package neither reads a
clock nor moves rows, and does not depend on Arrow, Spark or the protocol.
"""
