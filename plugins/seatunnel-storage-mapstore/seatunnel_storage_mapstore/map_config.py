"""Block ``map:`` of ``hazelcast.yaml``: which maps are stored, and their storage.

The block with a map's name applies to the map; if there is none, the block with the best matching pattern; if none
matches, ``default``. In a pattern, one ``*`` matches any characters, and the pattern with the most literal characters
is the best match; these are Hazelcast's rules. Two patterns that match equally well are an error.
"""

import difflib
import enum
from collections.abc import Mapping

from attrs import field, frozen

from seatunnel_storage_api import secret
from seatunnel_storage_api.errors import StorageConfigurationError
from seatunnel_storage_api.mapstore import MapStore
from seatunnel_storage_mapstore.maps import FileMapStoreFactory

FACTORIES = {
    "org.apache.seatunnel.engine.server.persistence.FileMapStoreFactory": FileMapStoreFactory,
    "seatunnel_storage_mapstore.maps.FileMapStoreFactory": FileMapStoreFactory,
}
"""Factories, keyed by ``factory-class-name``: SeaTunnel's name, and this project's name for the same factory."""

_DEFAULT = "default"
_KEYS = ("enabled", "initial-mode", "factory-class-name", "properties")


class InitialMode(enum.Enum):
    """Time at which a map is read."""

    EAGER = "EAGER"
    """On creation of the map."""

    LAZY = "LAZY"
    """On first use of the map."""


@frozen(kw_only=True)
class MapConfig:
    """Block ``map-store`` for one pattern."""

    pattern: str
    enabled: bool = True
    initial_mode: InitialMode = InitialMode.LAZY
    factory_class_name: str
    properties: Mapping[str, str] = field(factory=dict, repr=lambda properties: f"<{len(properties)} keys>")
    """Properties. ``repr`` shows only their number, because they may contain secrets."""

    def open(self, name: str) -> MapStore:
        """Return the map store of a map. Properties may refer to secrets; see ``seatunnel_storage_api.secret``."""
        made = FACTORIES[self.factory_class_name]().create(name, secret.resolved(self.properties))
        if self.initial_mode is InitialMode.EAGER:
            made.open()
        return made


@frozen
class MapConfigs:
    """All ``map-store`` blocks of a file."""

    configs: Mapping[str, MapConfig]
    """Blocks, keyed by pattern. Patterns without a ``map-store`` block are omitted."""

    def of(self, name: str) -> MapConfig | None:
        """Return the block that applies to a map, if any; raise an error if two match equally well."""
        if name in self.configs:
            return self.configs[name]
        points = {pattern: matching_characters(pattern, name) for pattern in self.configs}
        most = max((each for each in points.values() if each is not None), default=None)
        best = [pattern for pattern, each in points.items() if each == most is not None]
        if len(best) > 1:
            raise StorageConfigurationError(
                f"the map {name!r} matches the patterns {' and '.join(map(repr, best))} equally well. Add a block "
                f"named {name!r}, or keep only one of these patterns"
            )
        return self.configs[best[0]] if best else self.configs.get(_DEFAULT)

    def open(self, name: str) -> MapStore | None:
        """Return the map store of a map; ``None`` if no block applies or the block has ``enabled: false``."""
        config = self.of(name)
        return config.open(name) if config is not None and config.enabled else None


def matching_characters(pattern: str, name: str) -> int | None:
    """Return the number of literal characters of a pattern; ``None`` if it has no ``*`` or does not match."""
    before, star, after = pattern.partition("*")
    fits = star and name.startswith(before) and name.endswith(after) and len(before) + len(after) <= len(name)
    return len(before) + len(after) if fits else None


def parse(document: object) -> MapConfigs:
    """Parse the content of a YAML file, with ``map:`` at the top level or below ``hazelcast:``."""
    root = _mapping(document, "the document")
    maps = _mapping(_mapping(root.get("hazelcast") or root, "hazelcast").get("map") or {}, "map")
    blocks = {str(name): _mapping(each or {}, f"map.{name}").get("map-store") for name, each in maps.items()}
    return MapConfigs({name: _config(name, block) for name, block in blocks.items() if block is not None})


def _config(pattern: str, written: object) -> MapConfig:
    where = f"map.{pattern}.map-store"
    block = _mapping(written, where)
    for key in block:
        if key not in _KEYS:
            close = difflib.get_close_matches(str(key), _KEYS, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Valid keys: {', '.join(_KEYS)}"
            raise StorageConfigurationError(f"{where} has the unknown key {key!r}. {hint}")
    properties = _mapping(block.get("properties") or {}, f"{where}.properties")
    return MapConfig(
        pattern=pattern,
        enabled=_enabled(block.get("enabled", True), where),
        initial_mode=_initial_mode(block.get("initial-mode"), where),
        factory_class_name=_factory(block.get("factory-class-name"), where),
        properties={str(key): "" if value is None else _text(value) for key, value in properties.items()},
    )


def _mapping(written: object, where: str) -> Mapping[str, object]:
    if not isinstance(written, Mapping):
        raise StorageConfigurationError(
            f"{where} is {type(written).__name__}, expected keys with values. Write one key: value per line, indented"
        )
    return written


def _enabled(written: object, where: str) -> bool:
    if str(written).lower() not in ("true", "false"):
        raise StorageConfigurationError(f"{where}.enabled is {written!r}, expected true or false. Write enabled: true")
    return str(written).lower() == "true"


def _initial_mode(written: object, where: str) -> InitialMode:
    mode = str(written or InitialMode.LAZY.value).upper()
    if mode not in InitialMode.__members__:
        raise StorageConfigurationError(
            f"{where}.initial-mode is {written!r}, expected EAGER or LAZY. Write initial-mode: EAGER to read the map "
            "when the engine starts"
        )
    return InitialMode[mode]


def _factory(written: object, where: str) -> str:
    if written not in FACTORIES:
        said = "missing" if written is None else repr(written)
        raise StorageConfigurationError(f"{where}.factory-class-name is {said}. Write one of {', '.join(FACTORIES)}")
    return str(written)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
