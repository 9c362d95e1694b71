"""Lookup of sources, transforms and sinks by name among the entry points of the installed packages.

The name of an entry point is the identifier in job files and is not case-sensitive. A plugin's module is imported only
when a job uses it, so a broken plugin does not affect other jobs.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from typing import Any, cast

from attrs import field, frozen

from seatunnel_core.connector_api.sink import Sink
from seatunnel_core.connector_api.source import Source
from seatunnel_core.connector_api.transform import DataFrameTransform, Transform
from seatunnel_core.errors import UsageError
from seatunnel_core.registry.not_yet import not_yet

GROUPS = {"source": "seatunnel.source", "transform": "seatunnel.transform", "sink": "seatunnel.sink"}
"""Entry-point group of each kind of plugin."""

_BASES: dict[str, tuple[type, ...]] = {
    "source": (Source,),
    "transform": (Transform, DataFrameTransform),
    "sink": (Sink,),
}
_loading = threading.Lock()


@frozen(kw_only=True)
class Plugin:
    """An installed plugin."""

    kind: str
    """``"source"``, ``"transform"`` or ``"sink"``."""

    identifier: str
    distribution: str
    """Name of the package that contains the plugin."""

    version: str
    state: str
    """``"ok"``, or the reason why the plugin cannot be used."""

    lacking: tuple[str, ...] = ()
    """Missing packages of the plugin's extra. The plugin can be loaded, but fails when a job uses it."""

    extra: str = ""
    """Extra of the distribution that installs the missing packages."""

    declared: type | None = field(default=None, repr=False)
    """Plugin class, if it could be loaded."""


def source(identifier: str) -> type[Source]:
    """Return the source with this name, ignoring case; raise ``UsageError`` if it is unknown, ambiguous or broken."""
    return cast(type[Source], _load("source", identifier))


def transform(identifier: str) -> type[Transform] | type[DataFrameTransform]:
    """Return the transform with this name. Raises the same errors as ``source``."""
    return cast(type[Transform] | type[DataFrameTransform], _load("transform", identifier))


def sink(identifier: str) -> type[Sink]:
    """Return the sink with this name. Raises the same errors as ``source``."""
    return cast(type[Sink], _load("sink", identifier))


def plugins() -> Iterator[Plugin]:
    """Yield all installed plugins by kind and name, loaded if possible."""
    for kind in GROUPS:
        for _, points in sorted(_installed(kind).items()):
            for point in points:
                yield _describe(kind, point)


def named(kinds: Sequence[str], name: str) -> list[Plugin]:
    """Return the plugins of these kinds with this name, not case-sensitive. Other plugins are not loaded."""
    return [_describe(kind, point) for kind in kinds for point in _installed(kind).get(name.lower(), [])]


class Registry:
    """The functions of this module as an object, for callers that take a registry as an argument."""

    source = staticmethod(source)
    transform = staticmethod(transform)
    sink = staticmethod(sink)
    plugins = staticmethod(plugins)


def forget() -> None:
    """Clear the cache of installed packages, so that new ones are found."""
    _load.cache_clear()
    _installed.cache_clear()
    _package.cache_clear()


def _describe(kind: str, point: EntryPoint) -> Plugin:
    found: type | None = None
    state = "ok"
    try:
        found = _checked(kind, point)
    except UsageError as error:
        state = str(error)
    package = _package(point.dist)
    return Plugin(
        kind=kind,
        identifier=point.name,
        distribution=package.name,
        version=package.version,
        state=state,
        lacking=_lacking(point.extras, package),
        extra=", ".join(point.extras),
        declared=found,
    )


@frozen(kw_only=True)
class _Package:
    """Metadata of a plugin's distribution."""

    name: str = "unknown"
    version: str = "unknown"
    requires: tuple[str, ...] = ()


@cache
def _package(distribution: Distribution | None) -> _Package:
    """Return the metadata of a distribution. The result is cached because each access parses the metadata file."""
    if distribution is None:
        return _Package()
    return _Package(name=distribution.name, version=distribution.version, requires=tuple(distribution.requires or ()))


_REQUIREMENT = re.compile(r"""([\w.-]+)[^;]*;.*\bextra *== *['"]([\w.-]+)['"]""")


def _lacking(extras: Sequence[str], package: _Package) -> tuple[str, ...]:
    """Return the missing packages that the extras of an entry point (``module:Class [jdbc]``) require."""
    required = map(_REQUIREMENT.match, package.requires)
    wanted = {found[1] for found in required if found is not None and found[2] in extras}
    return tuple(sorted(each for each in wanted if not any(distributions(name=each))))


@cache
def _installed(kind: str) -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUPS[kind]):
        same_name = found.setdefault(point.name.lower(), [])
        if all(point.value != other.value for other in same_name):
            same_name.append(point)
    return found


@cache
def _load(kind: str, name: str) -> type:
    with _loading:
        points = _installed(kind).get(name.lower(), [])
    if not points:
        raise UsageError(unknown((kind,), name))
    if len(points) > 1:
        packages = " and ".join(sorted(point.dist.name if point.dist else point.value for point in points))
        raise UsageError(f"the {kind} {points[0].name!r} is provided by {packages}: uninstall one of them")
    return _checked(kind, points[0])


def unknown(kinds: Sequence[str], name: str) -> str:
    """Return the message for an unknown name, with suggestions of similar names."""
    for kind in kinds:
        elsewhere = not_yet(kind, name)
        if elsewhere is not None:
            return elsewhere.message(with_spark="spark" in _installed(kind))
    known = {each: points[0].name for kind in kinds for each, points in _installed(kind).items()}
    close = [known[each] for each in get_close_matches(name.lower(), known, n=2)]
    hint = f"did you mean {' or '.join(close)}?" if close else f"installed: {', '.join(sorted(known.values()))}"
    return f"there is no {' or '.join(kinds)} {name!r}; {hint}"


def _checked(kind: str, point: EntryPoint) -> type:
    """Load a plugin; raise ``UsageError`` unless it implements the interface of its kind."""
    origin = f"the {kind} {point.name!r} of the package {_package(point.dist).name}"
    try:
        loaded: Any = point.load()
    except Exception as error:
        raise UsageError(f"{origin} cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(loaded, type) or not issubclass(loaded, _BASES[kind]):
        wanted = " or ".join(base.__name__ for base in _BASES[kind])
        raise UsageError(f"{origin} is not a subclass of {wanted}: {point.value}")
    identifier = getattr(loaded, "identifier", None)
    if not isinstance(identifier, str) or identifier.lower() != point.name.lower():
        raise UsageError(
            f"{origin} has the identifier {identifier!r}: identifier and entry point must have the same name"
        )
    if not isinstance(getattr(loaded, "declared", None), tuple):
        raise UsageError(f"{origin} has no tuple `declared` that lists its options")
    return loaded
