"""All functions: importing this module registers them."""

from seatunnel_core.transforms.sql import choices, numbers, patterns, texts
from seatunnel_core.transforms.sql.call import FUNCTIONS

__all__ = ["FUNCTIONS", "choices", "numbers", "patterns", "texts"]
