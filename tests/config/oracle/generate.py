"""Random HOCON texts that use the whole grammar, mostly valid; the same seed gives the same text."""

import random

_WORDS = ["a", "b", "c", "id", "x-y", "k_1", "name", "日本", "LocalFile", "FakeSource"]
_SCALARS = [
    "1",
    "-7",
    "0.5",
    "1e3",
    "10.0.0.1",
    "007",
    "true",
    "false",
    "null",
    "bigint",
    "decimal(10)",
    "a;b",
    "2024-01-01",
]
_SCALARS += ["org.apache.Foo", "/data/x", "99999999999999999999", "1.", "-x", "trueish", "10s", "1e-5", "a/b", "'q'"]
_QUOTED = ['"text"', '""', '"a.b"', '"tab\\t"', '"\\u00e9"', '"""tri"ple"""', '"""two\nlines""""', '"//no"', '"${a}"']
_SPACE = ["", " ", "  ", "\t"]


class Text:
    """One random file."""

    def __init__(self, seed: int, *, plugins: bool) -> None:
        self._random = random.Random(seed)
        self._plugins = plugins
        self._number = 0
        self._open: tuple[str, ...] = ()

    def make(self) -> str:
        lines = [self._field(0) for _ in range(self._random.randint(1, 7))]
        if self._plugins:
            lines += [self._section(kind) for kind in ("source", "transform", "sink") if self._random.random() < 0.7]
            self._random.shuffle(lines)
        text = self._random.choice(["\n", "\n\n", "\n# note\n"]).join(lines)
        return f"{{{text}}}" if self._random.random() < 0.1 else text

    def _section(self, kind: str) -> str:
        pick = self._random.choice
        entries = [
            f"  {pick(['LocalFile', 'FakeSource', 'Jdbc'])} {self._object(1)}" for _ in range(pick([0, 1, 2, 3]))
        ]
        return f"{kind} {{\n" + "\n".join(entries) + "\n}"

    def _field(self, depth: int) -> str:
        key = self._key()
        if depth == 0:
            self._open = (key.split(".")[0], key)
        if self._random.random() < 0.2:
            return f"{key}{self._random.choice(_SPACE)}{self._object(depth)}"
        if depth == 0 and self._random.random() < 0.1:  # below, Lightbend forgets what was before
            return f"{key} += {self._part(depth)}"
        sign = self._random.choice([":", "=", " = ", " : ", "=\n "])
        return f"{key}{sign}{self._value(depth)}{self._random.choice(['', '', ' ', ' // c', ' # c'])}"

    def _key(self) -> str:
        pick = self._random.choice
        if self._plugins:  # SeaTunnel's parser keeps dotted keys whole, so keys that meet would differ by design
            self._number += 1
            return f"{pick(_WORDS)}{pick(['', '.num', '-x'])}{self._number}"
        key = ".".join(pick([*_WORDS, '"q k"', '"d.t"']) for _ in range(pick([1, 1, 1, 2, 3])))
        return key if self._random.random() < 0.95 else f"{key} {pick(_WORDS)}"

    def _value(self, depth: int) -> str:
        count = self._random.choice([1, 1, 1, 1, 2, 3])
        chance = self._random.random()
        if chance < 0.03:
            parts = [self._part(depth) for _ in range(count)]
        elif depth > 3 or chance < 0.7:
            parts = [self._scalar() for _ in range(count)]
        elif chance < 0.85:
            parts = [self._object(depth + 1) for _ in range(count)]
        else:
            parts = [self._list(depth + 1) for _ in range(count)]
        if self._random.random() < 0.15:
            parts.insert(self._random.randint(0, count), self._substitution())
        return self._random.choice(_SPACE).join(parts)

    def _scalar(self) -> str:
        return self._random.choice(_SCALARS if self._random.random() < 0.7 else _QUOTED)

    def _substitution(self) -> str:
        optional = "" if self._random.random() < 0.1 else "?"
        key = self._key()
        while key.split(".")[0] in self._open:  # inside its own block, Lightbend does not see what a key was before
            key = self._key() if self._random.random() < 0.9 else "elsewhere"
        return f"${{{optional}{key}}}"

    def _part(self, depth: int) -> str:
        return self._random.choice(
            [self._scalar(), self._substitution(), self._object(depth + 1), self._list(depth + 1)]
        )

    def _object(self, depth: int) -> str:
        separator = self._random.choice([", ", "\n", ",\n"])
        fields = separator.join(self._field(depth + 1) for _ in range(self._random.randint(0, 3)))
        return f"{{ {fields}\n}}" if "//" in fields or "#" in fields else f"{{{fields}}}"

    def _list(self, depth: int) -> str:
        separator = self._random.choice([", ", "\n", ",\n"])
        return f"[{separator.join(self._value(depth + 1) for _ in range(self._random.randint(0, 3)))}]"


def mutated(text: str, seed: int) -> str:
    """The text with a few characters taken out, doubled or replaced: usually not HOCON any more."""
    chance = random.Random(seed)
    characters = list(text)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(characters) + 1)
        what = chance.choice(['"', "{", "}", "[", "]", ",", "=", "+", "$", "\\", "\n", "", "", "#", "/", ".", " "])
        characters[at : at + chance.randint(0, 1)] = [what]
    return "".join(characters)
