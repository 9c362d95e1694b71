"""Mutants of sealed objects: of some the seal is broken, others are sealed anew, so that only their content lies."""

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from attrs import frozen

from seatunnel_storage_api.envelope import DIGEST_BYTES, FORMAT_VERSION, MAGIC

_LENGTHS = ">HI"
_HEADER = len(MAGIC) + struct.calcsize(_LENGTHS)

# -- damage: the digest at the end tells ------------------------------------------------------------------------------


def _span(random: Random, sealed: bytes) -> tuple[int, int]:
    start = random.randrange(len(sealed))
    return start, min(len(sealed), start + 1 + int(random.expovariate(1 / 16)))


def _flip(random: Random, sealed: bytes, _other: bytes) -> bytes:
    place = random.randrange(len(sealed))
    return sealed[:place] + bytes([sealed[place] ^ 1 << random.randrange(8)]) + sealed[place + 1 :]


def _overwrite(random: Random, sealed: bytes, _other: bytes) -> bytes:
    start, end = _span(random, sealed)
    return sealed[:start] + random.randbytes(end - start) + sealed[end:]


def _cut(random: Random, sealed: bytes, _other: bytes) -> bytes:
    start, end = _span(random, sealed)
    return random.choice((sealed[:start], sealed[end:], sealed[:start] + sealed[end:]))


def _insert(random: Random, sealed: bytes, _other: bytes) -> bytes:
    start, end = _span(random, sealed)
    return sealed[:start] + random.choice((random.randbytes(end - start), sealed[start:end])) + sealed[start:]


def _swap(random: Random, sealed: bytes, _other: bytes) -> bytes:
    a, b, c, d = sorted(random.randrange(len(sealed) + 1) for _ in range(4))
    return sealed[:a] + sealed[c:d] + sealed[b:c] + sealed[a:b] + sealed[d:]


def _splice(random: Random, sealed: bytes, other: bytes) -> bytes:
    return sealed[: random.randrange(len(sealed) + 1)] + other[random.randrange(len(other) + 1) :]


def _lengths(random: Random, sealed: bytes, _other: bytes) -> bytes:
    wrong = struct.pack(_LENGTHS, random.choice((0, 1, 2, 65535)), random.choice((0, 1, len(sealed), 2**32 - 1)))
    return sealed[: len(MAGIC)] + wrong + sealed[_HEADER:]


_DAMAGES: tuple[Callable[[Random, bytes, bytes], bytes], ...] = (
    *(_flip, _overwrite, _cut, _insert, _swap, _splice, _lengths),
)


