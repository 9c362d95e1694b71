"""Stored bytes that somebody damaged or forged, and what reading them, and going on from them, may lead to.

``mutants`` makes them, ``victim`` is what they are fed to: a real storage, the real protocol, a real source and sink.
``python -m tests.checkpoint.hostile NUMBER`` plays one mutant alone.
"""
