"""A test kit for transforms: subclass ``TransformConformance``, say how to build yours, run pytest."""

from seatunnel_core.transforms.testing.suite import TransformConformance

__all__ = ["TransformConformance"]