def damaged(random: Random, sealed: bytes, other: bytes) -> bytes:
    """The object with wrong bytes; once in a while, by chance, with the right ones."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        sealed = random.choice(_DAMAGES)(random, sealed or b"\0", other)
    return sealed


def huge_lengths(random: Random, sealed: bytes) -> bytes:
    """The object with one of its two lengths far beyond its end; of half of them the seal is right all the same."""
    huge = random.choice((2**24, 2**30, 2**31 - 1, 2**31, 2**32 - 1))
    body_at = _HEADER + struct.unpack_from(">I", sealed, _HEADER - 4)[0]
    if random.random() < 0.5:
        lying = sealed[: _HEADER - 4] + struct.pack(">I", huge) + sealed[_HEADER:-DIGEST_BYTES]
    else:
        header = json.dumps({**json.loads(sealed[_HEADER:body_at]), "length": huge ** random.choice((1, 2))}).encode()
        preamble = sealed[: _HEADER - 4] + struct.pack(">I", len(header))
        lying = preamble + header + sealed[body_at:-DIGEST_BYTES]
    right = random.random() < 0.5
    return lying + (hashlib.sha256(lying).digest() if right else sealed[-DIGEST_BYTES:])


# -- forgeries: the seal is right -------------------------------------------------------------------------------------


@frozen
class Object:
    """A sealed object, opened without a look at anything."""

    header: dict[str, Any]
    body: bytes

    @classmethod
    def of(cls, sealed: bytes) -> "Object":
        (_, header_bytes) = struct.unpack_from(_LENGTHS, sealed, len(MAGIC))
        end = _HEADER + header_bytes
        return cls(json.loads(sealed[_HEADER:end]), sealed[end:-DIGEST_BYTES])


def resealed(header: bytes, body: bytes, *, version: int = FORMAT_VERSION) -> bytes:
    """Sealed as the format says, whatever the parts are."""
    content = MAGIC + struct.pack(_LENGTHS, version, len(header)) + header + body
    return content + hashlib.sha256(content).digest()


def forged(random: Random, original: Object, places: list[str]) -> tuple[bytes, bytes]:
    """A new object with a right seal, and its body.

    Args:
        places: texts that lead somewhere: paths and names that are not the forger's.
    """
    if random.random() < 0.15:
        return _forged_header(random, original, places), original.body
    body = _forged_json(random, original.body, places)
    header = {**original.header, "length": len(body)}
    if "sha256" in header:
        header["sha256"] = hashlib.sha256(body).hexdigest()
    return resealed(json.dumps(header).encode(), body), body


def _forged_header(random: Random, original: Object, places: list[str]) -> bytes:
    if random.random() < 0.2:
        return resealed(json.dumps(original.header).encode(), original.body, version=random.choice((0, 2, 65535)))
    return resealed(_forged_json(random, json.dumps(original.header).encode(), places), original.body)


def _forged_json(random: Random, encoded: bytes, places: list[str]) -> bytes:
    document = json.loads(encoded)
    for _ in range(random.choice((1, 1, 2, 4))):
        document = _changed(random, document, places)
    try:
        text = json.dumps(document)
    except (ValueError, RecursionError):  # a number of too many digits
        text = "[" * 50_000
    return _rewritten(random, text) if random.random() < 0.15 else text.encode()


def _changed(random: Random, document: Any, places: list[str]) -> Any:
    """The document with one value changed, moved, doubled or taken out."""
    nodes = list(_nodes(document))
    if not nodes:
        return _odd(random, places)
    pointers = [(parent, key) for parent, key in nodes if isinstance(parent, list) and isinstance(parent[key], str)]
    if pointers and random.random() < 0.3:  # the names and folders of staged files above all
        parent, key = random.choice(pointers)
        parent[key] = random.choice(places)
        return document
    parent, key = random.choice(nodes)
    action = random.randrange(8)
    if action < 4:
        parent[key] = _odd(random, places)
    elif action == 4:
        del parent[key]
    elif action == 5:
        other, other_key = random.choice(nodes)
        parent[key] = json.loads(json.dumps(other[other_key]))
    elif isinstance(parent, list):
        parent.insert(random.randrange(len(parent) + 1), parent[key])
    else:
        parent[str(_odd(random, places))[:300]] = parent.pop(key) if action == 6 else parent[key]
    return document


def _nodes(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every value below the document, as its container and key."""
    keys = document.keys() if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for key in list(keys):
        yield document, key
        yield from _nodes(document[key])


def _odd(random: Random, places: list[str]) -> Any:
    if random.random() < 0.3:
        return random.choice(places)
    return random.choice(_ODD)()


def _deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


_ODD: tuple[Callable[[], Any], ...] = (
    *(lambda value=value: value for value in (None, True, False, 0, 1, 2, 3, 7, -1, 10**9, 1.0, 1.5, -0.0, 1e308)),
    *(lambda value=value: value for value in (2**31, 2**63 - 1, 2**63, 2**64, 10**30, 10**4000)),
    *(lambda value=value: value for value in (float("nan"), float("inf"), -float("inf"))),
    *(lambda value=value: value for value in ("", "x", "0", "\0", "\ud800", "\udcff", "é世", "x" * 5000, "AAAA")),
    *(list, dict, lambda: [[]], lambda: [None], lambda: {"": 0}, lambda: [0] * 300, lambda: _deep(200)),
)  # fmt: skip


def _rewritten(random: Random, text: str) -> bytes:
    """What no encoder of JSON writes."""
    key = text.find('": ', random.randrange(len(text)))
    place = max(key, 0) + 3
    return random.choice(
        (
            lambda: (text[:place] + "[" * 100_000 + text[place:]).encode(),
            lambda: (text[:place] + "9" * 6_000 + ", " + text[place:]).encode(),
            lambda: (text[:place] + "1e999999, " + text[place:]).encode(),
            lambda: text.replace('"epoch": ', '"epoch": 9, "epoch": ').encode(),
            lambda: text.replace("{", '{"format": 1, "vertices": {}, ', 1).encode(),
            lambda: text[: random.randrange(len(text))].encode(),
            lambda: text.encode("utf-16"),
            lambda: b"\xef\xbb\xbf" + text.encode(),
            lambda: text.encode()[:place] + b"\xff\xfe" + text.encode()[place:],
            lambda: (text + text).encode(),
        )
    )()
