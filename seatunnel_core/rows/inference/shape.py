"""Shape of rows: their fields, with the kinds of values in each field."""

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from seatunnel_core import stored
from seatunnel_core.rows.inference.kinds import LIST, OBJECT, TEXT, TYPES, kinds_of, united
from seatunnel_core.rows.unknown import marked

DEEPEST = 16
"""Maximum depth at which objects and lists are inspected. Deeper values become JSON strings."""


class Shape:
    """Kinds of the values at a location in rows, with the shapes below it.

    ``see`` and ``unite`` only add kinds. The union is commutative, associative and idempotent, so a shape depends only
    on the set of inspected rows.
    """

    __slots__ = ("element", "fields", "kinds")

    def __init__(self) -> None:
        self.kinds = 0
        """Set of kinds from ``rows.inference.kinds``, as returned by ``united``."""

        self.fields: dict[str, tuple[int, Shape]] = {}
        """For objects, the smallest position and the shape of each field, keyed by field name."""

        self.element: Shape | None = None
        """For lists, the shape of all elements; ``None`` if all lists were empty."""

    def see(self, values: Collection[Any], levels: int = DEEPEST + 1) -> None:
        """Add values from ``native_json.parsed``, and inspect them down to ``levels`` levels."""
        if self.kinds == TEXT:  # TEXT represents all kinds
            return
        self._add(kinds_of(values))
        if self.kinds in (OBJECT, LIST) and not levels:
            self._add(TEXT)
        nested = [value for value in values if value is not None] if self.kinds in (OBJECT, LIST) else []
        if self.kinds == OBJECT:
            self._see_fields(nested, levels - 1)
        elif any(nested):
            self.element = self.element or Shape()
            self.element.see([part for value in nested for part in value], levels - 1)

    def _see_fields(self, objects: Collection[dict[str, Any]], levels: int) -> None:
        alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for each in objects:
            alike.setdefault(tuple(each), []).append(each)
        for names, some in alike.items():
            for place, (name, values) in enumerate(zip(names, zip(*map(dict.values, some), strict=True), strict=True)):
                if name in self.fields or _is_writable(name):  # other rows are rejected when rows are read
                    self._field(name, place).see(values, levels)

    def unite(self, other: "Shape") -> None:
        """Add the values of another shape."""
        self._add(other.kinds)
        if self.kinds == OBJECT:
            for name, (place, shape) in other.fields.items():
                self._field(name, place).unite(shape)
        elif self.kinds == LIST and other.element is not None:
            self.element = self.element or Shape()
            self.element.unite(other.element)

    def _add(self, kinds: int) -> None:
        self.kinds = united(self.kinds | kinds)
        if self.kinds == TEXT:
            self.fields, self.element = {}, None

    def _field(self, name: str, place: int) -> "Shape":
        known = self.fields.get(name)
        if known is None or place < known[0]:
            known = self.fields[name] = (place, Shape() if known is None else known[1])
        return known[1]

    @property
    def names(self) -> list[str]:
        """Names of the fields, sorted by their smallest position in any object and then by name."""
        return sorted(self.fields, key=lambda name: (self.fields[name][0], name))

    def type(self) -> pa.DataType:
        """Return the type that represents all values; ``string`` for objects without fields."""
        if self.kinds == OBJECT and self.fields:
            return pa.struct([self.fields[name][1].field(name) for name in self.names])
        if self.kinds == LIST:
            return pa.list_((self.element or Shape()).field("item"))
        return TYPES.get(self.kinds, pa.string())

    def field(self, name: str) -> pa.Field:
        """Return the field for this shape, marked as in ``rows.unknown`` if its type is unknown."""
        is_known = self.kinds != 0 and (self.kinds != OBJECT or self.fields)
        return marked(name, self.type() if is_known else pa.null())

    def columns(self) -> pa.Schema:
        """Return the columns of rows with this shape."""
        return pa.schema([self.fields[name][1].field(name) for name in self.names])

    def body(self) -> dict[str, Any]:
        """Return the shape as JSON values."""
        found: dict[str, Any] = {"kinds": self.kinds}
        if self.fields:
            found["fields"] = [[name, place, shape.body()] for name, (place, shape) in sorted(self.fields.items())]
        if self.element is not None:
            found["element"] = self.element.body()
        return found

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Shape":
        """Return the shape from JSON values. Raise StoredValueError if they are not a shape."""
        shape = cls()
        shape.kinds = stored.number(body, "kinds")
        for name, place, field in stored.items(body, "fields") if "fields" in body else ():
            shape.fields[name] = (place, cls.of(field))
        if "element" in body:
            shape.element = cls.of(stored.below(body, "element"))
        return shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and self.body() == other.body()

    __hash__ = None  # type: ignore[assignment]


def _is_writable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True
