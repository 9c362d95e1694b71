"""Every interleaving of a few engines on one small pipeline: the real protocol, with nothing drawn by chance.

``automaton`` turns the protocol's objects into numbered local states, ``model`` joins engines, storage and target to
one world and knows every step that may come next, ``explorer`` visits all worlds breadth-first, ``breakages`` has the
rules broken on purpose that it must find.

A crash needs no step of its own: an engine that never takes another step has crashed, one that takes its next step
after others have taken theirs was paused. As every interleaving is visited, both happen at every step. What was on its
way when an engine ended (a put, a commit, a deletion) may still happen, or not.
"""
