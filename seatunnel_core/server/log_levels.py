"""The levels of the loggers of this process, by the names that SeaTunnel's users know, and what they were before."""

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
"""By the names of log4j."""

ROOT = "root"
OWN = "seatunnel"
MOST_CHANGED = 200
"""So many loggers may have another level than they began with."""

_changing = threading.Lock()
_before: dict[str, int] = {}
"""By logger: the level before it was changed."""


@frozen(kw_only=True)
class Level:
    """The level of a logger."""

    name: str
    level: str
    """The one that counts: its own, or that of the next one above it that has one."""

    before: str | None = None
    """The one that it began with; ``None`` where that is the one that counts."""


def level_name(level: int) -> str:
    """Return the name of a level: of the least one that is not below it."""
    return next((name for name, number in LEVELS.items() if number >= level), "OFF")


def known_loggers() -> list[str]:
    """Return the names of the loggers of this process that have a level of their own, and of this package."""
    found = {
        name
        for name, each in logging.root.manager.loggerDict.items()
        if isinstance(each, logging.Logger) and (each.level or name.partition(".")[0] == OWN)
    }
    return [ROOT, *sorted(found)]


def look(name: str) -> Level:
    """Return the level of a logger.

    Raises:
        UsageError: there is none of this name.
    """
    logger = _logger(name)
    before = _before.get(name)
    return Level(
        name=name,
        level=level_name(logger.getEffectiveLevel()),
        before=None if before is None else level_name(before) if before else "inherited",
    )


def change(name: str, level: str) -> str:
    """Set the level of a logger, until this process ends or ``reset``; return the one that counted before.

    Raises:
        UsageError: there is no such level or logger, or too many have been changed.
    """
    number = LEVELS.get(level.upper())
    if number is None:
        raise UsageError(f"level is {level[:100]!a}: write one of {', '.join(LEVELS)}")
    with _changing:
        logger = _logger(name)
        if name not in _before and len(_before) >= MOST_CHANGED:
            raise UsageError(f"{MOST_CHANGED} loggers have been changed already: reset some of them")
        counted = level_name(logger.getEffectiveLevel())
        _before.setdefault(name, logger.level)
        logger.setLevel(number)
    return counted


def reset(name: str) -> str | None:
    """Give a logger its first level back; return the one that counted before, or ``None`` if nothing was changed.

    Raises:
        UsageError: there is none of this name.
    """
    with _changing:
        logger = _logger(name)
        if name not in _before:
            return None
        counted = level_name(logger.getEffectiveLevel())
        logger.setLevel(_before.pop(name))
    return counted


def _logger(name: str) -> logging.Logger:
    """Return a logger that there is; a name that nobody uses would be kept for ever.

    Raises:
        UsageError: there is none.
    """
    if name == ROOT:
        return logging.getLogger()
    if isinstance(logging.root.manager.loggerDict.get(name), logging.Logger):
        return logging.getLogger(name)
    raise UsageError(f"there is no logger {name[:200]!a} here; {OWN} is the one above all of this engine")
