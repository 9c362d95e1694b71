"""Whole jobs on the real runtime under a virtual clock: its threads take turns, one step at a time.

Real are the job's graph and manifest, the claim, the crew, the pipelines' runs, the dispatcher of work units, the
protocol and the storage down to its four primitives. Models are Spark, the blobs, the target and the clock.
"""
