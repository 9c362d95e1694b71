"""A deterministic simulation of whole pipelines: the real protocol, with a model of everything around it.

``scenario`` draws a case from a seed, ``world`` plays it under a virtual clock, ``invariants`` watches, one object per
rule of the protocol. The same seed gives the same run.
"""
