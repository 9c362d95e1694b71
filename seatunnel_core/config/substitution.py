"""Resolution of a parsed HOCON file: the effective value of each key, and the values of ``${path}``.

A key may have several values. The last one wins, objects are merged, and a ``${…}`` that refers to its own key returns
the key's previous value. Values are resolved lazily, so their order in the file does not matter, and hidden values are
never resolved.
"""

from attrs import define, field

from seatunnel_core.config.document import Block, Entry, Items, Position, Scalar, Value, by_hocon, overridden, visible
from seatunnel_core.config.hocon_tree import (
    Append,
    Array,
    Concatenation,
    Field,
    Literal,
    Node,
    Object,
    Parsed,
    Plugins,
    Substitution,
    is_space,
)
from seatunnel_core.config.limits import PIECE, copied
from seatunnel_core.config.problem import Problem, Problems
from seatunnel_core.config.variables import RESERVED, Variables, filled_scalar, stays
from seatunnel_core.errors import ConfigError
from seatunnel_storage_api.secret import Resolved, begins_reference

_MAX_STEPS = 96
"""Maximum combined depth of nesting and chained substitutions."""


_VALIDATED = ("env", "source", "transform", "sink")
"""Top-level keys that contain validated options. A warning is reported for each hidden value in them."""


def resolve(parsed: Parsed, variables: Variables, problems: Problems) -> Block:
    """Resolve a parsed file to a tree, and report missing variables to ``problems``.

    Raises:
        ConfigError: Values refer to each other in a cycle, or cannot be concatenated.
    """
    resolver = _Resolver(parsed, variables, problems)
    tree = resolver.object(parsed.root)
    for entry in tree:
        if entry.key not in _VALIDATED and parsed.root.fields[entry.key] not in resolver.used:
            by_hocon(entry.value, problems.warn)
    return tree


@define(eq=False)
class _Progress:
    """State of a key while its values are resolved one after the other."""

    so_far: Value | None = None
    failed: ConfigError | None = None
    """Error in an earlier value; raised only if a later value depends on the earlier one."""

    done: bool = False
    plugins: bool = False
    """True if the value is a section with entries that may repeat."""


