"""All functions: importing this module registers them."""

from seatunnel_core.transforms.sql import choices, lists, moment_texts, moments, numbers, patterns, texts
from seatunnel_core.transforms.sql.call import FUNCTIONS

__all__ = ["FUNCTIONS", "choices", "lists", "moment_texts", "moments", "numbers", "patterns", "texts"]
