"""Logger levels of this process, by log4j's names, and the original levels of changed loggers."""

import logging
import threading

from attrs import frozen

from seatunnel_core.errors import UsageError

LEVELS = {
    "ALL": 1,
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "OFF": logging.CRITICAL + 10,
}
"""Levels by log4j's names."""

ROOT = "root"
OWN = "seatunnel"
MOST_CHANGED = 200
"""Maximum number of loggers with a changed level."""

_changing = threading.Lock()
_before: dict[str, int] = {}
"""Original levels of changed loggers."""


@frozen(kw_only=True)
class Level:
    """Level of a logger."""

    name: str
    level: str
    """Effective level: the logger's own level, or the level of the closest ancestor with a level."""

    before: str | None = None
    """Original level; ``None`` if it is unchanged."""


def level_name(level: int) -> str:
    """Return the name of the lowest named level that is greater than or equal to a level."""
    return next((name for name, number in LEVELS.items() if number >= level), "OFF")


def known_loggers() -> list[str]:
    """Return the names of this package's loggers, and of other loggers with a level."""
    found = {
        name
        for name, each in logging.root.manager.loggerDict.items()
        if isinstance(each, logging.Logger) and (each.level or name.partition(".")[0] == OWN)
    }
    return [ROOT, *sorted(found)]


def level_of(name: str) -> Level:
    """Return the level of a logger."""
    logger = _logger(name)
    before = _before.get(name)
    return Level(
        name=name,
        level=level_name(logger.getEffectiveLevel()),
        before=None if before is None else level_name(before) if before else "inherited",
    )


def change(name: str, level: str) -> str:
    """Set the level of a logger until ``reset`` or the end of this process. Return the previous effective level."""
    number = LEVELS.get(level.upper())
    if number is None:
        raise UsageError(f"level is {level[:100]!a}: expected one of {', '.join(LEVELS)}")
    with _changing:
        logger = _logger(name)
        if name not in _before and len(_before) >= MOST_CHANGED:
            raise UsageError(f"the levels of {MOST_CHANGED} loggers are already changed: reset some of them")
        counted = level_name(logger.getEffectiveLevel())
        _before.setdefault(name, logger.level)
        logger.setLevel(number)
    return counted


def reset(name: str) -> str | None:
    """Reset a logger to its original level. Return the previous effective level; ``None`` if it was not changed."""
    with _changing:
        logger = _logger(name)
        if name not in _before:
            return None
        counted = level_name(logger.getEffectiveLevel())
        logger.setLevel(_before.pop(name))
    return counted


def _logger(name: str) -> logging.Logger:
    """Return an existing logger, or raise UsageError. Creating loggers for unused names would leak memory."""
    if name == ROOT:
        return logging.getLogger()
    if isinstance(logging.root.manager.loggerDict.get(name), logging.Logger):
        return logging.getLogger(name)
    raise UsageError(f"no logger {name[:200]!a} in this process; {OWN} is the parent of all loggers of this engine")
