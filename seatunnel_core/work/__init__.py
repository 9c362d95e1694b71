"""The values that travel between planning, the protocol, tasks and sinks: splits, work units, attempts, committables,
retractions and failures. Values only: nothing here reads a clock, moves rows or knows Arrow, Spark or the protocol."""