@define(eq=False)
class _Resolver:
    parsed: Parsed
    variables: Variables
    problems: Problems
    progress: dict[Field, _Progress] = field(factory=dict)
    used: set[Field] = field(factory=set)
    """Top-level keys that substitutions refer to."""

    steps: int = 0
    keys: list[str] = field(factory=list)
    """Path of the value that is being resolved."""

    measures: dict[int, tuple[Value, int, int]] = field(factory=dict)
    """Weight and depth of values, by identity. The values are kept so that their identities are not reused."""

    def object(self, node: Object) -> Block:
        entries = []
        for key, target in node.fields.items():
            self.keys.append(key)
            value = self.field(target)
            self.keys.pop()
            if value is not None:
                entries.append(Entry(key, value, self.place(target.offset)))
        return Block(tuple(entries), self.place(node.offset))

    def field(self, target: Field) -> Value | None:
        """Return the value of a key, or ``None``. While the key is being resolved, return its current value."""
        only = target.values[0] if len(target.values) == 1 else None
        if isinstance(only, Literal):
            return self._literal(only)
        progress = self.progress.get(target)
        if progress is None:
            progress = self.progress[target] = _Progress()
            self._fold(target, progress)
            progress.done = True
        if progress.failed:
            raise progress.failed
        return progress.so_far

    def _fold(self, target: Field, progress: _Progress) -> None:
        for node in _that_count(target.values, self.parsed.root):
            try:
                self._merge(node, progress)
                progress.failed = None if not isinstance(node, Object) else progress.failed
            except ConfigError as error:
                progress.failed, progress.so_far = error, None

    def _merge(self, node: Node, progress: _Progress) -> None:
        earlier = progress.so_far
        if isinstance(node, Append):
            progress.so_far = self._appended(node, earlier, progress)
            return
        if earlier is not None and (isinstance(node, Plugins) or (progress.plugins and isinstance(node, Array))):
            raise self.error(f"this section occurs twice, first at {earlier.position}: merge them", node.offset)
        value = self.node(node)
        if value is not None:
            self._count(0 if earlier is None else copied(earlier, value), node.offset)
            progress.so_far = value if earlier is None else overridden(earlier, value)
            progress.plugins = isinstance(node, Plugins)

    def _appended(self, node: Append, earlier: Value | None, progress: _Progress) -> Items:
        if progress.failed:
            raise progress.failed
        if earlier is not None and not isinstance(earlier, Items):
            raise self.error("'+=' appends to a list, but the value of the key is not a list", node.offset)
        item = self.node(node.item)
        values = earlier.values if earlier else ()
        self._count(len(values), node.offset)
        position = earlier.position if earlier else self.place(node.offset)
        return Items(values if item is None else (*values, item), position)

    def node(self, node: Node) -> Value | None:
        self.problems.budget.tick(lambda: self.place(node.offset))
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise self.error(f"substitutions are nested more than {_MAX_STEPS} levels deep", node.offset)
        try:
            return self._node(node)
        finally:
            self.steps -= 1

    def _node(self, node: Node) -> Value | None:
        if isinstance(node, Literal):
            return self._literal(node)
        if isinstance(node, Object):
            return self.object(node)
        if isinstance(node, Array):
            values = (self.node(item) for item in node.items)
            return Items(tuple(value for value in values if value is not None), self.place(node.offset))
        if isinstance(node, Substitution):
            return self._substitution(node)
        if isinstance(node, Concatenation):
            return self._concatenation(node)
        if isinstance(node, Plugins):
            return self._plugins(node)
        raise AssertionError(node)

    def _literal(self, node: Literal) -> Scalar:
        """Return a literal with its variables replaced. Unlike HOCON, SeaTunnel also replaces ``${…}`` in quotes."""
        scalar = Scalar(node.value, node.text, self.place(node.offset))
        return filled_scalar(scalar, self.variables, self.problems, self.keys)

    def _plugins(self, node: Plugins) -> Block:
        entries = []
        for name, offset, content in node.entries:
            self.keys.append(name)
            value = self.node(content)
            self.keys.pop()
            if value is not None:
                entries.append(Entry(name, value, self.place(offset)))
        return Block(tuple(entries), self.place(node.offset))

    # -- ${…} ---------------------------------------------------------------------------------------------------------

    def _substitution(self, node: Substitution) -> Value | None:
        name = ".".join(node.path)
        if name in RESERVED:
            return Scalar(f"${{{name}}}", f"${{{name}}}", self.place(node.offset))
        given = self.variables.given.get(name)
        if given is not None:
            return self._given(given, node)
        value = self._lookup(node)
        if value is not None:
            return self._weighed(value, node.offset)
        if self.variables.kept:
            return self._kept(node, name)
        known = self.variables.environment.get(name) if stays(name) else self.variables.around(name)
        if known is not None:
            return self._given(known, node)
        if node.default is not None:
            return self.node(node.default)
        if node.optional:
            return None
        if not stays(name):
            message, suggestion = self.variables.missing(name, self.keys)
            self.problems.error(message, self.place(node.offset), suggestion)
        return Scalar(f"${{{name}}}", f"${{{name}}}", self.place(node.offset))

    def _given(self, value: str, node: Substitution) -> Scalar:
        """Return the value of a variable, which is not resolved again."""
        self._count(1 + len(value) // PIECE, node.offset)
        return Scalar(Resolved(value), Resolved(value), self.place(node.offset))

    def _kept(self, node: Substitution, name: str) -> Scalar:
        """Return a substitution as an equivalent quoted string; report ``${?…}``, which has no equivalent."""
        if node.optional:
            self.problems.error(
                f"${{?{name}}} cannot be printed as JSON", self.place(node.offset), f"Use ${{{name}:default}}"
            )
        default = self.node(node.default) if node.default is not None else None
        text = f"${{{name}:{default.text}}}" if isinstance(default, Scalar) else f"${{{name}}}"
        return Scalar(text, text, self.place(node.offset))

    def _lookup(self, node: Substitution) -> Value | None:
        paths = [node.prefix + node.path, node.path] if node.prefix else [node.path]
        for path in paths:
            value = self._at(self.parsed.root, path, node)
            if value is not None:
                self.used.add(self.parsed.root.fields[path[0]])
                return value
        return None

    def _at(self, place: Object, path: tuple[str, ...], node: Substitution) -> Value | None:
        target = place.fields.get(path[0])
        if target is None:
            return None
        if len(path) > 1 and len(target.values) == 1 and isinstance(target.values[0], Object):
            return self._at(target.values[0], path[1:], node)
        progress = self.progress.get(target)
        if progress and not progress.done and progress.so_far is None and not progress.failed and not node.optional:
            raise self.error(f"${{{'.'.join(node.path)}}} refers to itself", node.offset)
        value = self.field(target)
        for key in path[1:]:
            value = visible(value) if value is not None else None
            value = value.get(key) if isinstance(value, Block) else None
        return visible(value) if value is not None else None

    def _weighed(self, value: Value, offset: int) -> Value:
        """Return the value; raise an error if substitutions make it too large or too deeply nested."""
        weight, depth = self._measured(value)
        self._count(weight, offset)
        if depth > _MAX_STEPS:
            raise self.error(f"substitutions nest values more than {_MAX_STEPS} levels deep", offset)
        return value

    def _measured(self, value: Value) -> tuple[int, int]:
        if isinstance(value, Scalar):
            return 1 + len(value.text) // 16, 0
        known = self.measures.get(id(value))
        if known is None:
            parts = value.values if isinstance(value, Items) else tuple(entry.value for entry in value.entries)
            below = [self._measured(part) for part in parts]
            weight, depth = 1 + sum(each[0] for each in below), 1 + max((each[1] for each in below), default=0)
            known = self.measures[id(value)] = (value, weight, depth)
        return known[1], known[2]

    # -- concatenated values ------------------------------------------------------------------------------------------

    def _concatenation(self, node: Concatenation) -> Value | None:
        resolved = [(part, self.node(part)) for part in node.parts]
        solid = [value for part, value in resolved if value is not None and not is_space(part)]
        if not solid and not any(isinstance(part, Literal) for part in node.parts):
            return None
        if any(isinstance(value, (Block, Items)) for value in solid):
            return self._joined(solid, node)
        present = [value for _, value in resolved if isinstance(value, Scalar)]
        if len(present) == 1 and solid:
            return present[0]
        self._count(sum(len(value.text) for value in present) // PIECE, node.offset)
        text = "".join(value.text for value in present)
        if any(isinstance(value.value, Resolved) for value in present) and not _is_reference(present[0]):
            text = Resolved(text)
        return Scalar(text, text, self.place(node.offset))

    def _joined(self, solid: list[Value], node: Concatenation) -> Value:
        first, *others = solid
        for other in others:
            self._count(copied(first, other), node.offset)
            if isinstance(first, Block) and isinstance(other, Block):
                first = first.merged(other)
            elif isinstance(first, Items) and isinstance(other, Items):
                first = Items(first.values + other.values, first.position)
            else:
                raise self.error(
                    "a block, a list and a string cannot be combined into one value: check whether a line end or a "
                    "comma is missing",
                    node.offset,
                )
        return first

    def _count(self, values: int, offset: int) -> None:
        self.problems.budget.substituted(values, lambda: self.place(offset))

    def place(self, offset: int) -> Position:
        return self.parsed.texts.position(offset)

    def error(self, message: str, offset: int) -> ConfigError:
        return ConfigError(str(Problem(message, self.place(offset))))


def _is_reference(scalar: Scalar) -> bool:
    """Return True if the string, as written in the file, is the start of a secret reference."""
    return not isinstance(scalar.value, Resolved) and begins_reference(scalar.text)


def _that_count(values: list[Node], root: Object) -> list[Node]:
    """Return the values of a key that no later value hides.

    A string or a list hides earlier strings and lists, but not nested keys (see ``document.OWN``). Blocks that refer to
    keys of the file are also hidden, because they may refer back to the key itself.
    """
    kept: list[Node] = []
    hides = False
    for node in reversed(values):
        if not hides or (isinstance(node, (Object, Plugins)) and not _leads_to(node, root)):
            kept.append(node)
        if isinstance(node, Literal) and node.value is None:
            break
        hides = hides or (isinstance(node, (Literal, Array)) and not _refers(node))
    return kept[::-1]


def _leads_to(node: Node, root: Object) -> bool:
    """Return True if a value contains a substitution that refers to a key in the file."""
    if isinstance(node, Object):
        return any(_leads_to(value, root) for target in node.fields.values() for value in target.values)
    if isinstance(node, Array):
        return any(_leads_to(item, root) for item in node.items)
    if isinstance(node, Concatenation):
        return any(_leads_to(part, root) for part in node.parts)
    return isinstance(node, Substitution) and node.path[0] in root.fields


def _refers(node: Node) -> bool:
    if isinstance(node, Object):
        return any(_refers(value) for target in node.fields.values() for value in target.values)
    if isinstance(node, Array):
        return any(_refers(item) for item in node.items)
    return not isinstance(node, Literal)
